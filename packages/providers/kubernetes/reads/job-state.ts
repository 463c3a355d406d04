/** State of jobs, and why one has failed. */
import { fieldAt, isObject, type JsonObject, numberOf } from '@fairlead/base/json/values.ts'
import type { Job } from '../../infrastructure/model.ts'
import {
  type Condition,
  type ContainerStatus,
  conditionOf,
  millisecondsOf,
  toPodStatus,
} from '../objects.ts'

export interface JobState {
  readonly state: Job['state']
  readonly completedMs: number | undefined
  /** The reason in the condition `Failed`. */
  readonly reason: string | undefined
  readonly message: string | undefined
}

export function toJobState(job: JsonObject): JobState {
  const { status } = job
  const condition = conditionOf(job, 'Failed')
  const failed = condition?.status === 'True' ? condition : undefined
  const completedMs =
    millisecondsOf(fieldAt(status, 'completionTime')) ?? millisecondsOf(failed?.lastTransitionTime)
  return {
    state: stateOf(job, failed),
    completedMs,
    reason: failed?.reason,
    message: failed?.message,
  }
}

function stateOf({ spec, status }: JsonObject, failed: Condition | undefined): Job['state'] {
  if (!isObject(status)) return 'Running'
  const completions = numberOf(fieldAt(spec, 'completions')) ?? 1
  if ((numberOf(status['succeeded']) ?? 0) >= completions) return 'Succeeded'
  return failed === undefined ? 'Running' : 'Failed'
}

export interface JobPod {
  readonly name: string
  readonly status: JsonObject
}

interface Ending {
  readonly pod: string
  readonly container: string
  readonly state: NonNullable<ContainerStatus['state']['waiting']>
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
  const { initContainerStatuses, containerStatuses } = toPodStatus(status)
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
