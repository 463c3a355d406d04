/** Follow-ups of a state change, stored with the execution so that they survive a crash. */
import { setTimeout } from 'node:timers/promises'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { type Dependents, prepareDependents, toEventRecords } from './dependents.ts'
import type { EngineParts } from './engine-parts.ts'
import { graphOf } from './machine/graph.ts'
import { mergeResult } from './machine/run-task.ts'
import type { Execution, FollowUp, StagePlace } from './model.ts'
import { stageTypeOf } from './stages/stage-type.ts'
import { asFailed } from './submission/prepare-pipeline.ts'
import { createTaskContext } from './task-context.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/** More than an hour with growing pauses. */
const mostAttempts = 24
const shortestPauseMs = 5000
const longestPauseMs = 5 * 60_000

/**
 * Runs a follow-up and removes it; after a failure it is retried later. In the end it is given up: pipelines that should have
 * started leave failed executions, the rest a line in the log.
 */
export async function runFollowUp(
  engine: EngineParts,
  execution: Execution,
  followUp: FollowUp,
): Promise<void> {
  const isLast = followUp.attempts + 1 >= mostAttempts
  try {
    if (followUp.kind === 'start-dependents')
      await startDependents(engine, execution, followUp, isLast)
    else await cancelStageEffects(engine, execution, followUp)
  } catch (error) {
    engine.options.log.warn(
      { err: error, execution: execution.id, kind: followUp.kind, isLast },
      'a follow-up of an execution failed',
    )
    settle(engine, execution.id, followUp.id, isLast ? 'done' : 'again')
  }
}

const undoingPollMs = 100
const mostUndoingPolls = 80

/**
 * Waits a moment for the undoing of what cancelled stages of an execution had begun.
 *
 * @param among Ids of stages; all unless given
 * @returns the undoings that are left
 */
export async function awaitUndoing(
  { options: { store } }: EngineParts,
  id: string,
  among?: ReadonlySet<string>,
): Promise<FollowUp[]> {
  for (let polls = 0; ; polls++) {
    const left = (store.load(id)?.engine.followUps ?? []).filter(
      ({ kind, stageId = '' }) => kind === 'cancel-stage' && (among?.has(stageId) ?? true),
    )
    if (left.length === 0 || polls === mostUndoingPolls) return left
    await setTimeout(undoingPollMs)
  }
}

async function startDependents(
  engine: EngineParts,
  parent: Execution,
  followUp: FollowUp,
  isLast: boolean,
): Promise<void> {
  const dependents = await prepareDependents(engine, parent, { open: followUp.dependents, isLast })
  settle(
    engine,
    parent.id,
    followUp.id,
    dependents.postponed.length === 0 ? 'done' : 'again',
    dependents,
  )
  for (const event of toEventRecords(parent, dependents.outcomes))
    engine.options.ports.events.record(event)
}

async function cancelStageEffects(
  engine: EngineParts,
  execution: Execution,
  followUp: FollowUp,
): Promise<void> {
  const canceled = graphOf(execution).find(followUp.stageId ?? '')
  if (canceled === undefined) return settle(engine, execution.id, followUp.id, 'done')
  const type = stageTypeOf(engine.options.stageTypes, canceled)
  // What a step has sent already would have its effect after that of the undoing, which needs what it notes.
  const inside = [canceled, ...graphOf(execution).descendantsOf(canceled)]
  const haveEnded = await engine.attemptsEnd(new Set(inside.map(({ id }) => id)))
  const contextNow = () => {
    const now = engine.options.store.load(execution.id) ?? execution
    return createTaskContext(engine, {
      execution: now,
      stage: graphOf(now).find(canceled.id) ?? canceled,
    })
  }
  const context = contextNow()
  const open = context.execution.engine.followUps.find(({ id }) => id === followUp.id)?.open
  const step = type?.steps.find(({ name }) => name === open)
  const recover = step && 'recover' in step ? step.recover : undefined
  if (recover !== undefined) noteRecovered(engine, context, followUp, await recover(context))
  // Once the rest of the calls is answered, there may be more to undo; meanwhile nothing is.
  if (haveEnded || followUp.attempts === 0) await type?.onCancel?.(contextNow())
  settle(engine, execution.id, followUp.id, haveEnded || recover !== undefined ? 'done' : 'again')
}

function noteRecovered(
  engine: EngineParts,
  { execution, stage }: StagePlace,
  followUp: FollowUp,
  begun: JsonObject,
): void {
  engine.transact((unit) => {
    const now = unit.load(execution.id)
    const [undoing, canceled] = [
      now?.engine.followUps.find(({ id }) => id === followUp.id),
      now && graphOf(now).find(stage.id),
    ]
    if (undoing !== undefined) delete undoing.open
    if (canceled?.startTime === stage.startTime && canceled !== undefined)
      mergeResult(canceled, { context: begun })
  })
}

function startDependent(
  { options: { log } }: EngineParts,
  unit: UnitOfWork,
  child: Execution,
): void {
  try {
    unit.submit(child)
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    log.warn(
      { pipeline: child.pipelineConfigId, reason: error.message },
      'a dependent pipeline was not started',
    )
    unit.record(asFailed(child, error.message))
  }
}

/** Removes a follow-up or postpones it, in the transaction that stores what it has prepared. */
function settle(
  engine: EngineParts,
  executionId: string,
  id: string,
  when: 'done' | 'again',
  dependents?: Dependents,
): void {
  engine.transact((unit) => {
    for (const child of dependents?.prepared ?? []) startDependent(engine, unit, child)
    const execution = unit.load(executionId)
    const followUp = execution?.engine.followUps.find((each) => each.id === id)
    if (execution === undefined || followUp === undefined) return
    if (when === 'done') {
      execution.engine.followUps = execution.engine.followUps.filter((each) => each.id !== id)
      return
    }
    if (dependents !== undefined) followUp.dependents = dependents.postponed
    followUp.dueAt =
      unit.turn.now + Math.min(shortestPauseMs * 2 ** followUp.attempts, longestPauseMs)
    followUp.attempts++
  })
}
