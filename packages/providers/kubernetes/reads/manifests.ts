/** Manifests: live objects with their status, events, artifacts and metrics (docs/contracts/kubernetes.md#lists). */
import { randomUUID } from 'node:crypto'
import { type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { ManifestCluster } from '@fairlead/ports/infrastructure.ts'
import type { OwnResource } from '../../infrastructure/model.ts'
import type { ClusterMember, ManifestChoice, ManifestReads } from '../../infrastructure/provider.ts'
import { isPassing } from '../api/api-error.ts'
import { loadIgnored } from '../application-rules.ts'
import { loadOwned } from '../controllers.ts'
import { loadDrift } from '../drift/drift.ts'
import { formatFullName, type Kind, parseFullName, parseKind } from '../kinds.ts'
import { annotationOf, monikerAnnotations } from '../manifests/annotations.ts'
import { artifactsOf } from '../manifests/artifacts.ts'
import { withoutSecretValues } from '../manifests/secrets.ts'
import { flagsOf, healthViewOf, isStable } from '../manifests/status.ts'
import { toWorkload } from '../objects/workload.ts'
import { type KubeObject, millisecondsOf, ownerOf } from '../objects.ts'
import { describeDeployProblems } from '../operations/deploy.ts'
import { planManifests } from '../operations/plan.ts'
import { toDeployment } from '../operations/prepared.ts'
import type { KubernetesAccount, KubernetesParts } from '../parts.ts'
import type { AccountLists } from './account-lists.ts'
import { loadEvents, withoutManagedFields } from './events.ts'
import { loadCollectedJob, loadHealth } from './health.ts'
import { loadReasons } from './manifest-reasons.ts'
import { answered, type FoundObject, findObject, listObjects } from './object-lookup.ts'
import { readPodMetrics } from './pod-usage.ts'
import type { StaleMark } from './presence.ts'

const planMs = 60_000
/** A plan makes a request for each object, which a busy API server answers late. */
const planGraceMs = 10_000

export function createManifestReads(
  parts: KubernetesParts,
  readsOf: (account: string) => AccountLists | undefined,
): ManifestReads {
  return {
    async find({ account: name, ...wanted }, choice) {
      const account = parts.account(name)
      if (account === undefined) return undefined
      const read = () => findManifest({ parts, account }, wanted, choice)
      const key = JSON.stringify(['manifest', wanted, choice])
      return choice.takesLast
        ? lastOr(account, key, read, (last, unreachable) => last && withMark(last, unreachable))
        : read()
    },
    async ofCluster({ takesLast, ...wanted }) {
      const account = parts.account(wanted.account)
      if (account === undefined) return []
      const read = () => findClusterMembers(account, wanted)
      return takesLast
        ? lastOr(account, JSON.stringify(['cluster', wanted]), read, (last) => last)
        : read()
    },
    async drift({ isReadable, takesLast, ...query }) {
      const accounts = parts
        .accounts()
        .filter(
          ({ settings: { name } }) =>
            (query.account === undefined || name === query.account) && isReadable(name),
        )
      const ignored = await loadIgnored(parts, query.application)
      const found = accounts.map((account) => {
        const namespaces = readsOf(account.settings.name)?.namespacesOf(query.application) ?? []
        const read = () =>
          answered(account, () => loadDrift(account, { namespaces, ignored, ...query }))
        return takesLast
          ? lastOr(account, JSON.stringify(['drift', query]), read, (last, unreachable) =>
              last.map((each) => withMark(each, unreachable)),
            )
          : read()
      })
      return (await Promise.all(found)).flat()
    },
    plan: (description, user) => planDeployment(parts, description, user),
  }
}

function lastOr<T>(
  { lastStates }: KubernetesAccount,
  key: string,
  read: () => Promise<T>,
  mark: (last: T, unreachable: StaleMark) => T,
): Promise<T> {
  return lastStates === undefined ? read() : lastStates.read(key, read, mark)
}

function withMark(last: OwnResource, unreachable: StaleMark): OwnResource {
  return { ...last, view: { ...last.view, unreachable: { ...unreachable } } }
}

/** @throws {PortError} 400 */
async function planDeployment(
  parts: KubernetesParts,
  description: JsonObject,
  user: string,
): Promise<JsonObject[]> {
  const account = parts.account(textOf(description['account']) ?? '')
  if (account === undefined)
    throw new PortError(400, `The account "${String(description['account'])}" does not exist.`)
  const fields = toDeployment(description)
  const problems = describeDeployProblems(fields, account).filter(
    (problem) => problem !== undefined,
  )
  if (problems.length > 0) throw new PortError(400, problems.join(' '), { errors: problems })
  const signal = AbortSignal.timeout(planMs)
  try {
    const run = { id: randomUUID(), user, signal }
    const planning = planManifests({ parts, account, run }, fields)
    const differences = await (account.presence?.wait(planning, planGraceMs) ?? planning)
    return differences.map((difference) => ({ ...difference }))
  } catch (error) {
    if (error instanceof PortError) throw error
    throw new PortError(isPassing(error) ? 503 : 400, (error as Error).message)
  }
}

/** @throws {PortError} 5xx */
async function findManifest(
  { parts, account }: { readonly parts: KubernetesParts; readonly account: KubernetesAccount },
  { location, name }: { readonly location: string; readonly name: string },
  choice: ManifestChoice,
): Promise<OwnResource | undefined> {
  const found =
    (await findObject(account, location, name)) ??
    (choice.includesCollected ? await findCollectedJob(account, location, name) : undefined)
  if (found === undefined) return undefined
  const { object, kind, resource } = found
  const { namespace = '' } = object.metadata
  const health = await answered(account, () => loadHealth({ parts, account }, object, resource))
  const isMeasured = kind.name === 'pod' && account.settings.metrics
  const [events, metrics, reasons] = await answered(account, () =>
    Promise.all([
      choice.includesEvents ? loadEvents(account, object) : [],
      isMeasured ? readPodMetrics(account, namespace, object.metadata.name) : [],
      isStable(health) ? undefined : loadReasons(account, object, kind),
    ]),
  )
  const owned = await loadOwned(account, object)
  const view = {
    account: account.settings.name,
    name: formatFullName(kind, object.metadata.name),
    location: namespace,
    moniker: owned.moniker,
    manifest: toView(found, choice),
    status: flagsOf(health),
    health: healthViewOf(health),
    artifacts: artifactsOf(object),
    events,
    warnings: health.warning === undefined ? [] : [{ type: 'health', message: health.warning }],
    metrics,
    ...(reasons !== undefined && {
      reasons: reasons.map(({ text }) => text),
      cause: reasons.find(({ cause }) => cause !== undefined)?.cause,
      hopeless: reasons.some(({ isHopeless }) => isHopeless),
    }),
  }
  return { ...owned, view }
}

/** One that was deleted after its end, as its events tell it. */
async function findCollectedJob(
  account: KubernetesAccount,
  namespace: string,
  fullName: string,
): Promise<FoundObject | undefined> {
  const parsed = parseFullName(fullName)
  if (parsed === undefined) return undefined
  const kind = account.kinds.kindOf(parsed)
  if (kind.name !== 'job') return undefined
  return answered(account, async () => {
    const resource = await account.api.find(parsed)
    const object = await loadCollectedJob(account, { namespace, name: parsed.name })
    return resource && object && { object, kind, resource }
  })
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

/** Objects whose annotations name the cluster and the application, oldest first. @throws {PortError} 5xx */
async function findClusterMembers(
  account: KubernetesAccount,
  wanted: ManifestCluster,
): Promise<ClusterMember[]> {
  const parsed = parseKind(wanted.kind)
  const found = await listObjects(account, parsed, {
    location: wanted.location,
    metadataOnly: account.kinds.kindOf(parsed).spinnakerKind === 'configs',
  })
  return found
    .filter(({ object }) => isOfCluster(object, wanted))
    .sort(
      (one, other) =>
        createdMs(one.object) - createdMs(other.object) || compareNames(one.object, other.object),
    )
    .map(({ object, kind }) => ({
      view: {
        kind: kind.name,
        namespace: object.metadata.namespace ?? '',
        name: object.metadata.name,
      },
      replicas: toWorkload(object).spec.replicas ?? -1,
    }))
}

function isOfCluster(object: KubeObject, { application, cluster }: ManifestCluster): boolean {
  return (
    ownerOf(object)?.toLowerCase() === application.toLowerCase() &&
    annotationOf(object, monikerAnnotations.cluster) === cluster
  )
}

function createdMs({ metadata }: KubeObject): number {
  return millisecondsOf(metadata.creationTimestamp) ?? 0
}

/** Times have seconds only; versions count up. */
function compareNames(one: KubeObject, other: KubeObject): number {
  return one.metadata.name.localeCompare(other.metadata.name, 'en', { numeric: true })
}
