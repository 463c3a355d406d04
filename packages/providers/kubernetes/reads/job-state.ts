/** State of jobs, and why one has failed. */
import { fieldAt, isObject, isTrue, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { Job } from '../../infrastructure/model.ts'
import { conditionOf, millisecondsOf } from '../objects.ts'

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
  const failed = isTrue(condition?.['status']) ? condition : undefined
  const completedMs = millisecondsOf(fieldAt(status, 'completionTime')) ?? millisecondsOf(failed?.['lastTransitionTime'])
  return { state: stateOf(job, failed), completedMs, reason: textOf(failed?.['reason']), message: textOf(failed?.['message']) }
}

function stateOf({ spec, status }: JsonObject, failed: JsonObject | undefined): Job['state'] {
  if (!isObject(status)) return 'Running'
  const completions = numberOf(fieldAt(spec, 'completions')) ?? 1
  if ((numberOf(status['succeeded']) ?? 0) >= completions) return 'Succeeded'
  return failed === undefined ? 'Running' : 'Failed'
}

/** A pod of a job. */
export interface JobPod {
  readonly name: string
  readonly status: JsonObject
}

interface Ending {
  readonly pod: string
  readonly container: string
  readonly state: JsonObject
  readonly isWaiting: boolean
}

/** The first container that ended with an error, else the first that waits. */
export function describeFailure(pods: readonly JobPod[]): string | undefined {
  const endings = pods.flatMap(endingsOf)
  const ending = endings.find(({ state, isWaiting }) => !isWaiting && numberOf(state['exitCode']) !== 0)
  const found = ending ?? endings.find(({ isWaiting }) => isWaiting)
  if (found === undefined) return undefined
  const { pod, container, state, isWaiting } = found
  const what = isWaiting ? 'is waiting' : `exited with code: ${String(state['exitCode'])}`
  const reason = textOf(state['reason'])
  const message = textOf(state['message'])
  return [
    `Pod: '${pod}'. Container: '${container}' ${what}.`,
    ...(reason === undefined ? [] : [`Status: ${reason}.`]),
    ...(message === undefined ? [] : [`Message: ${message}`]),
  ].join(' ')
}

function endingsOf({ name: pod, status }: JobPod): Ending[] {
  const statuses = [...objectsOf(status['initContainerStatuses']), ...objectsOf(status['containerStatuses'])]
  return statuses.flatMap(({ name, state }) => {
    const { waiting, terminated } = objectOf(state)
    const found = terminated ?? waiting
    return isObject(found) ? { pod, container: String(name), state: found, isWaiting: found === waiting } : []
  })
}

/** The last container of the pod that ended, as texts. */
export function completionDetailsOf(pod: JobPod | undefined, { reason, message }: JobState): JsonObject {
  const ended = pod === undefined ? [] : endingsOf(pod).filter(({ isWaiting }) => !isWaiting)
  const finishedMs = ({ state }: Ending) => millisecondsOf(state['finishedAt']) ?? 0
  const last = ended.toSorted((one, other) => finishedMs(one) - finishedMs(other)).at(-1)?.state
  const toText = (value: unknown) => (value === undefined || value === null ? '' : String(value))
  return {
    exitCode: toText(last?.['exitCode']),
    signal: toText(last?.['signal']),
    message: textOf(last?.['message']) ?? message ?? '',
    reason: reason ?? textOf(last?.['reason']) ?? '',
  }
}
