/** One step of the state machine: what it may use, and what it leaves to the code that stores and publishes. */
import type { PipelineLimits } from '../../limits.ts'
import type { Execution, Stage } from '../model.ts'
import type { StageTypes } from '../stages/stage-type.ts'

export interface Turn {
  /** Milliseconds since the epoch, the same for the whole step. */
  readonly now: number
  readonly nextId: () => string
  readonly stageTypes: StageTypes
  readonly limits: PipelineLimits
  /** Executions that this step completed; what waits for them is dealt with in the same transaction. */
  readonly completed: Execution[]
  readonly events: LifeCycleEvent[]
  /** Steps that expressions have taken so far. */
  expressionSteps: number
  /** Characters that tasks have added to records so far. */
  recorded: number
}

/** Beyond it, what is left is for another step: others must have their turn. */
const mostExpressionSteps = 250_000

export function isSpent(turn: Turn): boolean {
  return turn.expressionSteps > mostExpressionSteps || turn.recorded > turn.limits.bytes
}

export type LifeCyclePhase = 'starting' | 'complete' | 'failed' | 'skipped'

export interface LifeCycleEvent {
  phase: LifeCyclePhase
  execution: Execution
  stage?: Stage
}

export function recordEvent(turn: Turn, event: LifeCycleEvent): void {
  turn.events.push(event)
}
