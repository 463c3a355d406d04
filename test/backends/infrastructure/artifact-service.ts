/** The embedded infrastructure with accounts of artifacts. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import type { ServiceAnswer } from '../../../packages/ports/service-call.ts'
import { createInfrastructureBackend } from '../../../packages/providers/infrastructure/infrastructure.ts'
import {
  InfrastructureKeys,
  toInfrastructureSettings,
} from '../../../packages/providers/infrastructure/setting-keys.ts'
import type { ProviderType } from '../../../packages/providers/provider-type.ts'
import { startBackends } from '../../support/backends.ts'

export interface Fetched {
  readonly status: number
  readonly bytes: Buffer
  /** Of an error. */
  readonly message: string
}

export interface ArtifactService {
  fetch(artifact: JsonObject): Promise<Fetched>
  credentials(): Promise<unknown>
  /** Of `/artifacts/account`: `web/names`. */
  list(path: string): Promise<ServiceAnswer>
}

interface ServiceOptions {
  /** Settings by key. */
  readonly settings?: JsonObject
  readonly isLoopbackAllowed?: boolean
  readonly types?: readonly ProviderType[]
}

export async function startArtifacts(
  t: TestContext,
  { settings = {}, isLoopbackAllowed = true, types = [] }: ServiceOptions = {},
): Promise<ArtifactService> {
  const report = {
    problem: (key: string, text: string) => assert.fail(`${key}: ${text}`),
    notice: () => {},
    isSet: () => false,
  }
  const infrastructure = toInfrastructureSettings(InfrastructureKeys.parse(settings), report)
  const providers = Object.fromEntries(types.map(({ id }) => [id, {}]))
  const outside = { ...defaultOutsideSettings, allowed: isLoopbackAllowed ? ['127.0.0.1/32'] : [] }
  const backends = await startBackends(t, [createInfrastructureBackend(types)], {
    settings: { infrastructure: { ...infrastructure, providers }, outside },
  })
  return {
    async fetch(artifact) {
      const answer = await fetch(`${backends.url('clouddriver')}/artifacts/fetch`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(artifact),
      })
      const bytes = Buffer.from(await answer.arrayBuffer())
      const message = answer.ok
        ? ''
        : String((JSON.parse(bytes.toString('utf8')) as JsonObject)['message'])
      return { status: answer.status, bytes, message }
    },
    list: (path) => backends.ask('clouddriver', 'GET', `/artifacts/account/${path}`),
    credentials: async () =>
      (await backends.ask('clouddriver', 'GET', '/artifacts/credentials')).body,
  }
}
