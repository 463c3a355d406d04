/** One step of the state machine: what it may use, and what it leaves for those who store and publish. */
import type { Execution, Stage } from '../model.ts'
import type { StageTypes } from '../stages/stage-type.ts'

export interface Turn {
  /** Milliseconds since the epoch, the same for the whole step. */
  readonly now: number
  readonly nextId: () => string
  readonly stageTypes: StageTypes
  /** Executions that this step completed; what waits for them is dealt with in the same transaction. */
  readonly completed: Execution[]
  readonly events: LifeCycleEvent[]
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
