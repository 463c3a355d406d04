/** State of jobs, and why one has failed. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { noMoniker } from '@fairlead/base/names/moniker.ts'
import type { Job } from '../../infrastructure/model.ts'
import type { ContainerCause, PodStatus } from '../objects/pod.ts'
import { toWorkload, type Workload } from '../objects/workload.ts'
import { conditionIn, type KubeObject, millisecondsOf } from '../objects.ts'

export interface JobState {
  readonly state: Job['state']
  readonly completedMs: number | undefined
  /** The reason in the condition `Failed`. */
  readonly reason: string | undefined
  readonly message: string | undefined
}

export function toJobState({ status: { conditions, completionTime } }: Workload): JobState {
  const found = (type: string) => {
    const condition = conditionIn(conditions, type)
    return condition?.status === 'True' ? condition : undefined
  }
  const failed = found('Failed')
  return {
    state: found('Complete') ? 'Succeeded' : failed === undefined ? 'Running' : 'Failed',
    completedMs: millisecondsOf(completionTime) ?? millisecondsOf(failed?.lastTransitionTime),
    reason: failed?.reason,
    message: failed?.message,
  }
}

/** A job that is gone, as its events tell its end. */
export function toCollectedJob(
  object: KubeObject,
  { application, account }: { readonly application: string; readonly account: string },
): Job {
  const job = toJobState(toWorkload(object))
  const { name, namespace: location = '' } = object.metadata
  const { state, completedMs, reason, message } = job
  return {
    provider: 'kubernetes',
    id: `job ${name}`,
    name,
    account,
    location,
    moniker: { ...noMoniker, app: application },
    coOwners: [],
    state,
    createdMs: completedMs ?? 0,
    completedMs,
    completionDetails: completionDetailsOf(undefined, job),
    details: state === 'Failed' ? { reason, message } : {},
  }
}

export interface JobPod {
  readonly name: string
  readonly status: PodStatus
  /** The status as clients see it. */
  readonly asGiven: JsonObject
}

interface Ending {
  readonly pod: string
  readonly container: string
  readonly state: ContainerCause
  readonly isWaiting: boolean
}

/** The first container that ended with an error, else the first that waits. */
export function describeFailure(pods: readonly JobPod[]): string | undefined {
  const endings = pods.flatMap(endingsOf)
  const ending = endings.find(({ state, isWaiting }) => !isWaiting && state.exitCode !== 0)
  const found = ending ?? endings.find(({ isWaiting }) => isWaiting)
  if (found === undefined) return undefined
  const { pod, container, state, isWaiting } = found
  const what = isWaiting ? 'is waiting' : `exited with code: ${state.exitCode}`
  const { reason, message } = state
  return [
    `Pod: '${pod}'. Container: '${container}' ${what}.`,
    ...(reason === undefined ? [] : [`Status: ${reason}.`]),
    ...(message === undefined ? [] : [`Message: ${message}`]),
  ].join(' ')
}

function endingsOf({ name: pod, status }: JobPod): Ending[] {
  const { initContainerStatuses, containerStatuses } = status
  return [...initContainerStatuses, ...containerStatuses].flatMap(
    ({ name, state: { waiting, terminated } }) => {
      const state = terminated ?? waiting
      return state === undefined
        ? []
        : { pod, container: name, state, isWaiting: state === waiting }
    },
  )
}

/** The last container of the pod that ended, as texts. */
export function completionDetailsOf(
  pod: JobPod | undefined,
  { reason, message }: JobState,
): JsonObject {
  const ended = pod === undefined ? [] : endingsOf(pod).filter(({ isWaiting }) => !isWaiting)
  const finishedMs = ({ state }: Ending) => millisecondsOf(state.finishedAt) ?? 0
  const last = ended.toSorted((one, other) => finishedMs(one) - finishedMs(other)).at(-1)?.state
  return {
    exitCode: String(last?.exitCode ?? ''),
    signal: String(last?.signal ?? ''),
    message: last?.message ?? message ?? '',
    reason: reason ?? last?.reason ?? '',
  }
}
