/** Turns of an execution: what is decided at once, what has to be handed out, and what the outcome of a step means. */
import { PortError } from '@fairlead/base/port-error.ts'
import type { Execution, Stage } from '../model.ts'
import type { TaskResult } from '../stages/stage-type.ts'
import { isComplete } from '../statuses.ts'
import { advance } from './advance.ts'
import { RetryableError, StageError } from './failure.ts'
import { graphOf } from './graph.ts'
import { steeringKeys } from './operations.ts'
import {
  applyFailure,
  applyResult,
  isWanted,
  mergeResult,
  stepOf,
  takeDueTasks,
} from './run-task.ts'
import { isSpent, type StepRun, type Turn } from './turn.ts'

export type Outcome = { readonly result: TaskResult } | { readonly error: unknown }

/** Stores and starts an execution. @throws {PortError} when it may not be started */
type Submit = (execution: Execution) => Execution

interface Driver {
  readonly isInFlight: (run: string) => boolean
  /** The outcome of a step that needs nothing from elsewhere. */
  readonly decide: (run: StepRun) => Outcome
  readonly submit: Submit
  /** Others should have their turn. */
  readonly isLate: () => boolean
}

/** Moves the execution on until it waits for something, or its turn is over. @returns what has to be handed out */
export function drive(
  execution: Execution,
  turn: Turn,
  { isInFlight, decide, submit, isLate }: Driver,
): StepRun[] {
  const taken = new Set<string>()
  const isTaken = (run: string) => taken.has(run) || isInFlight(run)
  const calling: StepRun[] = []
  if (execution.engine.unfinishedAt !== undefined && !isComplete(execution.status))
    advance(execution, turn)
  for (let isOver = false; !isOver; isOver = isSpent(turn) || isLate()) {
    const runs = isComplete(execution.status) ? [] : takeDueTasks(execution, turn, isTaken)
    for (const run of runs) {
      const isDecided = 'decide' in run.step
      if (isDecided && taken.size > 0 && isSpent(turn)) continue
      taken.add(run.run)
      if (!isDecided) calling.push(run)
      else if (isWanted(run)) applyOutcome(run, decide(run), submit)
    }
    if (runs.length === 0) break
  }
  return calling.filter(isWanted)
}

/** The run in the execution as it is now; undefined when that start of the task was abandoned meanwhile. */
export function findAgain(
  { stage: { id }, run, step }: StepRun,
  execution: Execution,
  turn: Turn,
): StepRun | undefined {
  const stage = graphOf(execution).find(id)
  const task = stage?.tasks.find((each) => each.engine.run === run)
  if (stage === undefined || task === undefined) return undefined
  const found = { execution, stage, task, turn }
  return { ...found, run, step: stepOf(found) ?? step }
}

/** A child execution begins in the transaction that records that it was started, so there is never one without the other. */
export function applyOutcome(run: StepRun, outcome: Outcome, submit: Submit): void {
  if ('error' in outcome) return void applyFailure(run, outcome.error)
  const { result } = outcome
  if (result.start === undefined) return void applyResult(run, result)
  let child: Execution
  try {
    child = submit(result.start)
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    return void applyFailure(run, new StageError([error.message]))
  }
  applyResult(run, {
    ...result,
    context: { ...result.context, executionId: child.id, executionName: child.name },
  })
}

/** Notes what a step has begun elsewhere although its stage has ended meanwhile: the undoing, which is then due, has to know it. */
export function noteBegun(
  { stage: { id, startTime }, step, turn }: StepRun,
  outcome: Outcome,
  execution: Execution,
): void {
  const stage = graphOf(execution).find(id)
  const undoing = execution.engine.followUps.find(
    ({ kind, stageId }) => kind === 'cancel-stage' && stageId === id,
  )
  if (stage === undefined || stage.startTime !== startTime || undoing === undefined) return
  const isUnknown = 'error' in outcome && outcome.error instanceof RetryableError
  if (undoing.open === step.name && !isUnknown) delete undoing.open
  if ('error' in outcome) return
  mergeResult(stage, { context: outcome.result.context })
  undoing.dueAt = turn.now
}

/** A user who steers a stage while its step is out has the last word, and is heard at once. @param launched As the step has seen it */
export function heedSteering(outcome: Outcome, stage: Stage, launched: Stage): Outcome {
  if ('error' in outcome || outcome.result.status !== 'RUNNING') return outcome
  if (stage.engine.changes === launched.engine.changes) return outcome
  const { result } = outcome
  const context = Object.fromEntries(
    Object.entries(result.context ?? {}).filter(([key]) => !steeringKeys.has(key)),
  )
  return { result: { ...result, context, pollMs: 0 } }
}
