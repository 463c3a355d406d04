/** `wait` passes some seconds since the start of the stage; `waitUntil` waits for a moment. */
import { shape } from '@fairlead/base/json/shape.ts'
import { isTrue } from '@fairlead/base/json/values.ts'
import { StageError } from '../machine/failure.ts'
import { passedMs } from '../machine/timeout.ts'
import type { NewStage, StageType, TaskContext, TaskResult } from './stage-type.ts'

export const waitStage: StageType = {
  type: 'wait',
  steps: [{ name: 'wait', decide: wait }],
}

/** What lets a stage that waits end early. */
export const toSkip = shape({ skipRemainingWait: isTrue })

/** @throws {Error} when `waitTime` is not a number of seconds. */
function wait(context: TaskContext): TaskResult {
  if (toSkip(context.stage.context).skipRemainingWait) return { status: 'SUCCEEDED' }
  const seconds = Number(context.stage.context['waitTime'] ?? 0)
  if (!Number.isFinite(seconds)) throw new Error('waitTime must be a number of seconds.')
  const { execution, stage, now } = context
  const remainingMs = seconds * 1000 - passedMs(execution, stage.startTime ?? now, now)
  return remainingMs <= 0 ? { status: 'SUCCEEDED' } : { status: 'RUNNING', pollMs: remainingMs }
}

/** The stage of a plan that waits for so long, if at all. */
export function pauseOf(seconds: number): NewStage[] {
  return seconds > 0
    ? [{ type: 'wait', name: `Wait ${seconds} s`, context: { waitTime: seconds } }]
    : []
}

const longestWaitMs = 2 ** 31 - 1

export const waitUntilStage: StageType = {
  type: 'waitUntil',
  steps: [
    { name: 'waitUntil', decide: waitUntil, timeoutMs: longestWaitMs, timeoutFollowsStage: true },
  ],
}

function waitUntil(context: TaskContext): TaskResult {
  const until = Number(context.stage.context['epochMillis'] ?? 0)
  if (!Number.isFinite(until))
    throw new StageError(['epochMillis must be a moment in milliseconds.'])
  const begun = { startTime: context.stage.context['startTime'] ?? context.now }
  const remainingMs = until - context.now
  return remainingMs <= 0
    ? { status: 'SUCCEEDED', context: begun }
    : { status: 'RUNNING', context: begun, pollMs: remainingMs }
}
