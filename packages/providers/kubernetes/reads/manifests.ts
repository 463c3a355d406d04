/** Manifests: live objects with their status, events, artifacts and metrics (docs/contracts/kubernetes.md#lists). */
import { type JsonObject, numberOf, objectOf } from '@fairlead/base/json/values.ts'
import type { OwnResource } from '../../infrastructure/model.ts'
import type { ClusterMember, ManifestChoice, ManifestCluster } from '../../infrastructure/provider.ts'
import { loadOwned } from '../controllers.ts'
import { formatFullName } from '../full-name.ts'
import { type Kind, parseKind } from '../kinds.ts'
import { annotationOf, monikerAnnotations } from '../manifests/annotations.ts'
import { artifactsOf } from '../manifests/artifacts.ts'
import { withoutSecretValues } from '../manifests/secrets.ts'
import { statusOf } from '../manifests/status.ts'
import { type KubeObject, millisecondsOf } from '../objects.ts'
import { ownerOf } from '../owner.ts'
import type { KubernetesAccount } from '../parts.ts'
import { loadEvents, withoutManagedFields } from './events.ts'
import { loadReasons } from './manifest-reasons.ts'
import { answered, type FoundObject, findObject, listObjects } from './object-lookup.ts'
import { readPodMetrics } from './pod-metrics.ts'

/** @throws {PortError} 5xx */
export async function findManifest(
  account: KubernetesAccount,
  { location, name }: { readonly location: string; readonly name: string },
  choice: ManifestChoice,
): Promise<OwnResource | undefined> {
  const found = await findObject(account, location, name)
  if (found === undefined) return undefined
  const { object, kind } = found
  const { namespace = '' } = object.metadata
  const status = statusOf(object)
  const isMeasured = kind.name === 'pod' && account.settings.metrics
  const [events, metrics, reasons] = await answered(account, () =>
    Promise.all([
      choice.includesEvents ? loadEvents(account, object) : [],
      isMeasured ? readPodMetrics(account, namespace, object.metadata.name) : [],
      status.stable.state ? undefined : loadReasons(account, object, kind),
    ]),
  )
  const owned = await loadOwned(account, object)
  const view = {
    account: account.settings.name,
    name: formatFullName(kind, object.metadata.name),
    location: namespace,
    moniker: owned.moniker,
    manifest: toView(found, choice),
    status,
    artifacts: artifactsOf(object),
    events,
    warnings: [],
    metrics,
    ...(reasons !== undefined && {
      reasons: reasons.map(({ text }) => text),
      hopeless: reasons.some(({ isHopeless }) => isHopeless),
    }),
  }
  return { ...owned, view }
}

/** Clients expect some fields that the API server leaves out for a moment. */
function toView({ object, kind }: FoundObject, { includesSecrets }: ManifestChoice): JsonObject {
  const shown = withoutManagedFields(includesSecrets ? object : withoutSecretValues(object))
  return { ...shown, status: { ...usualStatus(kind), ...objectOf(object['status']) } }
}

function usualStatus({ spinnakerKind }: Kind): JsonObject {
  if (spinnakerKind === 'serverGroupManagers') return { conditions: [] }
  return spinnakerKind === 'loadBalancers' ? { loadBalancer: {} } : {}
}

/** Those whose annotations name the cluster and the application, oldest first. @throws {PortError} 5xx */
export async function findClusterMembers(account: KubernetesAccount, wanted: ManifestCluster): Promise<ClusterMember[]> {
  const parsed = parseKind(wanted.kind)
  const found = await listObjects(account, parsed, {
    location: wanted.location,
    metadataOnly: account.kinds.kindOf(parsed).spinnakerKind === 'configs',
  })
  return found
    .filter(({ object }) => isOfCluster(object, wanted))
    .sort((one, other) => createdMs(one.object) - createdMs(other.object) || compareNames(one.object, other.object))
    .map(({ object, kind }) => ({
      view: { kind: kind.name, namespace: object.metadata.namespace ?? '', name: object.metadata.name },
      replicas: numberOf(objectOf(object['spec'])['replicas']) ?? -1,
    }))
}

function isOfCluster(object: KubeObject, { application, cluster }: ManifestCluster): boolean {
  return (
    ownerOf(object)?.toLowerCase() === application.toLowerCase() && annotationOf(object, monikerAnnotations.cluster) === cluster
  )
}

function createdMs({ metadata }: KubeObject): number {
  return millisecondsOf(metadata.creationTimestamp) ?? 0
}

/** Times have seconds only; versions count up. */
function compareNames(one: KubeObject, other: KubeObject): number {
  return one.metadata.name.localeCompare(other.metadata.name, 'en', { numeric: true })
}
