/** A namespace of a test, and shorthands for what is deployed there. */
import { type JsonObject, objectOf } from '../../packages/base/json/values.ts'
import { pathTo } from '../../packages/base/net/encode-path.ts'
import type { KubernetesObject } from './kubernetes-client.ts'
import type { Ended, Platform, User } from './kubernetes-platform.ts'
import { waitFor, waitUntil } from './wait-until.ts'

export interface Place {
  readonly namespace: string
  /** The job `deployManifest`, followed until it has ended so. */
  deploy(manifests: readonly unknown[], fields?: JsonObject, status?: string): Promise<Ended>
  /** Another job on an object of the namespace. */
  change(type: string, manifestName: string, fields?: JsonObject, status?: string): Promise<Ended>
  /** A stage that deploys here. */
  stage(manifests: readonly unknown[], fields?: JsonObject): JsonObject
  /** The answer of /manifests. */
  manifest(name: string, user?: User): Promise<JsonObject>
  /** The manifest as it answers, once it holds. */
  manifestUntil(name: string, holds: (body: JsonObject) => boolean): Promise<JsonObject>
  /** A live object by plural and name: `deployments/web`. */
  get(path: string): Promise<KubernetesObject>
  find(path: string): Promise<KubernetesObject | undefined>
  /** The live object once it holds. */
  getUntil(path: string, holds: (object: KubernetesObject) => boolean): Promise<KubernetesObject>
  list(plural: string): Promise<KubernetesObject[]>
  /** Sorted. */
  names(plural: string): Promise<string[]>
  /** Waits until there are none. */
  gone(plural: string): Promise<void>
  /** Pods that are not being deleted and have the labels. */
  pods(labels?: Readonly<Record<string, string>>): Promise<KubernetesObject[]>
  path(path: string): string
}

export function createPlace(platform: Platform, namespace: string): Place {
  const { api, run, read, until } = platform
  const path = (given: string) => objectPath(namespace, given)
  const list = (plural: string) => api.list(path(plural))
  const deployment = (manifests: readonly unknown[], fields: JsonObject) => ({
    type: 'deployManifest',
    source: 'text',
    moniker: { app: 'shop' },
    manifests: manifests.map((manifest) => inNamespace(manifest, namespace)),
    ...fields,
  })
  const manifestPath = (name: string) => pathTo`/manifests/k8s/${namespace}/${name}`
  return {
    namespace,
    deploy: (manifests, fields = {}, status) => run(deployment(manifests, fields), status),
    change: (type, manifestName, fields, status) =>
      run({ type, manifestName, location: namespace, ...fields }, status),
    stage: (manifests, fields = {}) => ({
      account: 'k8s',
      cloudProvider: 'kubernetes',
      ...deployment(manifests, fields),
    }),
    manifest: (name, user) => read(manifestPath(name), user),
    manifestUntil: (name, holds) => until(manifestPath(name), holds),
    get: (given) => api.get(path(given)),
    find: (given) => api.find(path(given)),
    getUntil: (given, holds) => {
      let latest: unknown
      return waitFor(
        async () => {
          const found = await api.find(path(given))
          latest = found
          return found !== undefined && holds(found) ? found : undefined
        },
        () => `${given}, which is ${JSON.stringify(latest)}`,
      )
    },
    list,
    names: async (plural) => (await list(plural)).map(({ metadata }) => metadata.name).sort(),
    gone: (plural) =>
      waitUntil(async () => (await list(plural)).length === 0, `the end of all ${plural}`),
    pods: async (labels = {}) =>
      (await list('pods')).filter(
        ({ metadata }) =>
          metadata.deletionTimestamp === undefined &&
          Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value),
      ),
    path,
  }
}

/** The namespace of the test, unless a manifest names another one, or `null`: none. */
function inNamespace(manifest: unknown, namespace: string): unknown {
  if (manifest === null || objectOf(manifest)['kind'] === 'List') return manifest
  const { metadata, ...rest } = objectOf(manifest)
  const { namespace: given = namespace, ...others } = objectOf(metadata)
  return { ...rest, metadata: { ...others, ...(given !== null && { namespace: given }) } }
}

const groups: Readonly<Record<string, string>> = {
  ...{
    deployments: 'apps/v1',
    replicasets: 'apps/v1',
    statefulsets: 'apps/v1',
    daemonsets: 'apps/v1',
  },
  ...{ controllerrevisions: 'apps/v1', jobs: 'batch/v1', cronjobs: 'batch/v1' },
  ...{
    horizontalpodautoscalers: 'autoscaling/v2',
    ingresses: 'networking.k8s.io/v1',
    widgets: 'example.test/v1',
    gadgets: 'health.test/v1',
  },
}

function objectPath(namespace: string, path: string): string {
  const group = groups[path.split('/')[0] ?? '']
  return `/${group === undefined ? 'api/v1' : `apis/${group}`}/namespaces/${namespace}/${path}`
}
