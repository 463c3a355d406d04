/** Deletes objects and waits until they and what they own are gone. */
import { fieldAt, textsOf } from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import { apiVersionOf, type DeleteOptions, type ListQuery } from '../api/cluster-api.ts'
import { matchLabelsOf } from '../manifests/selectors.ts'
import { conditionOf, type KubeObject } from '../objects.ts'
import type { ManifestRun } from './parts.ts'
import { pollUntil, retrying } from './retry.ts'
import type { LiveTarget } from './targets.ts'

export interface RemovalOptions extends Pick<DeleteOptions, 'propagation' | 'gracePeriodSeconds'> {
  readonly limitMs: number
  /** Also waits for what the garbage collector deletes. */
  readonly awaitsOwned?: boolean
}

type Removable = Omit<LiveTarget, 'kind'>

/** @throws {Error} when it is still there after the limit */
export async function removeManifest(
  running: ManifestRun,
  removable: Removable,
  removal: RemovalOptions,
): Promise<void> {
  await (await startRemoval(running, removable, removal))()
}

/**
 * Deletes an object.
 *
 * @returns waits until it is gone. @throws {Error} when it is still there after the limit
 */
export async function startRemoval(
  running: ManifestRun,
  { name, place, live }: Removable,
  { propagation, gracePeriodSeconds, limitMs, awaitsOwned = false }: RemovalOptions,
): Promise<() => Promise<void>> {
  const { api, lists } = running.account
  const owned = new OwnedTree(running, live)
  const needsOwned = awaitsOwned && propagation !== 'Orphan'
  // Replica sets may be gone before their pods, which are found by them.
  if (needsOwned) await owned.count()
  const { uid } = live.metadata
  await retrying(running, () => api.remove(place, { propagation, gracePeriodSeconds, uid }))
  running.run.note(`Deleting ${name} …`)
  const { steady } = running.parts.context
  const startMs = steady()
  return async () => {
    let holder: string | undefined
    const isGone = await pollUntil(running, { limitMs }, async () => {
      const found = await api.get(place)
      // Another object may have its name by now.
      if (found === undefined || found.metadata.uid !== uid) return true
      const holds = describeHolder(name, place, found)
      if (holds !== undefined && holds !== holder && steady() - startMs > patienceMs) {
        holder = holds
        running.run.note(holds)
      }
      return undefined
    })
    if (isGone === undefined) {
      const left = await api.get(place)
      const holds = left && describeHolder(name, place, left)
      const minutes = Math.round(limitMs / 60_000)
      throw new Error(
        `${name} was deleted, and is still there after ${minutes} minutes.${holds === undefined ? '' : ` ${holds}`}`,
      )
    }
    lists.forget(live)
    if (needsOwned) await awaitOwned(running, owned, limitMs)
  }
}

/** Finalizers are named after it, within 10 s. */
const patienceMs = 7000

/** Who takes finalizers away; others have a controller of their own. */
const finalizers: readonly (readonly [pattern: RegExp, remover: string])[] = [
  [/^foregroundDeletion$|^orphan$/, 'the garbage collector, once what the object owns is gone'],
  [/(?:pv|pvc)-protection$/, 'Kubernetes, once no pod uses it'],
  [/load-balancer-cleanup$/, 'the cloud provider, once the load balancer is gone'],
  [/k8s\.aws/, 'the AWS load balancer controller'],
  [/^finalizers\.fluxcd\.io$/, 'Flux'],
  [/argocd\.argoproj\.io/, 'Argo CD'],
  [/^finalizer\.keda\.sh$/, 'KEDA'],
  [/job-tracking$/, 'the controller of jobs'],
  [/^customresourcecleanup\./, 'Kubernetes, once all objects of the kind are gone'],
  [/^kubernetes$/, 'Kubernetes, once the namespace is empty'],
]

const namespaceConditions = [
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceFinalizersRemaining',
  'NamespaceContentRemaining',
]

/** What keeps a deleted object, and the command that ends it; undefined: nothing that it names. */
function describeHolder(
  name: string,
  { resource, namespace }: Removable['place'],
  found: KubeObject,
): string | undefined {
  const own = textsOf(found.metadata['finalizers'])
  const held = resource.kind === 'Namespace' ? textsOf(fieldAt(found['spec'], 'finalizers')) : []
  const names = [...own, ...held]
  if (names.length === 0) return undefined
  const removers = [...new Set(names.map(removerOf))]
  const rest = namespaceConditions
    .map((type) => conditionOf(found, type))
    .filter((condition) => condition?.status === 'True')
    .map((condition) => ` ${condition?.message ?? ''}`)
  const place = namespace === '' ? '' : ` --namespace ${namespace}`
  const command = `kubectl patch ${resource.plural} ${found.metadata.name}${place} --type=merge --patch '{"metadata":{"finalizers":null}}'`
  const way =
    own.length === 0 ? '' : ` If that is gone for good, this releases the object: ${command}`
  return `${name} is held by the finalizer ${names.join(', ')}, which ${removers.join(' and ')} removes.${rest.join('')}${way}`
}

function removerOf(finalizer: string): string {
  return finalizers.find(([pattern]) => pattern.test(finalizer))?.[1] ?? 'its controller'
}

/** Kinds whose objects the garbage collector deletes with a workload, owners before what they own. */
const ownedKinds: Readonly<Record<string, readonly string[]>> = {
  Deployment: ['replicaSet', 'pod'],
  ReplicaSet: ['pod'],
  StatefulSet: ['pod'],
  DaemonSet: ['pod'],
  Job: ['pod'],
  CronJob: ['job', 'pod'],
}

/** What an object owns, and what that owns. */
class OwnedTree {
  readonly #running: ManifestRun
  readonly #live: KubeObject
  readonly #owners: Set<string>
  readonly #seen = new Map<string, KubeObject>()

  constructor(running: ManifestRun, live: KubeObject) {
    this.#running = running
    this.#live = live
    this.#owners = new Set([live.metadata.uid ?? ''])
  }

  get seen(): readonly KubeObject[] {
    return [...this.#seen.values()]
  }

  async count(): Promise<number> {
    const { kind, metadata, spec } = this.#live
    const kinds = Object.hasOwn(ownedKinds, kind) ? (ownedKinds[kind] as readonly string[]) : []
    let count = 0
    for (const each of kinds) {
      count += await this.#countOf(each, {
        namespace: metadata.namespace,
        labelSelector: matchLabelsOf(spec),
      })
    }
    return count
  }

  async #countOf(kind: string, query: ListQuery): Promise<number> {
    const { api } = this.#running.account
    const resource = await api.find({ kind })
    // A role may lack the list of pods, which is no reason to keep the object.
    const listed =
      resource === undefined
        ? []
        : await api.list(resource, { ...query, metadataOnly: true }).catch(noneWhenForbidden)
    const owned = listed.filter(
      ({ metadata }) => metadata.ownerReferences?.some(({ uid }) => this.#owners.has(uid)) === true,
    )
    for (const object of owned) {
      const { uid = '' } = object.metadata
      this.#owners.add(uid)
      if (resource !== undefined)
        this.#seen.set(uid, { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind })
    }
    return owned.length
  }
}

function noneWhenForbidden(error: unknown): KubeObject[] {
  if (isApiError(error, 403)) return []
  throw error
}

async function awaitOwned(running: ManifestRun, owned: OwnedTree, limitMs: number): Promise<void> {
  await pollUntil(running, { limitMs, longestPauseMs: 1000 }, async () =>
    (await owned.count()) === 0 ? true : undefined,
  )
  for (const object of owned.seen) running.account.lists.forget(object)
}
