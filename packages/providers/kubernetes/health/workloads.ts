/** States of pods, and of the workloads that make them. */
import { type ContainerStatus, toPod } from '../objects/pod.ts'
import { toCronJob, toWorkload, type Workload } from '../objects/workload.ts'
import {
  awaited,
  byCondition,
  ended,
  type HealthContext,
  type HealthOutcome,
  type HealthSubject,
  healthConditionOf,
  outcome,
  trueCondition,
} from './result.ts'

const serving = { isAvailable: true } as const

function pods(count: number): string {
  return count === 1 ? '1 pod' : `${count} pods`
}

/** The first counter that is below the goal. */
function shortOf(goal: number, counters: Readonly<Record<string, number>>): string | undefined {
  const short = Object.entries(counters).find(([, count]) => count < goal)
  return short && `${short[1]} of ${pods(goal)} ${goal === 1 ? 'is' : 'are'} ${short[0]}.`
}

function surplus(count: number, of: string): string | undefined {
  return count > 0
    ? `${count} ${of} ${count === 1 ? 'pod is' : 'pods are'} terminating.`
    : undefined
}

/** What keeps the API server from creating pods. */
function refusal(subject: HealthSubject): HealthOutcome | undefined {
  const failure = trueCondition(subject, 'ReplicaFailure')
  return failure && byCondition('progressing', failure, { isTrouble: true })
}

function ready(count: number, more: string | undefined = undefined): HealthOutcome {
  const sentence = `${count === 0 ? 'No pods are wanted' : `${pods(count)} ${count === 1 ? 'is' : 'are'} ready`}.`
  return outcome('healthy', more === undefined ? sentence : `${sentence} ${more}`, {
    warning: more,
  })
}

export function deployment(subject: HealthSubject): HealthOutcome {
  const { spec, status } = toWorkload(subject.object)
  const late = healthConditionOf(subject, 'Progressing')
  if (late?.reason === 'ProgressDeadlineExceeded')
    return byCondition('failed', late, { final: true, isAvailable: isServing(subject) })
  if (spec.paused || late?.reason === 'DeploymentPaused')
    return outcome('suspended', 'The deployment is paused.', { warning: 'It is paused.' })
  const wanted = spec.replicas ?? 1
  const { updatedReplicas: updated = 0, replicas, availableReplicas, readyReplicas } = status
  const missing = healthConditionOf(subject, 'Available')
  const waiting =
    shortOf(wanted, { created: replicas, updated }) ??
    surplus(replicas - Math.max(updated, wanted), 'old') ??
    shortOf(Math.min(updated, wanted), { available: availableReplicas }) ??
    shortOf(wanted, { ready: readyReplicas })
  if (waiting !== undefined)
    return refusal(subject) ?? outcome('progressing', waiting, { isAvailable: isServing(subject) })
  if (missing?.status === 'False' && wanted > 0) return byCondition('progressing', missing)
  const isDone = late?.status === 'True' && late.reason === 'NewReplicaSetAvailable'
  return late !== undefined && spec.hasDeadline && !isDone && wanted > 0
    ? byCondition('progressing', late, serving)
    : ready(wanted)
}

function isServing(subject: HealthSubject): boolean {
  return healthConditionOf(subject, 'Available')?.status !== 'False'
}

export function replicaSet(subject: HealthSubject): HealthOutcome {
  const { spec, status } = toWorkload(subject.object)
  const wanted = spec.replicas ?? 1
  const waiting = shortOf(wanted, {
    labelled: status.fullyLabeledReplicas,
    ready: status.readyReplicas,
    available: status.availableReplicas,
  })
  const refused = refusal(subject)
  if (refused !== undefined) return refused
  if (waiting !== undefined) return outcome('progressing', waiting)
  const rest = surplus(status.replicas - wanted, 'old')
  return rest === undefined ? ready(wanted) : outcome('progressing', rest, serving)
}

export function statefulSet(subject: HealthSubject): HealthOutcome {
  const { spec, status } = toWorkload(subject.object)
  const { replicas: wanted = 1, updateStrategy } = spec
  const { replicas, readyReplicas, currentRevision, updateRevision } = status
  const updated = status.updatedReplicas ?? 0
  const isNew = currentRevision === updateRevision
  const waiting =
    shortOf(wanted, { created: replicas, ready: readyReplicas }) ??
    surplus(replicas - wanted, 'surplus')
  if (waiting !== undefined) return outcome('progressing', blocked(waiting, isNew), serving)
  if (updateStrategy.type?.toLowerCase() === 'ondelete')
    return ready(wanted, isNew ? undefined : revisionNote(updated, wanted))
  const partition = updateStrategy.rollingUpdate?.partition ?? 0
  const goal = Math.max(0, wanted - partition)
  if (partition > 0)
    return updated >= goal
      ? ready(
          wanted,
          `${updated} of ${pods(wanted)} have the new revision; the partition is ${partition}.`,
        )
      : outcome('progressing', `${updated} of ${pods(goal)} are updated.`, serving)
  const short =
    shortOf(wanted, { current: status.currentReplicas }) ??
    (spec.minReadySeconds === 0
      ? undefined
      : shortOf(wanted, { available: status.availableReplicas }))
  if (short !== undefined) return outcome('progressing', short, serving)
  return isNew
    ? ready(wanted)
    : outcome('progressing', `${updated} of ${pods(wanted)} have the new revision.`, serving)
}

function blocked(waiting: string, isNew: boolean): string {
  return isNew ? waiting : `${waiting} An old pod that is not ready blocks the rollout.`
}

function revisionNote(updated: number, wanted: number): string {
  return `${updated} of ${pods(wanted)} have the new revision; delete pods to update them.`
}

export function daemonSet(subject: HealthSubject): HealthOutcome {
  const { spec, status } = toWorkload(subject.object)
  const { desiredNumberScheduled: wanted, updatedNumberScheduled: updated } = status
  if (wanted === undefined) return outcome('progressing', 'No status has been reported yet.')
  if (wanted === 0) return outcome('healthy', 'No node matches.', { warning: 'No node matches.' })
  const { currentNumberScheduled, numberAvailable, numberReady } = status
  const waitsForDeletions = spec.updateStrategy.type?.toLowerCase() === 'ondelete'
  const short = shortOf(wanted, {
    scheduled: currentNumberScheduled,
    ...(!waitsForDeletions && { updated }),
    available: numberAvailable,
    ready: numberReady,
  })
  if (short !== undefined) return outcome('progressing', short, serving)
  return ready(
    wanted,
    waitsForDeletions && updated < wanted ? revisionNote(updated, wanted) : undefined,
  )
}

const ownJobs = 'kubernetes.io/job-controller'

export function job(subject: HealthSubject, context: HealthContext): HealthOutcome {
  const { spec, status } = toWorkload(subject.object)
  const { succeeded, active, failed } = status
  const complete = trueCondition(subject, 'Complete')
  const { completions: count, backoffLimit: limit, managedBy: manager } = spec
  const progress =
    count === undefined
      ? `${succeeded} succeeded (work queue)`
      : `${succeeded} of ${count} succeeded`
  if (complete !== undefined)
    return outcome('done', `${progress}.`, { reason: complete.reason, since: complete.since })
  const failure = trueCondition(subject, 'Failed')
  if (failure !== undefined) {
    const { failedIndexes: indexes } = status
    const { sentence, ...found } = byCondition('failed', failure, { final: true, ...serving })
    return { ...found, sentence: indexes ? `${sentence} Failed indexes: ${indexes}.` : sentence }
  }
  const failing = trueCondition(subject, 'FailureTarget')
  if (failing !== undefined) {
    const { sentence, ...found } = byCondition('progressing', failing, serving)
    return { ...found, sentence: `The job is failing. ${sentence}` }
  }
  if (trueCondition(subject, 'SuccessCriteriaMet') !== undefined)
    return outcome('progressing', 'Its success criteria are met; the last pods end.', serving)
  if (spec.suspend)
    return active > 0
      ? outcome('progressing', `The job is being suspended; ${pods(active)} still run.`, serving)
      : outcome('suspended', 'The job is suspended.', { warning: 'The job is suspended.' })
  if (spec.parallelism === 0 && active === 0)
    return outcome('suspended', 'The parallelism of the job is 0.', {
      warning: 'The parallelism of the job is 0, so that no pod runs.',
    })
  if (manager !== undefined && manager !== ownJobs && Object.keys(subject.status).length === 0)
    return awaited(subject, context, {
      limitMs: context.unattendedMs,
      waits: `The controller ${manager} has not reported a status yet.`,
      nobody: `The job is managed by ${manager}, which reports no status.`,
    })
  return outcome('progressing', `${progress}, ${failed} failed (limit ${limit}).`, serving)
}

export function cronJob(subject: HealthSubject): HealthOutcome {
  const { spec, status } = toCronJob(subject.object)
  if (spec.suspend)
    return outcome('suspended', 'The cron job is suspended.', {
      warning: 'The cron job is suspended.',
    })
  const { lastScheduleTime: last, lastSuccessfulTime: success } = status
  if (last === undefined)
    return outcome('healthy', `It has not run yet; its schedule is ${spec.schedule}.`)
  if (status.active.length > 0) return outcome('healthy', 'It is running.')
  if (success !== undefined && Date.parse(success) >= Date.parse(last))
    return outcome('healthy', `The last run, of ${last}, succeeded.`)
  const warning = `The last run, of ${last}, failed.`
  return outcome('healthy', warning, { warning, reason: 'LastRunFailed' })
}

const failingWaits =
  /^(?:Err.*|.*(?:BackOff|Error)|InvalidImageName|RegistryUnavailable|SignatureValidationFailed)$/

export function pod(subject: HealthSubject): HealthOutcome {
  const { spec, status } = toPod(subject.object)
  const { phase, reason, message } = status
  if (phase === 'Succeeded') return outcome('done', 'All containers ended with success.')
  if (phase === 'Failed') {
    const why = [reason, message].filter((text) => text !== undefined).join(': ')
    const sentence = why === '' ? failedContainer(subject) : ended(`The pod failed: ${why}`)
    return outcome('failed', sentence, { final: true, reason })
  }
  if (phase === undefined) return outcome('progressing', 'No phase has been reported yet.')
  const gates = spec.schedulingGates.map(({ name }) => name)
  if (gates.length > 0 && spec.nodeName === undefined)
    return outcome('suspended', `It waits for the scheduling gate ${gates.join(', ')}.`, {
      warning: `It is not scheduled before the gate ${gates.join(', ')} is removed.`,
    })
  return (
    waitingContainer(subject) ??
    unscheduled(subject) ??
    (phase === 'Running' ? running(subject) : starting(subject, phase))
  )
}

function failedContainer({ object }: HealthSubject): string {
  const { initContainerStatuses, containerStatuses } = toPod(object).status
  for (const { name, state } of [...initContainerStatuses, ...containerStatuses]) {
    const { exitCode, reason = 'Error' } = state.terminated ?? {}
    if (exitCode !== undefined && exitCode !== 0)
      return `The container ${name} ended with ${reason}, exit code ${exitCode}.`
  }
  return 'The phase of the pod is Failed.'
}

/** A container that cannot start or goes on crashing. */
function waitingContainer({ object }: HealthSubject): HealthOutcome | undefined {
  const { initContainerStatuses, containerStatuses } = toPod(object).status
  const bad = [...initContainerStatuses, ...containerStatuses].find(isFailing)
  const waiting = bad?.state.waiting
  if (bad === undefined || waiting === undefined) return undefined
  const { reason, message } = waiting
  const end = bad.lastState.terminated
  const why = end === undefined ? message : `the last run ended with exit code ${end.exitCode}`
  const sentence = `${bad.name}: ${reason} on ${bad.image}${why === undefined ? '' : `: ${why}`}`
  return outcome('failed', ended(sentence), { reason })
}

function isFailing({ state }: ContainerStatus): boolean {
  return failingWaits.test(state.waiting?.reason ?? '')
}

function unscheduled(subject: HealthSubject): HealthOutcome | undefined {
  const scheduled = healthConditionOf(subject, 'PodScheduled')
  return scheduled?.status === 'False' && subject.spec['nodeName'] === undefined
    ? byCondition('progressing', scheduled, { isTrouble: true })
    : undefined
}

function running(subject: HealthSubject): HealthOutcome {
  const { spec, status } = toPod(subject.object)
  const { restartPolicy: policy } = spec
  const hasStarted = (name: string) =>
    status.initContainerStatuses.some((each) => each.name === name && each.started)
  // Init containers that go on running.
  const sidecar = spec.initContainers
    .filter(({ restartPolicy }) => restartPolicy === 'Always')
    .map(({ name = '' }) => name)
    .find((name) => !hasStarted(name))
  if (sidecar !== undefined)
    return outcome('progressing', `The sidecar ${sidecar} has not started.`)
  const condition = healthConditionOf(subject, 'Ready')
  const isReady = condition?.status === 'True'
  if (isReady && policy === 'Always') return outcome('healthy', 'The pod is ready.')
  if (isReady) return outcome('progressing', 'The pod runs until its containers end.', serving)
  const gate = spec.readinessGates
    .map(({ conditionType }) => conditionType)
    .find((type) => healthConditionOf(subject, type)?.status !== 'True')
  if (gate !== undefined)
    return outcome('progressing', `The readiness gate ${gate} is not fulfilled.`)
  const disrupted = trueCondition(subject, 'DisruptionTarget')
  if (disrupted !== undefined) return byCondition('progressing', disrupted)
  return condition === undefined
    ? outcome('progressing', 'It runs and has not reported that it is ready.')
    : byCondition('progressing', condition)
}

function starting(subject: HealthSubject, phase: string): HealthOutcome {
  const inits = toPod(subject.object).status.initContainerStatuses
  const done = inits.filter(({ state }) => state.terminated?.exitCode === 0).length
  if (inits.length > done && inits.length > 0)
    return outcome('progressing', `Init container ${done + 1} of ${inits.length} runs.`)
  return outcome('progressing', `The phase of the pod is ${phase}.`)
}

/** A rollout of a Deployment's shape, as Argo Rollouts reports it where it names no phase. */
export function likeDeployment(subject: HealthSubject): HealthOutcome | undefined {
  const workload: Workload = toWorkload(subject.object)
  if (!workload.hasStatus) return undefined
  const { stableRS, currentPodHash } = subject.status
  return stableRS !== undefined && stableRS !== currentPodHash
    ? outcome(
        'progressing',
        `The new revision ${String(currentPodHash)} is not the stable one yet.`,
        serving,
      )
    : deployment(subject)
}
