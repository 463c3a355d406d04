/** Whether an object is stable, paused, available or failed (docs/contracts/kubernetes.md#status). */
import { builtInKind, kindOfManifest } from '../kinds.ts'
import { type PodStatus, toPod } from '../objects/pod.ts'
import { toAutoscaler, toWorkload, type Workload } from '../objects/workload.ts'
import type { KubeObject } from '../objects.ts'

interface StatusFlag {
  readonly state: boolean
  readonly message: string | null
}

interface ManifestStatus {
  readonly stable: StatusFlag
  readonly paused: StatusFlag
  readonly available: StatusFlag
  readonly failed: StatusFlag
}

const on: StatusFlag = { state: true, message: null }
const off: StatusFlag = { state: false, message: null }
const stable: ManifestStatus = { stable: on, paused: off, available: on, failed: off }

const kindsOfApps: ReadonlySet<string> = new Set(
  'deployment replicaSet statefulSet daemonSet'.split(' '),
)

const rules: Readonly<Record<string, (workload: Workload, object: KubeObject) => ManifestStatus>> =
  {
    deployment: ofDeployment,
    replicaSet: ofReplicaSet,
    statefulSet: ofStatefulSet,
    daemonSet: ofDaemonSet,
    job: ofJob,
    pod: (_, object) => ofPod(toPod(object).status),
    horizontalpodautoscaler: (_, object) => ofAutoscaler(object),
    cronJob: () => stable,
  }

/** @throws {Error} for a workload of an outdated API version, whose status cannot be read */
export function statusOf(object: KubeObject): ManifestStatus {
  const name = builtInKind(kindOfManifest(object))?.name ?? ''
  if (kindsOfApps.has(name) && object.apiVersion !== 'apps/v1') {
    throw new Error(
      `The status of ${name} ${object.metadata.name} cannot be read in the API version ${object.apiVersion}; use apps/v1.`,
    )
  }
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
  if (rule === undefined) return stable
  const workload = toWorkload(object)
  if (name === 'statefulSet' && equals(workload.spec.updateStrategy.type, 'OnDelete')) return stable
  return workload.hasStatus
    ? rule(workload, object)
    : unavailable('No status has been reported yet.')
}

function no(message: string): StatusFlag {
  return { state: false, message }
}

function unstable(message: string): ManifestStatus {
  return { ...stable, stable: no(message) }
}

function unavailable(message: string): ManifestStatus {
  return { ...unstable(message), available: no(message) }
}

function equals(value: string | undefined, word: string): boolean {
  return value?.toLowerCase() === word.toLowerCase()
}

function isObserved({ metadata, status: { observedGeneration } }: Workload): boolean {
  return observedGeneration !== undefined && observedGeneration === metadata.generation
}

const notObserved = 'Waiting until the controller has noticed the change.'

function ofDeployment(deployment: Workload): ManifestStatus {
  const { spec, status } = deployment
  const { conditions } = status
  const paused = conditions.find(({ reason }) => equals(reason, 'DeploymentPaused'))
  const pausedFlag =
    paused !== undefined || spec.paused
      ? { state: true, message: paused?.message ?? 'The deployment is paused.' }
      : off
  if (!isObserved(deployment))
    return { ...unstable(notObserved), ...(spec.paused && { paused: pausedFlag }) }
  const missing = conditions.find(
    (each) => equals(each.type, 'Available') && equals(each.status, 'False'),
  )
  const late = conditions.find(
    ({ type, reason }) => equals(type, 'Progressing') && equals(reason, 'ProgressDeadlineExceeded'),
  )
  const problem = missing && (missing.message ?? 'The deployment is not available.')
  const waiting = waitingDeployment(deployment) ?? problem
  return {
    stable: waiting === undefined ? on : no(waiting),
    paused: pausedFlag,
    available: problem === undefined ? on : no(problem),
    failed:
      late === undefined
        ? off
        : {
            state: true,
            message: late.message ?? 'The deployment exceeded its progress deadline.',
          },
  }
}

function waitingDeployment({
  spec: { replicas: wanted = 0 },
  status,
}: Workload): string | undefined {
  const {
    updatedReplicas: updated = 0,
    replicas: all,
    availableReplicas: available,
    readyReplicas: ready,
  } = status
  if (updated < wanted) return `Waiting for all replicas to be updated: ${updated} of ${wanted}.`
  if (all > updated) return `Waiting for old replicas to finish termination: ${all - updated}.`
  if (available < wanted)
    return `Waiting for all replicas to be available: ${available} of ${wanted}.`
  return ready < wanted ? `Waiting for all replicas to be ready: ${ready} of ${wanted}.` : undefined
}

function ofReplicaSet(replicaSet: Workload): ManifestStatus {
  const { replicas: wanted = 0 } = replicaSet.spec
  const { fullyLabeledReplicas, readyReplicas, availableReplicas } = replicaSet.status
  const counters = {
    'fully-labeled': fullyLabeledReplicas,
    ready: readyReplicas,
    available: availableReplicas,
  }
  for (const [word, there] of Object.entries(counters)) {
    if (wanted > there)
      return unavailable(`Waiting for all replicas to be ${word}: ${there} of ${wanted}.`)
  }
  return isObserved(replicaSet) ? stable : unstable(notObserved)
}

function ofStatefulSet(set: Workload): ManifestStatus {
  if (!isObserved(set)) return unstable(notObserved)
  const { replicas: wanted = 0, updateStrategy } = set.spec
  const {
    replicas,
    readyReplicas,
    updatedReplicas,
    currentReplicas,
    currentRevision,
    updateRevision,
  } = set.status
  if (replicas < wanted)
    return unstable(`Waiting for all replicas to be created: ${replicas} of ${wanted}.`)
  if (readyReplicas < wanted)
    return unstable(`Waiting for all replicas to be ready: ${readyReplicas} of ${wanted}.`)
  const { type, rollingUpdate } = updateStrategy
  if (
    equals(type, 'RollingUpdate') &&
    rollingUpdate !== undefined &&
    updatedReplicas !== undefined
  ) {
    const goal = wanted - rollingUpdate.partition
    if (updatedReplicas >= goal) return stable
    return unstable(`Waiting for the partitioned rollout to finish: ${updatedReplicas} of ${goal}.`)
  }
  if (currentReplicas < wanted)
    return unstable(`Waiting for all replicas to be updated: ${currentReplicas} of ${wanted}.`)
  return currentRevision === updateRevision
    ? stable
    : unstable('Waiting for the updated revision to match the current one.')
}

function ofDaemonSet(set: Workload): ManifestStatus {
  if (!isObserved(set)) return unstable(notObserved)
  if (!equals(set.spec.updateStrategy.type, 'RollingUpdate')) return stable
  const { desiredNumberScheduled: wanted = 0, ...counts } = set.status
  const counters = {
    scheduled: counts.currentNumberScheduled,
    updated: counts.updatedNumberScheduled,
    available: counts.numberAvailable,
    ready: counts.numberReady,
  }
  for (const [word, there] of Object.entries(counters)) {
    if (wanted > there)
      return unstable(`Waiting for all pods to be ${word}: ${there} of ${wanted}.`)
  }
  return stable
}

function ofJob({
  spec: { completions: wanted },
  status: { succeeded, conditions },
}: Workload): ManifestStatus {
  if (succeeded >= wanted) return stable
  const failed = conditions.find(
    ({ type, status }) => equals(type, 'Failed') && equals(status, 'True'),
  )
  if (failed === undefined)
    return unstable(`Waiting for the job to complete: ${succeeded} of ${wanted}.`)
  return {
    ...stable,
    failed: { state: true, message: failed.message ?? failed.reason ?? 'The job failed.' },
  }
}

function ofPod({ phase, message }: PodStatus): ManifestStatus {
  if (phase === undefined) return unavailable('No phase has been reported yet.')
  if (!['pending', 'failed', 'unknown'].includes(phase.toLowerCase())) return stable
  return unavailable(message ?? `The phase of the pod is ${phase}.`)
}

function ofAutoscaler(object: KubeObject): ManifestStatus {
  const { desiredReplicas: wanted, currentReplicas: current } = toAutoscaler(object).status
  return wanted === current
    ? stable
    : unstable(`Waiting for the autoscaler: ${current} of ${wanted} replicas.`)
}
