/**
 * Restart of a stage and of everything downstream of it.
 * @see docs/contracts/orchestration.md#operations-on-a-run
 */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, listOf } from '@fairlead/base/json/values.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { type Execution, isTopLevel, type Stage } from '../model.ts'
import { stageTypeOf, typeNameOf } from '../stages/stage-type.ts'
import { isComplete } from '../statuses.ts'
import { advance } from './advance.ts'
import { graphOf } from './graph.ts'
import type { StageRun, Turn } from './turn.ts'

/** Puts the stage and everything complete downstream of it back to the start, without starting anything. */
export function resetForRestart({ execution, stage, turn }: StageRun, restartedBy: string): void {
  if (!isComplete(stage.status)) return
  const { exception, ...context } = stage.context
  stage.context = {
    ...context,
    restartDetails: { restartedBy, restartTime: turn.now, previousException: exception },
  }
  const graph = graphOf(execution)
  const reset = [stage, ...graph.downstreamOf(stage)].filter((each) => isComplete(each.status))
  graph.remove(new Set(reset.flatMap((each) => graph.descendantsOf(each))))
  turn.answers.forget(execution.id)
  for (const each of reset) resetStage(each, turn)
}

/** So many former runs of a stage are kept. */
const maxAttempts = 10

const outcomeKeys = [
  'exception',
  'beforeStagePlanningFailed',
  'afterStagePlanningFailed',
  'onFailureStagePlanningFailed',
  'expressionEvaluationSummary',
]

const toAttempts = shape({ previousAttempts: listOf })

function resetStage(stage: Stage, turn: Turn): void {
  const { previousAttempts: attempts } = toAttempts(stage.context)
  const { startTime, endTime, status } = stage
  const previousAttempts =
    startTime === undefined
      ? attempts
      : [...attempts, { startTime, endTime: endTime ?? turn.now, status }].slice(-maxAttempts)
  const { changedBy } = stage.engine
  stage.engine = changedBy === undefined ? {} : { changedBy }
  const type = stageTypeOf(turn.stageTypes, stage)
  const forgotten = [...outcomeKeys, ...(type?.forgets ?? [])]
  const kept = Object.entries(stage.context).filter(([key]) => !forgotten.includes(key))
  stage.context = {
    ...Object.fromEntries(kept),
    ...(previousAttempts.length > 0 && { previousAttempts }),
  }
  stage.status = 'NOT_STARTED'
  stage.startTime = undefined
  stage.endTime = undefined
  stage.scheduledTime = undefined
  stage.tasks = []
  type?.prepareRestart?.(stage)
}

/** Lets a reset execution run again. */
export function resume(execution: Execution, turn: Turn): void {
  if (execution.status !== 'PAUSED') execution.status = 'RUNNING'
  execution.canceled = false
  execution.canceledBy = undefined
  execution.cancellationReason = undefined
  execution.startTime = turn.now
  execution.endTime = undefined
  execution.engine.parkedAt = undefined
  execution.engine.restartStageId = undefined
  turn.events.push({ phase: 'starting', execution })
  advance(execution, turn)
}

/**
 * A restart brings the preconditions of the definition as it is now stored.
 * @see docs/contracts/orchestration.md#stage-operations
 */
export function replacePreconditions(execution: Execution, definition: JsonObject): void {
  for (const wanted of readPipeline(definition).stages) {
    if (typeNameOf({ type: String(wanted['type']), context: wanted }) !== 'checkPreconditions')
      continue
    const stage = graphOf(execution).withRef(String(wanted['refId'])).find(isTopLevel)
    if (stage !== undefined && typeNameOf(stage) === 'checkPreconditions') {
      stage.context = { ...stage.context, preconditions: wanted['preconditions'] }
    }
  }
}
