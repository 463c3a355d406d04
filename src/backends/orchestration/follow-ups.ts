/** Work that a state change leaves behind and that must survive a crash: it is noted with the execution until it is done. */
import { prepareDependents } from './dependents.ts'
import type { EngineParts } from './engine-parts.ts'
import type { Execution, FollowUp } from './model.ts'
import { createTaskContext } from './task-context.ts'

/** With growing pauses this is more than an hour. */
const mostAttempts = 24
const shortestPauseMs = 5000
const longestPauseMs = 5 * 60_000

/** Does it and strikes it off; after a failure it is tried again later, in the end it is given up with a line in the log. */
export async function runFollowUp(engine: EngineParts, execution: Execution, followUp: FollowUp): Promise<void> {
  try {
    const started = followUp.kind === 'start-dependents' ? await prepareDependents(engine, execution) : []
    if (followUp.kind === 'cancel-stage') await cancelStageEffects(engine, execution, followUp)
    strikeOff(engine, execution.id, followUp.id, started)
  } catch (error) {
    const isLast = followUp.attempts + 1 >= mostAttempts
    engine.options.log.warn(
      { err: error, execution: execution.id, kind: followUp.kind, isLast },
      'a follow-up of an execution failed',
    )
    if (isLast) strikeOff(engine, execution.id, followUp.id)
    else postpone(engine, execution.id, followUp.id)
  }
}

async function cancelStageEffects(engine: EngineParts, execution: Execution, followUp: FollowUp): Promise<void> {
  const stage = execution.stages.find((each) => each.id === followUp.stageId)
  if (stage === undefined) return
  await engine.options.stageTypes.get(stage.type)?.onCancel?.(createTaskContext(engine, execution, stage))
}

function strikeOff(engine: EngineParts, executionId: string, id: string, started: readonly Execution[] = []): void {
  engine.transact((unit) => {
    for (const child of started) unit.submit(child)
    const execution = unit.load(executionId)
    if (execution !== undefined) execution.engine.followUps = execution.engine.followUps.filter((each) => each.id !== id)
  })
}

function postpone(engine: EngineParts, executionId: string, id: string): void {
  engine.transact((unit) => {
    const followUp = unit.load(executionId)?.engine.followUps.find((each) => each.id === id)
    if (followUp === undefined) return
    followUp.dueAt = unit.turn.now + Math.min(shortestPauseMs * 2 ** followUp.attempts, longestPauseMs)
    followUp.attempts++
  })
}
