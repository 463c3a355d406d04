/**
 * `restrictExecutionDuringTimeWindow`: holds a stage back until its execution window opens.
 * @see docs/contracts/orchestration.md#execution-window
 */
import { stageFields } from '@fairlead/model/stage-types/common.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { nextAllowedTime, parseWindow } from '../allowed-times.ts'
import { StageError } from '../machine/failure.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'
import { toSkip } from './wait.ts'

const pollMs = 30_000

export const executionWindowStage: StageType = {
  type: 'restrictExecutionDuringTimeWindow',
  steps: [{ name: 'suspendExecutionDuringTimeWindow', decide: hold, pollMs }],
}

/** The moment, its random part included, is fixed at the first look. */
function hold(context: TaskContext): TaskResult {
  if (toSkip(context.stage.context).skipRemainingWait) return { status: 'SUCCEEDED' }
  const scheduled = context.stage.scheduledTime ?? schedule(context)
  if (scheduled <= context.now) return { status: 'SUCCEEDED', scheduledTime: scheduled }
  return {
    status: 'RUNNING',
    scheduledTime: scheduled,
    pollMs: Math.min(pollMs, scheduled - context.now),
  }
}

function schedule(context: TaskContext): number {
  const { restrictedExecutionWindow: window } = readFields(stageFields, context.stage.context)
  try {
    return (
      nextAllowedTime(parseWindow(window), context.now, context.timeZone) +
      jitterMs(context, window.jitter)
    )
  } catch (error) {
    const failureReason = (error as Error).message
    throw new StageError([failureReason], { failureReason })
  }
}

type Jitter = ReturnType<
  typeof readFields<typeof stageFields>
>['restrictedExecutionWindow']['jitter']

/** A random pause, so that stages that wait for the same window do not all start at once. */
function jitterMs(
  { execution }: TaskContext,
  { enabled, skipManual, minDelay, maxDelay }: Jitter,
): number {
  if (!enabled || (skipManual && execution.trigger.type === 'manual')) return 0
  if (minDelay < 0)
    throw new Error('"minDelay" of the execution window must be a number of seconds.')
  if (maxDelay < minDelay)
    throw new Error('The largest delay of the execution window is smaller than the smallest.')
  return Math.floor(minDelay + Math.random() * (maxDelay - minDelay)) * 1000
}
