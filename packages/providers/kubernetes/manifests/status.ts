/** Whether an object is stable, paused, available or failed (docs/contracts/kubernetes.md#status). */
import { fieldAt, fieldOf, isObject, type JsonObject, numberOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { builtInKind, kindOfManifest } from '../kinds.ts'
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

const kindsOfApps: ReadonlySet<string> = new Set(['deployment', 'replicaSet', 'statefulSet', 'daemonSet'])

const rules: Readonly<Record<string, (object: KubeObject) => ManifestStatus>> = {
  deployment: reported(ofDeployment),
  replicaSet: reported(ofReplicaSet),
  statefulSet: (object) =>
    equals(fieldAt(object, 'spec', 'updateStrategy', 'type'), 'OnDelete') ? stable : reported(ofStatefulSet)(object),
  daemonSet: reported(ofDaemonSet),
  job: reported(ofJob),
  pod: reported(ofPod),
  horizontalpodautoscaler: reported(ofAutoscaler),
  cronJob: reported(() => stable),
}

/** @throws {Error} for a workload of an outdated API version, whose status cannot be read */
export function statusOf(object: KubeObject): ManifestStatus {
  const name = builtInKind(kindOfManifest(object))?.name ?? ''
  if (kindsOfApps.has(name) && object.apiVersion !== 'apps/v1') {
    throw new Error(
      `The status of ${name} ${object.metadata.name} cannot be read in the API version ${object.apiVersion}; use apps/v1.`,
    )
  }
  return Object.hasOwn(rules, name) ? rules[name]!(object) : stable
}

function reported(rule: (object: KubeObject) => ManifestStatus): (object: KubeObject) => ManifestStatus {
  return (object) => {
    if (isObject(object['status'])) return rule(object)
    const message = 'No status has been reported yet.'
    return { ...unstable(message), available: no(message) }
  }
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

function count(object: KubeObject, ...path: readonly string[]): number {
  return numberOf(fieldAt(object, ...path)) ?? 0
}

function equals(value: unknown, word: string): boolean {
  return textOf(value)?.toLowerCase() === word.toLowerCase()
}

function isObserved(object: KubeObject): boolean {
  const observed = numberOf(fieldAt(object, 'status', 'observedGeneration'))
  return observed !== undefined && observed === numberOf(object.metadata['generation'])
}

const notObserved = 'Waiting until the controller has noticed the change.'

interface Condition {
  readonly type: string | undefined
  readonly status: string | undefined
  readonly reason: string | undefined
  readonly message: string | undefined
}

function conditionsOf(object: KubeObject): readonly Condition[] {
  return objectsOf(fieldAt(object, 'status', 'conditions')).map((condition: JsonObject) => ({
    type: textOf(fieldOf(condition, 'type')),
    status: textOf(fieldOf(condition, 'status')),
    reason: textOf(fieldOf(condition, 'reason')),
    message: textOf(fieldOf(condition, 'message')),
  }))
}

function ofDeployment(object: KubeObject): ManifestStatus {
  const conditions = conditionsOf(object)
  const paused = conditions.find(({ reason }) => equals(reason, 'DeploymentPaused'))
  const pausedFlag =
    paused !== undefined || fieldAt(object, 'spec', 'paused') === true
      ? { state: true, message: paused?.message ?? 'The deployment is paused.' }
      : off
  if (!isObserved(object)) {
    return { ...unstable(notObserved), ...(fieldAt(object, 'spec', 'paused') === true && { paused: pausedFlag }) }
  }
  const missing = conditions.find(({ type, status }) => equals(type, 'Available') && equals(status, 'False'))
  const late = conditions.find(({ type, reason }) => equals(type, 'Progressing') && equals(reason, 'ProgressDeadlineExceeded'))
  const waiting = waitingDeployment(object) ?? (missing && (missing.message ?? 'The deployment is not available.'))
  return {
    stable: waiting === undefined ? on : no(waiting),
    paused: pausedFlag,
    available: missing === undefined ? on : no(missing.message ?? 'The deployment is not available.'),
    failed: late === undefined ? off : { state: true, message: late.message ?? 'The deployment exceeded its progress deadline.' },
  }
}

function waitingDeployment(object: KubeObject): string | undefined {
  const wanted = count(object, 'spec', 'replicas')
  const [updated, all] = [count(object, 'status', 'updatedReplicas'), count(object, 'status', 'replicas')]
  if (updated < wanted) return `Waiting for all replicas to be updated: ${updated} of ${wanted}.`
  if (all > updated) return `Waiting for old replicas to finish termination: ${all - updated}.`
  const available = count(object, 'status', 'availableReplicas')
  if (available < wanted) return `Waiting for all replicas to be available: ${available} of ${wanted}.`
  const ready = count(object, 'status', 'readyReplicas')
  return ready < wanted ? `Waiting for all replicas to be ready: ${ready} of ${wanted}.` : undefined
}

function ofReplicaSet(object: KubeObject): ManifestStatus {
  const wanted = count(object, 'spec', 'replicas')
  const counters = [
    ['fullyLabeledReplicas', 'fully-labeled'],
    ['readyReplicas', 'ready'],
    ['availableReplicas', 'available'],
  ] as const
  for (const [field, word] of counters) {
    const there = count(object, 'status', field)
    if (wanted > there) return unavailable(`Waiting for all replicas to be ${word}: ${there} of ${wanted}.`)
  }
  return isObserved(object) ? stable : unstable(notObserved)
}

function ofStatefulSet(object: KubeObject): ManifestStatus {
  if (!isObserved(object)) return unstable(notObserved)
  const wanted = count(object, 'spec', 'replicas')
  const [all, ready] = [count(object, 'status', 'replicas'), count(object, 'status', 'readyReplicas')]
  if (all < wanted) return unstable(`Waiting for all replicas to be created: ${all} of ${wanted}.`)
  if (ready < wanted) return unstable(`Waiting for all replicas to be ready: ${ready} of ${wanted}.`)
  const strategy = fieldAt(object, 'spec', 'updateStrategy')
  const updated = numberOf(fieldAt(object, 'status', 'updatedReplicas'))
  if (
    equals(fieldOf(strategy, 'type'), 'RollingUpdate') &&
    isObject(fieldOf(strategy, 'rollingUpdate')) &&
    updated !== undefined
  ) {
    const goal = wanted - (numberOf(fieldAt(strategy, 'rollingUpdate', 'partition')) ?? 0)
    return updated < goal ? unstable(`Waiting for the partitioned rollout to finish: ${updated} of ${goal}.`) : stable
  }
  const current = count(object, 'status', 'currentReplicas')
  if (current < wanted) return unstable(`Waiting for all replicas to be updated: ${current} of ${wanted}.`)
  return fieldAt(object, 'status', 'currentRevision') === fieldAt(object, 'status', 'updateRevision')
    ? stable
    : unstable('Waiting for the updated revision to match the current one.')
}

function ofDaemonSet(object: KubeObject): ManifestStatus {
  if (!isObserved(object)) return unstable(notObserved)
  if (!equals(fieldAt(object, 'spec', 'updateStrategy', 'type'), 'RollingUpdate')) return stable
  const wanted = count(object, 'status', 'desiredNumberScheduled')
  const counters = [
    ['currentNumberScheduled', 'scheduled'],
    ['updatedNumberScheduled', 'updated'],
    ['numberAvailable', 'available'],
    ['numberReady', 'ready'],
  ] as const
  for (const [field, word] of counters) {
    const there = count(object, 'status', field)
    if (wanted > there) return unstable(`Waiting for all pods to be ${word}: ${there} of ${wanted}.`)
  }
  return stable
}

function ofJob(object: KubeObject): ManifestStatus {
  const wanted = numberOf(fieldAt(object, 'spec', 'completions')) ?? 1
  const succeeded = count(object, 'status', 'succeeded')
  if (succeeded >= wanted) return stable
  const failed = conditionsOf(object).find(({ type, status }) => equals(type, 'Failed') && equals(status, 'True'))
  if (failed === undefined) return unstable(`Waiting for the job to complete: ${succeeded} of ${wanted}.`)
  return { ...stable, failed: { state: true, message: failed.message ?? failed.reason ?? 'The job failed.' } }
}

function ofPod(object: KubeObject): ManifestStatus {
  const phase = textOf(fieldAt(object, 'status', 'phase'))
  if (phase === undefined) return unavailable('No phase has been reported yet.')
  const isWaiting = ['pending', 'failed', 'unknown'].includes(phase.toLowerCase())
  if (!isWaiting) return stable
  return unavailable(textOf(fieldAt(object, 'status', 'message')) ?? `The phase of the pod is ${phase}.`)
}

function ofAutoscaler(object: KubeObject): ManifestStatus {
  const [wanted, current] = [count(object, 'status', 'desiredReplicas'), count(object, 'status', 'currentReplicas')]
  return wanted === current ? stable : unstable(`Waiting for the autoscaler: ${current} of ${wanted} replicas.`)
}
