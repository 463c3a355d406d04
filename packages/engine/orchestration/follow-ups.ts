/** Follow-ups of a state change, stored with the execution so that they survive a crash. */
import { PortError } from '@fairlead/base/port-error.ts'
import { type Dependents, prepareDependents, toEventRecords } from './dependents.ts'
import type { EngineParts } from './engine-parts.ts'
import { graphOf } from './machine/graph.ts'
import type { Execution, FollowUp } from './model.ts'
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
  const find = (within: Execution) => graphOf(within).find(followUp.stageId ?? '')
  const canceled = find(execution)
  if (canceled === undefined) return settle(engine, execution.id, followUp.id, 'done')
  // What a step has sent already would have its effect after that of the undoing, which needs what it notes.
  const inside = [canceled, ...graphOf(execution).descendantsOf(canceled)]
  await engine.attemptsEnd(new Set(inside.map(({ id }) => id)))
  const now = engine.options.store.load(execution.id) ?? execution
  const stage = find(now) ?? canceled
  await stageTypeOf(engine.options.stageTypes, stage)?.onCancel?.(
    createTaskContext(engine, { execution: now, stage }),
  )
  settle(engine, execution.id, followUp.id, 'done')
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
