/** `waitUntil`: lets time pass until a moment given in milliseconds since the epoch. */
import { StageError } from '../machine/failure.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

const longestWaitMs = 2 ** 31 - 1

export const waitUntilStage: StageType = {
  type: 'waitUntil',
  steps: [{ name: 'waitUntil', decide: waitUntil, timeoutMs: longestWaitMs, timeoutFollowsStage: true }],
}

function waitUntil(context: TaskContext): TaskResult {
  const until = Number(context.stage.context['epochMillis'] ?? 0)
  if (!Number.isFinite(until)) throw new StageError(['epochMillis must be a moment in milliseconds.'])
  const begun = { startTime: context.stage.context['startTime'] ?? context.now }
  const remainingMs = until - context.now
  return remainingMs <= 0 ? { status: 'SUCCEEDED', context: begun } : { status: 'RUNNING', context: begun, pollMs: remainingMs }
}
