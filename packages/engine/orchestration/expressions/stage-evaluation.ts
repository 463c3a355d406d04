/**
 * Evaluation of the expressions of a stage during a run.
 *
 * @see docs/contracts/orchestration.md#evaluation, #failed-expressions
 */
import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import type { StageRun } from '../machine/turn.ts'
import { conditionKey, type Stage } from '../model.ts'
import { stageTypeOf } from '../stages/stage-type.ts'
import type { ExpressionPlace } from './answers.ts'
import { createExpressionMeter, type Scope } from './evaluator.ts'
import { executionScope } from './scopes.ts'
import { type ExpressionSummary, evaluateTree } from './template.ts'
import { hasText } from './values.ts'

const summaryKey = 'expressionEvaluationSummary'

/** Evaluates the whole context and stores the results in it. Failed expressions stay as they were and are in the summary. */
export function evaluateStageContext(run: StageRun): void {
  const { execution, stage, turn } = run
  // Most contexts hold no expression, and they are looked at often.
  if (!Object.entries(stage.context).some(mayHoldExpression)) return
  const own = stageTypeOf(turn.stageTypes, stage)?.unevaluatedKeys?.(stage, execution) ?? []
  const meter = createExpressionMeter()
  const { value, summary, succeeded } = evaluateTree(stage.context, {
    scope: runScope(run),
    now: turn.now,
    meter,
    skip: [...own, summaryKey, 'exception', 'stageEnabled', conditionKey],
  })
  turn.expressionSteps += meter.spent
  stage.context = {
    ...value,
    [summaryKey]: mergedSummary(stage.context[summaryKey], summary, succeeded),
  }
}

/** Values that the steps of a stage share, frozen to the ground, in which none was found. */
const plain = new WeakSet<object>()

function mayHoldExpression([key, value]: [string, unknown]): boolean {
  const isShared = typeof value === 'object' && value !== null && Object.isFrozen(value)
  if (key.includes('${')) return true
  if (isShared && plain.has(value)) return false
  const isFound = hasText(value, (text) => text.includes('${'))
  if (isShared && !isFound) plain.add(value)
  return isFound
}

/** What a stage refers to in a run: what was read from elsewhere when it began is still known. */
export function runScope(run: StageRun): Scope {
  return executionScope({ ...run, answers: run.answers ?? run.turn.answers.at(run, false) })
}

/** Entries of expressions that have since succeeded disappear. */
function mergedSummary(
  before: unknown,
  failed: ExpressionSummary,
  succeeded: ReadonlySet<string>,
): JsonObject | undefined {
  const kept = Object.entries(objectOf(before)).filter(([name]) => !succeeded.has(name))
  const merged = { ...Object.fromEntries(kept), ...failed }
  return Object.keys(merged).length > 0 ? merged : undefined
}

/** Adds the entries of a separate evaluation to the stage's summary. */
export function withSummary(stage: Stage, summary: ExpressionSummary): JsonObject {
  const before = stage.context[summaryKey]
  const merged = { ...objectOf(before), ...summary }
  return Object.keys(merged).length > 0 ? { [summaryKey]: merged } : {}
}

/** Where expressions are evaluated, and what they may take together. */
export interface EvaluationPlace extends ExpressionPlace {
  readonly stage: Stage
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly meter: Meter
}
