/** `wait`: lets time pass, counted by the wall clock from the start of the stage. */
import { isTrue } from '../../../json/values.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const waitStage: StageType = {
  type: 'wait',
  steps: [{ name: 'wait', decide: wait }],
}

/** @throws {Error} when `waitTime` is not a number of seconds. */
function wait(context: TaskContext): TaskResult {
  if (isTrue(context.stage.context['skipRemainingWait'])) return { status: 'SUCCEEDED' }
  const seconds = Number(context.stage.context['waitTime'] ?? 0)
  if (!Number.isFinite(seconds)) throw new Error('waitTime must be a number of seconds.')
  const remainingMs = (context.stage.startTime ?? context.now) + seconds * 1000 - context.now
  return remainingMs <= 0 ? { status: 'SUCCEEDED' } : { status: 'RUNNING', pollMs: remainingMs }
}
