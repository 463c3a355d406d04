/** One turn of the state machine: its inputs, and its effects to store and publish. */
import type { PipelineLimits } from '../../limits.ts'
import type { ExpressionAnswers, ExpressionPlace } from '../expressions/answers.ts'
import type { Execution, ExecutionPlace, Stage, StagePlace, Task } from '../model.ts'
import type { StageTypes, Step } from '../stages/stage-type.ts'

export interface Turn {
  /** Milliseconds since the epoch, the same for the whole step. */
  readonly now: number
  readonly nextId: () => string
  readonly stageTypes: StageTypes
  readonly limits: PipelineLimits
  /** What expressions read from elsewhere. */
  readonly answers: ExpressionAnswers
  /** Executions that this step completed; what waits for them is dealt with in the same transaction. */
  readonly completed: Execution[]
  readonly events: LifeCycleEvent[]
  /** Steps that expressions have taken so far. */
  expressionSteps: number
  /** Characters that tasks have added to records so far. */
  recorded: number
}

type TurnInputs = Pick<Turn, 'nextId' | 'stageTypes' | 'limits'> & { readonly now: () => number }

export function createTurn(
  { now, nextId, stageTypes, limits }: TurnInputs,
  answers: ExpressionAnswers,
): Turn {
  return {
    now: now(),
    nextId,
    stageTypes,
    limits,
    answers,
    completed: [],
    events: [],
    expressionSteps: 0,
    recorded: 0,
  }
}

/** Expression steps of one turn; the rest waits for another step, so that others have their turn. */
const mostExpressionSteps = 250_000

export function isSpent(turn: Turn): boolean {
  return turn.expressionSteps > mostExpressionSteps || turn.recorded > turn.limits.bytes
}

type LifeCyclePhase = 'starting' | 'complete' | 'failed' | 'skipped'

export interface LifeCycleEvent extends ExecutionPlace {
  readonly phase: LifeCyclePhase
  /** The task that the event is about; undefined: it is about the stage. */
  readonly task?: Task
}

export interface StageRun extends StagePlace, ExpressionPlace {
  readonly stage: Stage
  readonly turn: Turn
}

export interface TaskRun extends StageRun {
  readonly task: Task
}

/** A task that was handed out: its step, and the name of this start of the task. */
export interface StepRun extends TaskRun {
  readonly run: string
  readonly step: Step
}
