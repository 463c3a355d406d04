/** The embedded infrastructure with Kubernetes accounts. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../packages/base/json/values.ts'
import type { BackendContext } from '../../packages/ports/backend.ts'
import type { Infrastructure } from '../../packages/ports/infrastructure.ts'
import type { ServiceAnswer } from '../../packages/ports/service-call.ts'
import { createInfrastructureBackend } from '../../packages/providers/infrastructure/infrastructure.ts'
import { kubernetesProvider } from '../../packages/providers/kubernetes/provider.ts'
import {
  type KubernetesSettings,
  kubernetesKeys,
  toKubernetesSettings,
} from '../../packages/providers/kubernetes/settings.ts'
import { type Backends, startBackends } from './backends.ts'
import { waitFor } from './wait-until.ts'

export interface KubernetesInfrastructure {
  readonly backends: Backends
  ask(method: string, path: string, body?: unknown, user?: string): Promise<ServiceAnswer>
  /** The body of a GET that succeeds. */
  read<T = JsonObject>(path: string, user?: string): Promise<T>
  /** Asks again until it holds. */
  until<T = JsonObject>(path: string, holds: (body: T) => boolean): Promise<T>
  /** How often it has announced changes. */
  changes(): number
  /** As the engine has it. */
  port(): Infrastructure
  /** Hands over other accounts while it runs. */
  reload(accounts: readonly JsonObject[], general?: JsonObject): void
}

export interface KubernetesInfrastructureOptions {
  readonly accounts: readonly JsonObject[]
  /** Other settings below `kubernetes`. */
  readonly general?: JsonObject
  /** What the permission service says of users, by name; undefined: authorization is off. */
  readonly views?: Readonly<Record<string, JsonObject>>
  /** Stored applications. */
  readonly stored?: readonly JsonObject[]
  readonly now?: () => number
}

export async function startKubernetesInfrastructure(
  t: TestContext,
  { accounts, general = {}, views, stored = [], now }: KubernetesInfrastructureOptions,
): Promise<KubernetesInfrastructure> {
  let changes = 0
  let port: Infrastructure | undefined
  let reload: (accounts: readonly JsonObject[], general?: JsonObject) => void = () => {}
  const backend = createInfrastructureBackend([kubernetesProvider])
  const toSettings = (given: readonly JsonObject[], others: JsonObject) => ({
    challengedEnvironments: [],
    primaryAccountTypes: [],
    providers: { kubernetes: kubernetesSettings({ ...others, accounts: given }) },
  })
  const open = (context: BackendContext) => {
    const opened = backend.open({ ...context, stateChanged: () => void changes++ })
    port = opened.ports?.infrastructure
    reload = (given, others = general) =>
      opened.reload?.({ ...context.settings, infrastructure: toSettings(given, others) })
    return opened
  }
  const backends = await startBackends(t, [{ ...backend, open }], {
    settings: { infrastructure: toSettings(accounts, general), authorization: views !== undefined },
    others: async (service, { path }) => ({
      status: 200,
      body: service === 'front50' ? stored : (views?.[path.split('/').at(-1) ?? ''] ?? []),
    }),
    ...(now !== undefined && { now }),
  })
  const ask: KubernetesInfrastructure['ask'] = (method, path, body, user) =>
    backends.ask(
      'clouddriver',
      method,
      path,
      body,
      user === undefined ? {} : { 'x-spinnaker-user': user },
    )
  return {
    backends,
    ask,
    async read<T>(path: string, user?: string): Promise<T> {
      const { status, body } = await ask('GET', path, undefined, user)
      assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
      return body as T
    },
    async until<T>(path: string, holds: (body: T) => boolean): Promise<T> {
      let latest: unknown
      return waitFor(
        async () => {
          const { status, body } = await ask('GET', path)
          latest = body
          return status === 200 && holds(body as T) ? (body as T) : undefined
        },
        () => `${path}, which is ${JSON.stringify(latest)}`,
      )
    },
    changes: () => changes,
    port: () => port ?? assert.fail('it is open'),
    reload: (given, others) => reload(given, others),
  }
}

/** On a machine under load, an API server may say nothing for seconds. */
const patience = { 'kubernetes.silence-seconds': 60 }

/** What the configuration makes of keys below `kubernetes`. */
export function kubernetesSettings(given: JsonObject): KubernetesSettings {
  const keys = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [`kubernetes.${key}`, value]),
  )
  const settings = toKubernetesSettings(
    kubernetesKeys.keys.parse({ 'kubernetes.enabled': true, ...patience, ...keys }),
    {
      problem: (key, message) => assert.fail(`${key}: ${message}`),
      notice: () => {},
      isSet: () => false,
    },
  )
  assert.ok(settings)
  return settings
}
