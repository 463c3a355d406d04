/** What happened in an execution, when and by whom, as its record tells (docs/contracts/orchestration.md#log-of-an-execution). */
import { list, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import type { Execution, Stage } from '../model.ts'
import { isComplete } from '../statuses.ts'

interface LogEntry {
  readonly executionId: string
  /** Milliseconds since the epoch. */
  readonly timestamp: number
  readonly eventType: string
  /** Who did it; absent for what the engine did. */
  readonly user?: string
  readonly details: JsonObject
}

type TimedEntry = Omit<LogEntry, 'executionId' | 'timestamp'> & { readonly at: number | undefined }

/** @param execution As readers see it. @returns the oldest first */
export function toExecutionLog(execution: Execution): LogEntry[] {
  const entries = [...executionEntries(execution), ...execution.stages.flatMap(stageEntries)]
  return entries
    .flatMap(({ at, ...entry }) =>
      at === undefined ? [] : [{ executionId: execution.id, timestamp: at, ...entry }],
    )
    .sort((one, other) => one.timestamp - other.timestamp)
}

function executionEntries(execution: Execution): TimedEntry[] {
  const {
    buildTime,
    startTime,
    endTime,
    status,
    trigger,
    paused,
    canceled,
    canceledBy,
    cancellationReason,
  } = execution
  const { steeredBy = [] } = execution.authentication
  return [
    {
      at: buildTime,
      eventType: 'ExecutionSubmitted',
      user: trigger.user,
      details: { trigger: trigger.type },
    },
    { at: startTime, eventType: 'ExecutionStarted', details: {} },
    { at: paused?.pauseTime, eventType: 'ExecutionPaused', user: paused?.pausedBy, details: {} },
    { at: paused?.resumeTime, eventType: 'ExecutionResumed', user: paused?.resumedBy, details: {} },
    ...steeredBy.map(({ at, user, how }) => ({
      at,
      eventType: 'ExecutionSteered',
      user,
      details: { how },
    })),
    ...(canceled
      ? [
          {
            at: endTime,
            eventType: 'ExecutionCanceled',
            user: canceledBy,
            details: { reason: cancellationReason },
          },
        ]
      : []),
    ...(isComplete(status)
      ? [{ at: endTime, eventType: 'ExecutionComplete', details: { status } }]
      : []),
  ]
}

const toSpan = shape({
  startTime: numberOf,
  endTime: numberOf,
  status: textOf,
  errors: (value) => value,
})

/** What an operation on a stage has noted in its context. */
const toNotes = shape({
  restartDetails: shape({ restartTime: numberOf, restartedBy: textOf }),
  previousAttempts: list(toSpan),
  judgmentStatus: textOf,
  exception: shape({ details: shape({ errors: (value) => value }) }),
})

function stageEntries(stage: Stage): TimedEntry[] {
  const { id, name, type, context, lastModified, tasks } = stage
  const details: JsonObject = { stageId: id, stageName: name, stageType: type }
  const {
    restartDetails: restart,
    previousAttempts,
    judgmentStatus: judgment,
    exception,
  } = toNotes(context)
  return [
    ...previousAttempts.flatMap((attempt) => spans('Stage', details, attempt)),
    { at: restart.restartTime, eventType: 'StageRestarted', user: restart.restartedBy, details },
    ...spans('Stage', details, { ...stage, errors: exception.details.errors }),
    {
      at: lastModified?.lastModifiedTime,
      eventType: judgment === undefined ? 'StageChanged' : 'StageJudged',
      user: lastModified?.user,
      details:
        judgment === undefined
          ? details
          : {
              ...details,
              judgmentStatus: judgment,
              judgmentInput: context['judgmentInput'],
              judgmentComment: context['judgmentComment'],
            },
    },
    ...tasks.flatMap((task) =>
      spans('Task', { ...details, taskId: task.id, taskName: task.name }, task),
    ),
  ]
}

type Span = Partial<ReturnType<typeof toSpan>>

function spans(
  what: 'Stage' | 'Task',
  details: JsonObject,
  { startTime, endTime, status, errors }: Span,
): TimedEntry[] {
  const end = { ...details, status, ...(errors !== undefined && { errors }) }
  return [
    { at: startTime, eventType: `${what}Started`, details },
    { at: endTime, eventType: `${what}Complete`, details: end },
  ]
}
