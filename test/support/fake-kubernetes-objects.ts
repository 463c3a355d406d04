/** The objects of the fake API server: kinds, versions, and what has changed. */
import { randomUUID } from 'node:crypto'
import { fieldAt, type JsonObject, objectOf, textOf } from '../../packages/base/json/values.ts'

export interface ServedKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly isNamespaced: boolean
  readonly shortNames: readonly string[]
  readonly subresources: readonly string[]
}

export interface FakeObject extends JsonObject {
  apiVersion: string
  kind: string
  metadata: JsonObject & { name: string; namespace?: string; uid: string; resourceVersion: string }
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: number
  readonly kind: ServedKind
  readonly object: FakeObject
}

type Row = readonly [
  apiVersion: string,
  kind: string,
  plural: string,
  scope: 'N' | 'C',
  shortNames: string,
  subresources?: string,
]

const rows: readonly Row[] = [
  ['v1', 'Pod', 'pods', 'N', 'po', 'status log'],
  ['v1', 'Service', 'services', 'N', 'svc', 'status'],
  ['v1', 'Namespace', 'namespaces', 'C', 'ns', 'status'],
  ['v1', 'ConfigMap', 'configmaps', 'N', 'cm'],
  ['v1', 'Secret', 'secrets', 'N', ''],
  ['v1', 'ServiceAccount', 'serviceaccounts', 'N', 'sa'],
  ['v1', 'Event', 'events', 'N', 'ev'],
  ['v1', 'PersistentVolume', 'persistentvolumes', 'C', 'pv', 'status'],
  ['v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', 'N', 'pvc', 'status'],
  ['apps/v1', 'Deployment', 'deployments', 'N', 'deploy', 'status scale'],
  ['apps/v1', 'ReplicaSet', 'replicasets', 'N', 'rs', 'status scale'],
  ['apps/v1', 'StatefulSet', 'statefulsets', 'N', 'sts', 'status scale'],
  ['apps/v1', 'DaemonSet', 'daemonsets', 'N', 'ds', 'status'],
  ['apps/v1', 'ControllerRevision', 'controllerrevisions', 'N', ''],
  ['batch/v1', 'Job', 'jobs', 'N', '', 'status'],
  ['batch/v1', 'CronJob', 'cronjobs', 'N', 'cj', 'status'],
  ['networking.k8s.io/v1', 'Ingress', 'ingresses', 'N', 'ing', 'status'],
  ['networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', 'N', 'netpol'],
  ['autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'N', 'hpa', 'status'],
  ['autoscaling/v1', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'N', 'hpa', 'status'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', 'C', ''],
  [
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
    'C',
    'crd crds',
    'status',
  ],
]

export function servedKind(row: Row): ServedKind {
  const [apiVersion, kind, plural, scope, shortNames, subresources = ''] = row
  const slash = apiVersion.indexOf('/')
  return {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind,
    plural,
    isNamespaced: scope === 'N',
    shortNames: shortNames.split(' ').filter((name) => name !== ''),
    subresources: subresources.split(' ').filter((name) => name !== ''),
  }
}

export function apiVersionOf({ group, version }: ServedKind): string {
  return group === '' ? version : `${group}/${version}`
}

export class FakeObjects {
  readonly kinds: ServedKind[] = rows.map(servedKind)
  /** Since the last `compact`. */
  changes: Change[] = []
  /** Watches from before it have expired. */
  oldest = 0
  readonly #objects = new Map<string, Map<string, FakeObject>>()
  readonly #listeners = new Set<(change: Change) => void>()
  #version = 1000

  get version(): number {
    return this.#version
  }

  /** Creates or replaces an object, of which only kind and name need be given. */
  put(given: JsonObject): FakeObject {
    const kind = this.kindOf(given)
    const metadata = objectOf(given['metadata'])
    const namespace = kind.isNamespaced ? (textOf(metadata['namespace']) ?? 'default') : undefined
    const name =
      textOf(metadata['name']) ??
      `${textOf(metadata['generateName']) ?? 'object-'}${randomUUID().slice(0, 5)}`
    const known = this.get(kind, namespace, name)
    const object: FakeObject = {
      ...structuredClone(given),
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: {
        ...structuredClone(metadata),
        name,
        ...(namespace !== undefined && { namespace }),
        uid: known?.metadata.uid ?? textOf(metadata['uid']) ?? randomUUID(),
        resourceVersion: String(++this.#version),
        creationTimestamp:
          fieldAt(known, 'metadata', 'creationTimestamp') ??
          metadata['creationTimestamp'] ??
          '2026-01-01T00:00:00Z',
      },
    }
    this.#of(kind).set(keyOf(namespace, name), object)
    this.#note({
      type: known === undefined ? 'ADDED' : 'MODIFIED',
      version: this.#version,
      kind,
      object,
    })
    return object
  }

  get(kind: ServedKind, namespace: string | undefined, name: string): FakeObject | undefined {
    return this.#of(kind).get(keyOf(namespace, name))
  }

  list(kind: ServedKind, namespace?: string): FakeObject[] {
    const all = [...this.#of(kind).entries()]
    all.sort(([one], [other]) => (one < other ? -1 : 1))
    return all
      .map(([, object]) => object)
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
  }

  remove(kind: ServedKind, namespace: string | undefined, name: string): FakeObject | undefined {
    const known = this.get(kind, namespace, name)
    if (known === undefined) return undefined
    this.#of(kind).delete(keyOf(namespace, name))
    const version = ++this.#version
    const object = { ...known, metadata: { ...known.metadata, resourceVersion: String(version) } }
    this.#note({ type: 'DELETED', version, kind, object })
    return object
  }

  /** Of plural, kind or manifest. */
  kindOf(asked: string | JsonObject): ServedKind {
    const [name, apiVersion] =
      typeof asked === 'string' ? [asked, undefined] : [asked['kind'], asked['apiVersion']]
    const found = this.kinds.find(
      (kind) =>
        (kind.kind === name || kind.plural === name) &&
        (typeof apiVersion !== 'string' || apiVersionOf(kind) === apiVersion),
    )
    if (found === undefined)
      throw new Error(`the fake API server has no kind ${JSON.stringify(asked)}`)
    return found
  }

  /** Forgets what has changed: watches that want to resume get 410. */
  compact(): void {
    this.changes = []
    this.oldest = ++this.#version
  }

  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #of({ group, plural }: ServedKind): Map<string, FakeObject> {
    return this.#objects.getOrInsertComputed(`${group}/${plural}`, () => new Map())
  }

  #note(change: Change): void {
    this.changes.push(change)
    for (const listener of this.#listeners) listener(change)
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`
}
