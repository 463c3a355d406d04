/** Ends a stage: its result from children and tasks, the error texts it keeps, and what is still active below it. */
import { isObject, isTrue } from '../../../json/values.ts'
import type { Execution, Stage } from '../model.ts'
import { isHalt, type Status } from '../statuses.ts'
import { cancelStage } from './cancel-stage.ts'
import { checkCompletion } from './completion.ts'
import { appendErrors, errorTexts, failureStatus } from './failure.ts'
import { childrenOf, descendantsOf, noteEnd } from './graph.ts'
import { recordEvent, type Turn } from './turn.ts'

/** @param status Given when the result does not follow from children and tasks. */
export function completeStage(execution: Execution, stage: Stage, status: Status | undefined, turn: Turn): void {
  keepErrors(stage)
  const isRefused = isTrue(stage.context['failOnFailedExpressions']) && failedExpressions(stage).length > 0
  stage.status = isRefused ? 'TERMINAL' : (status ?? stageResult(execution, stage))
  stage.endTime = turn.now
  noteEnd(execution, stage)
  for (const child of descendantsOf(execution, stage)) cancelStage(execution, child, turn)
  recordEvent(turn, { phase: isHalt(stage.status) ? 'failed' : 'complete', execution, stage })
  checkCompletion(execution, stage, turn)
}

/** Section 4.3, "stage result". */
function stageResult(execution: Execution, stage: Stage): Status {
  const found = [...childrenOf(execution, stage), ...stage.tasks].map((each) => each.status)
  if (found.length === 0) return 'SKIPPED'
  if (found.includes('TERMINAL')) return failureStatus(stage)
  for (const status of ['STOPPED', 'CANCELED', 'FAILED_CONTINUE'] as const) if (found.includes(status)) return status
  return 'SUCCEEDED'
}

/** Section 7.5: failed expressions are in the error record, even when the stage succeeds. */
function keepErrors(stage: Stage): void {
  const texts = stage.tasks
    .filter((task) => task.status === 'FAILED_CONTINUE')
    .flatMap((task) => errorTexts(task.taskExceptionDetails['exception']))
  texts.push(...failedExpressions(stage))
  if (texts.length > 0) appendErrors(stage, texts)
}

function failedExpressions(stage: Stage): string[] {
  const summary = stage.context['expressionEvaluationSummary']
  if (!isObject(summary)) return []
  return Object.values(summary)
    .flat()
    .flatMap((entry) => (isObject(entry) && typeof entry['description'] === 'string' ? [entry['description']] : []))
}
