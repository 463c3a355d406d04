/** Fairlead with all back ends and accounts on a real control plane, asked over its public paths as users do. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type JsonObject, objectOf, objectsOf, textsOf } from '../../packages/base/json/values.ts'
import { pathTo } from '../../packages/base/net/encode-path.ts'
import type { Execution } from '../../packages/engine/orchestration/model.ts'
import { type GatewaySettings, runGateway } from './gateway.ts'
import { type ControlPlane, startControlPlane } from './kubernetes.ts'
import type { KubernetesClient } from './kubernetes-client.ts'
import { createPlace, type Place } from './kubernetes-place.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'
import { waitFor } from './wait-until.ts'

/** alice has the role ops, bob readers, carol none. */
export type User = 'alice' | 'bob' | 'carol'

/** A task or a pipeline that has ended. */
export interface Ended {
  readonly id: string
  readonly status: string
  readonly execution: Execution
  /** Of a task, by key. */
  readonly variables: JsonObject
  /** What the stages say about their failure, a line each. */
  readonly error: string
}

export interface Platform {
  readonly plane: ControlPlane
  /** As an administrator of the cluster. */
  readonly api: KubernetesClient
  /** Of the gateway; another one after a restart. */
  url(): string
  /** The namespace of the account `k8s-one`. */
  readonly one: string
  ask(
    method: string,
    path: string,
    body?: unknown,
    user?: User,
  ): Promise<{ status: number; body: unknown }>
  /** The body of a GET that succeeds. */
  read<T = JsonObject>(path: string, user?: User): Promise<T>
  /** Asks again until it holds. */
  until<T = JsonObject>(path: string, holds: (body: T) => boolean): Promise<T>
  /** Submits a job of the application `shop` to the account `k8s`; returns the id of its task. */
  submit(job: JsonObject, user?: User): Promise<string>
  /** Follows a task until it has ended, and has ended so. */
  ends(id: string, status?: string): Promise<Ended>
  /** Both. */
  run(job: JsonObject, status?: string, user?: User): Promise<Ended>
  /** Stores a pipeline of `shop` and starts it; returns the id of its execution. */
  begin(stages: readonly JsonObject[], more?: PipelineOptions): Promise<string>
  /** Follows a pipeline as `ends` does. */
  finish(id: string, status?: string): Promise<Ended>
  pipeline(stages: readonly JsonObject[], more?: PipelineOptions, status?: string): Promise<Ended>
  /** A new namespace and what happens there. */
  place(): Promise<Place>
}

export interface PipelineOptions {
  /** Fields of the pipeline. */
  readonly definition?: JsonObject
  /** Fields of the trigger, such as parameters and artifacts. */
  readonly trigger?: JsonObject
}

export interface PlatformOptions {
  /** Further accounts, as the configuration lists them. */
  readonly accounts?: (kubeconfigFile: string) => readonly JsonObject[]
  /** Of an API server, before reads show its last state. */
  readonly silenceSeconds?: number
  /** Further settings. */
  readonly settings?: JsonObject
  /** How Fairlead runs; in this process by default. */
  readonly start?: (t: TestEnd, settings: GatewaySettings) => Promise<{ url: string }>
}

/** Undefined when Kubernetes is not built; the test is skipped then. */
export async function startPlatform(
  t: TestContext,
  { silenceSeconds = 60, ...options }: PlatformOptions = {},
): Promise<Platform | undefined> {
  const plane = await startControlPlane(t)
  if (plane === undefined) return undefined
  const one = await plane.namespace('one')
  const home = createFolder('platform')
  t.after(() => removeFolder(home))
  const rolesFile = join(home, 'roles.yml')
  writeFileSync(
    rolesFile,
    'users: [{username: alice, roles: [ops]}, {username: bob, roles: [readers]}]',
  )
  const kubeconfigFile = plane.kubeconfigFile()
  // The scenarios of Spinnaker: every config map has versions.
  const account = (name: string, more: JsonObject) => ({
    ...{ name, kubeconfigFile, versioning: 'clouddriver' },
    ...more,
  })
  const settings = {
    header: { enabled: true },
    auth: { 'group-membership': { service: 'file', file: { path: rolesFile } } },
    kubernetes: {
      enabled: true,
      // On a machine under load, an API server may say nothing for seconds.
      'silence-seconds': silenceSeconds,
      accounts: [
        account('k8s', { omitNamespaces: ['kube-system'] }),
        account('k8s-one', { namespaces: [one] }),
        account('k8s-ro', { permissions: { READ: ['readers', 'ops'], WRITE: ['ops'] } }),
        ...(options.accounts?.(kubeconfigFile) ?? []),
      ],
    },
    ...options.settings,
  }
  const { start = (end, given) => runGateway(end, given, { embedded: true }) } = options
  const running = await start(t, settings)
  const platform = connect(plane, one, () => running.url)
  await platform.run({
    type: 'createApplication',
    application: { name: 'shop', email: 'team@example.test', cloudProviders: 'kubernetes' },
  })
  return platform
}

const isOver = new Set(['SUCCEEDED', 'TERMINAL', 'CANCELED', 'STOPPED', 'FAILED_CONTINUE'])
let pipelines = 0

/** The functions of a platform over its address. */
export function connect(plane: ControlPlane, one: string, url: () => string): Platform {
  const ask: Platform['ask'] = async (method, path, body, user = 'alice') => {
    const answer = await fetch(`${url()}${path}`, {
      method,
      // Compression takes a third of a small request.
      headers: {
        'X-SPINNAKER-USER': user,
        'content-type': 'application/json',
        'accept-encoding': 'identity',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const said = await answer.text()
    return { status: answer.status, body: said === '' ? undefined : (JSON.parse(said) as unknown) }
  }

  async function read<T>(path: string, user?: User): Promise<T> {
    const { status, body } = await ask('GET', path, undefined, user)
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
    return body as T
  }

  async function until<T>(path: string, holds: (body: T) => boolean): Promise<T> {
    let latest: unknown
    return waitFor(
      async () => {
        const { status, body } = await ask('GET', path)
        latest = body
        return status === 200 && holds(body as T) ? (body as T) : undefined
      },
      () => `${path}, which is ${JSON.stringify(latest)}`,
    )
  }

  const follow = async (path: string, status: string): Promise<Ended> => {
    const view = toEnded(await until(path, (body) => isOver.has(String(body['status']))))
    assert.equal(view.status, status, `${view.error} ${describe(view)}`)
    return view
  }

  const submit: Platform['submit'] = async (job, user) => {
    const place = { cloudProvider: 'kubernetes', account: 'k8s' }
    const task = {
      application: 'shop',
      description: String(job['type']),
      job: [{ ...place, ...job }],
    }
    const { status, body } = await ask('POST', '/tasks', task, user)
    assert.equal(status, 200, JSON.stringify(body))
    return idOf(body)
  }

  const ends: Platform['ends'] = (id, status = 'SUCCEEDED') => follow(pathTo`/tasks/${id}`, status)

  const begin: Platform['begin'] = async (stages, { definition = {}, trigger = {} } = {}) => {
    const name = `pipeline-${++pipelines}`
    const listed = stages.map((stage, index) => ({
      refId: String(index + 1),
      requisiteStageRefIds: index === 0 ? [] : [String(index)],
      ...(String(stage['type']).includes('Manifest') && {
        account: 'k8s',
        cloudProvider: 'kubernetes',
      }),
      name: String(stage['type']),
      ...stage,
    }))
    const saved = await ask('POST', '/pipelines', {
      application: 'shop',
      name,
      stages: listed,
      ...definition,
    })
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const { status, body } = await ask('POST', pathTo`/pipelines/shop/${name}`, {
      type: 'manual',
      ...trigger,
    })
    assert.equal(status, 202, JSON.stringify(body))
    return idOf(body)
  }

  const finish: Platform['finish'] = (id, status = 'SUCCEEDED') =>
    follow(pathTo`/pipelines/${id}`, status)

  const platform: Platform = {
    plane,
    api: plane.api,
    url,
    one,
    ask,
    read,
    until,
    submit,
    ends,
    run: async (job, status, user) => ends(await submit(job, user), status),
    begin,
    finish,
    pipeline: async (stages, more, status) => finish(await begin(stages, more), status),
    place: async () => createPlace(platform, await plane.namespace()),
  }
  return platform
}

function idOf(body: unknown): string {
  return String((body as { ref: string }).ref)
    .split('/')
    .at(-1) as string
}

/** A task holds its execution; a pipeline is one. */
function toEnded(view: JsonObject): Ended {
  const execution = (view['execution'] ?? view) as Execution
  const variables = objectsOf(view['variables']).map(({ key, value }) => [String(key), value])
  return {
    id: String(view['id']),
    status: String(view['status']),
    execution,
    variables: Object.fromEntries(variables) as JsonObject,
    error: errorOf(execution),
  }
}

function errorOf({ stages }: Execution): string {
  const errors = stages.flatMap(({ context }) => {
    const exception = objectOf(context['exception'])
    return textsOf(objectOf(exception['details'])['errors'])
  })
  return errors.join('\n')
}

function describe({ execution }: Ended): string {
  return execution.stages
    .map(
      ({ type, status, tasks }) =>
        `${type} ${status} [${tasks.map((task) => `${task.name} ${task.status}`).join(', ')}]`,
    )
    .join('; ')
}
