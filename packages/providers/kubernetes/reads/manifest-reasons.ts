/** Why an object is not stable: from its live pods, their events, and the last output of those that crash. */
import { within } from '@fairlead/base/concurrency/within.ts'
import { numberOf } from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import type { Kind } from '../kinds.ts'
import { revisionAnnotation } from '../manifests/annotations.ts'
import { crashedContainers, reasonsOf, type WaitReason } from '../manifests/reasons.ts'
import { matchLabelsOf } from '../manifests/selectors.ts'
import { conditionOf, isOwnedBy, type KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'
import { loadEvents } from './events.ts'

/** Pods that are asked about: others have the same troubles. */
const maxPods = 5
const maxLogs = 3
const logLines = 2_000
const logBytes = 512 * 1024
/** A status without reasons is better than none. */
const maxMs = 8000

/** None for kinds without pods, and where the API server does not tell. */
export function loadReasons(
  account: KubernetesAccount,
  object: KubeObject,
  kind: Kind,
): Promise<WaitReason[]> {
  return within<WaitReason[], WaitReason[]>(maxMs, findReasons(account, object, kind), () => [], {
    unref: true,
  }).catch((error: unknown) => {
    if (isApiError(error)) return []
    throw error
  })
}

async function findReasons(
  account: KubernetesAccount,
  object: KubeObject,
  kind: Kind,
): Promise<WaitReason[]> {
  const isPod = kind.name === 'pod'
  const owners =
    kind.name === 'deployment' ? await loadLatestReplicaSet(account, object) : isPod ? [] : [object]
  const pods = isPod ? [object] : await loadPods(account, object, owners)
  const troubled = pods.filter((pod) => !isReady(pod)).slice(0, maxPods)
  const objects = isPod ? [] : [...new Set([object, ...owners])]
  const [events, logs] = await Promise.all([
    Promise.all([...objects, ...troubled].map((each) => loadEvents(account, each))),
    loadLogs(account, troubled),
  ])
  return reasonsOf({ objects, pods: troubled, events: events.flat(), logs })
}

/** Older ones are scaled down, and their pods tell nothing about the new version. */
async function loadLatestReplicaSet(
  account: KubernetesAccount,
  deployment: KubeObject,
): Promise<KubeObject[]> {
  const owned = await listOwned(account, 'replicaSet', {
    spec: deployment['spec'],
    owners: [deployment],
  })
  const revisionOf = ({ metadata }: KubeObject) =>
    numberOf(metadata.annotations?.[revisionAnnotation]) ?? 0
  return owned.toSorted((one, other) => revisionOf(other) - revisionOf(one)).slice(0, 1)
}

function loadPods(
  account: KubernetesAccount,
  object: KubeObject,
  owners: readonly KubeObject[],
): Promise<KubeObject[]> {
  return owners.length === 0
    ? Promise.resolve([])
    : listOwned(account, 'pod', { spec: object['spec'], owners })
}

async function listOwned(
  { api }: KubernetesAccount,
  kind: string,
  { spec, owners }: { readonly spec: unknown; readonly owners: readonly KubeObject[] },
): Promise<KubeObject[]> {
  const labelSelector = matchLabelsOf(spec)
  const resource = labelSelector === undefined ? undefined : await api.find({ kind })
  const namespace = owners[0]?.metadata.namespace
  if (resource === undefined || namespace === undefined) return []
  const objects = await api.list(resource, { namespace, labelSelector })
  return objects.filter((object) => owners.some((owner) => isOwnedBy(object, owner)))
}

function isReady(pod: KubeObject): boolean {
  return conditionOf(pod, 'Ready')?.status === 'True'
}

async function loadLogs(
  { api }: KubernetesAccount,
  pods: readonly KubeObject[],
): Promise<Map<string, string>> {
  const namespace = pods[0]?.metadata.namespace ?? ''
  const logs = crashedContainers(pods)
    .slice(0, maxLogs)
    .map(async ({ pod, container, isPrevious }) => {
      const query = { container, previous: isPrevious, tailLines: logLines, limitBytes: logBytes }
      const text = await api.log({ namespace, name: pod }, query).catch((error: unknown) => {
        if (isApiError(error)) return ''
        throw error
      })
      return [`${pod}/${container}`, text] as const
    })
  return new Map((await Promise.all(logs)).filter(([, text]) => text !== ''))
}
