/** What happened in an execution, when and by whom, as its record tells (docs/contracts/orchestration.md#log-of-an-execution). */
import { fieldAt, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { Execution, Stage } from '../model.ts'
import { isComplete } from '../statuses.ts'

export interface LogEntry {
  readonly executionId: string
  /** Milliseconds since the epoch. */
  readonly timestamp: number
  readonly eventType: string
  /** Who did it; absent for what the engine did. */
  readonly user?: string
  readonly details: JsonObject
}

type Entry = Omit<LogEntry, 'executionId' | 'timestamp'> & { readonly at: number | undefined }

/** @param execution As readers see it. @returns the oldest first */
export function toExecutionLog(execution: Execution): LogEntry[] {
  const entries = [...executionEntries(execution), ...execution.stages.flatMap(stageEntries)]
  return entries
    .flatMap(({ at, ...entry }) => (at === undefined ? [] : [{ executionId: execution.id, timestamp: at, ...entry }]))
    .sort((one, other) => one.timestamp - other.timestamp)
}

function executionEntries(execution: Execution): Entry[] {
  const { buildTime, startTime, endTime, status, trigger, paused, canceled, canceledBy, cancellationReason } = execution
  const { steeredBy = [] } = execution.authentication
  return [
    { at: buildTime, eventType: 'ExecutionSubmitted', user: trigger.user, details: { trigger: trigger.type } },
    { at: startTime, eventType: 'ExecutionStarted', details: {} },
    { at: paused?.pauseTime, eventType: 'ExecutionPaused', user: paused?.pausedBy, details: {} },
    { at: paused?.resumeTime, eventType: 'ExecutionResumed', user: paused?.resumedBy, details: {} },
    ...steeredBy.map(({ at, user, how }) => ({ at, eventType: 'ExecutionSteered', user, details: { how } })),
    ...(canceled
      ? [{ at: endTime, eventType: 'ExecutionCanceled', user: canceledBy, details: { reason: cancellationReason } }]
      : []),
    ...(isComplete(status) ? [{ at: endTime, eventType: 'ExecutionComplete', details: { status } }] : []),
  ]
}

function stageEntries(stage: Stage): Entry[] {
  const { id, name, type, status, startTime, endTime, context, lastModified, tasks } = stage
  const details: JsonObject = { stageId: id, stageName: name, stageType: type }
  const restart = objectOf(context['restartDetails'])
  const judgment = textOf(context['judgmentStatus'])
  return [
    ...objectsOf(context['previousAttempts']).flatMap((attempt) => spans('Stage', details, attempt)),
    { at: numberOf(restart['restartTime']), eventType: 'StageRestarted', user: textOf(restart['restartedBy']), details },
    ...spans('Stage', details, { startTime, endTime, status, errors: fieldAt(context['exception'], 'details', 'errors') }),
    {
      at: lastModified?.lastModifiedTime,
      eventType: judgment === undefined ? 'StageChanged' : 'StageJudged',
      user: lastModified?.user,
      details:
        judgment === undefined ? details : { ...details, judgmentStatus: judgment, judgmentInput: context['judgmentInput'] },
    },
    ...tasks.flatMap((task) => spans('Task', { ...details, taskId: task.id, taskName: task.name }, { ...task })),
  ]
}

function spans(what: 'Stage' | 'Task', details: JsonObject, { startTime, endTime, status, errors }: JsonObject): Entry[] {
  const end = { ...details, status, ...(errors !== undefined && { errors }) }
  return [
    { at: numberOf(startTime), eventType: `${what}Started`, details },
    { at: numberOf(endTime), eventType: `${what}Complete`, details: end },
  ]
}
