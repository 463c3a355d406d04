/** The build server of this machine, with a real agent, and a back end that has one secret. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { buildsBackend } from '../../../../packages/builds/builds.ts'
import { BuildServerKeys, toBuildServerSettings } from '../../../../packages/builds/declarations.ts'
import type { Backend } from '../../../../packages/ports/backend.ts'
import { startInfrastructure, type TestInfrastructure } from '../../../support/infrastructure.ts'
import { waitFor } from '../../../support/wait-until.ts'

const observer = 'observer'
export const secretValue = 'correct-horse-battery'

/** Knows `secret:db-password` only, and one application. */
const oneSecret: Backend = {
  service: 'front50',
  migrations: [],
  open: () => ({
    routes: (app) => void app.get('/v2/applications', () => [{ name: 'web-shop' }]),
    ports: {
      secrets: {
        reveal: async (value) => {
          const text = JSON.stringify(value)
          const isUsed = text.includes('secret:db-password')
          const revealed = JSON.parse(
            text.replaceAll('secret:db-password', secretValue),
          ) as typeof value
          return { value: revealed, secrets: isUsed ? [secretValue] : [], versions: [] }
        },
        isSet: () => false,
        seal: (text) => text,
        unseal: (text) => text,
        reseal: (text) => text,
      },
    },
  }),
}

export interface TestBuilds {
  readonly infra: TestInfrastructure
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: unknown }>
  /** Starts a build. @returns the queue item */
  start(job: string, query?: string): Promise<string>
  /** Waits until an item has a number. */
  numberOf(item: string): Promise<number>
  /** Waits until a build has ended. */
  ended(job: string, number: number): Promise<JsonObject>
  /** Starts a build and waits for its end. */
  build(job: string, query?: string): Promise<JsonObject>
  log(job: string, number: unknown): Promise<string>
}

interface BuildsOptions {
  /** Keys below `builds.local`. */
  readonly settings: JsonObject
  readonly dataDir?: string
  readonly bakery?: JsonObject
  readonly local?: JsonObject
  /** Views of the permission service by user; without them everything is allowed. */
  readonly views?: Readonly<Record<string, JsonObject>>
  /** Keys below `artifacts`. */
  readonly artifacts?: JsonObject
}

export async function startLocalBuilds(
  t: TestContext,
  { settings, views, ...options }: BuildsOptions,
): Promise<TestBuilds> {
  const infra = await startInfrastructure(t, {
    ...options,
    beside: [oneSecret, buildsBackend],
    authorization: views !== undefined,
    others: async (_service, { path }) => {
      const user = path.split('/').at(-1) ?? ''
      const body = user === observer ? { name: observer, admin: true } : views?.[user]
      return { status: body === undefined ? 404 : 200, body }
    },
    settings: { buildServers: toSettings(settings) },
  })
  const ask: TestBuilds['ask'] = (method, path, body, headers) =>
    infra.backends.ask('igor', method, path, body, headers)
  // With all rights.
  const read = (path: string) => ask('GET', path, undefined, { 'x-spinnaker-user': observer })
  let orders = 0
  const start: TestBuilds['start'] = async (job, query = '') => {
    // Equal orders start one build.
    const headers = { 'x-spinnaker-execution-id': `order-${++orders}` }
    const path = `/masters/local/jobs/${job}?${query}`
    // A repository is read in its own time.
    const { status, body: item } = await waitFor(async () => {
      const answer = await ask('PUT', path, undefined, headers)
      return /has not been read yet/.test(JSON.stringify(answer.body)) ? undefined : answer
    }, `the job ${job}`)
    assert.equal(status, 200, JSON.stringify(item))
    return String(item)
  }
  const numberOf: TestBuilds['numberOf'] = (item) =>
    waitFor(async () => {
      const { status, body } = await ask('GET', `/builds/queue/local/${item}`)
      assert.equal(status, 200)
      return ((body as JsonObject)['number'] as number | null) ?? undefined
    }, `the number of the queue item ${item}`)
  const ended: TestBuilds['ended'] = (job, number) =>
    waitFor(async () => {
      const { status, body } = await read(`/builds/status/${number}/local/${job}`)
      return status === 200 && (body as JsonObject)['building'] === false
        ? (body as JsonObject)
        : undefined
    }, `the end of the build ${number} of ${job}`)
  return {
    infra,
    ask,
    start,
    numberOf,
    ended,
    build: async (job, query) => ended(job, await numberOf(await start(job, query))),
    log: async (job, number) => {
      const { status, body } = await read(
        `/ci/builds/${encodeURIComponent(`${job}-${String(number)}`)}/output`,
      )
      assert.equal(status, 200, JSON.stringify(body))
      return String((body as JsonObject)['log'])
    },
  }
}

function toSettings(settings: JsonObject): Readonly<Record<string, object>> {
  const keys = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [`builds.local.${key}`, value]),
  )
  const report = {
    problem: (key: string, message: string) => assert.fail(`${key}: ${message}`),
    notice: () => {},
    isSet: () => false,
  }
  return toBuildServerSettings(BuildServerKeys.parse(keys), report)
}
