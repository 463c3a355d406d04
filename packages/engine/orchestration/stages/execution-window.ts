/**
 * `restrictExecutionDuringTimeWindow`: holds a stage back until its execution window opens.
 * @see docs/contracts/orchestration.md#execution-window
 */
import { isObject, isTrue, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { nextAllowedTime, parseWindow } from '../allowed-times.ts'
import { StageError } from '../machine/failure.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

const pollMs = 30_000

export const executionWindowStage: StageType = {
  type: 'restrictExecutionDuringTimeWindow',
  steps: [{ name: 'suspendExecutionDuringTimeWindow', decide: hold, pollMs }],
}

/** The moment, its random part included, is fixed at the first look. */
function hold(context: TaskContext): TaskResult {
  const settings = context.stage.context
  if (isTrue(settings['skipRemainingWait'])) return { status: 'SUCCEEDED' }
  const scheduled = context.stage.scheduledTime ?? schedule(context)
  if (scheduled <= context.now) return { status: 'SUCCEEDED', scheduledTime: scheduled }
  return { status: 'RUNNING', scheduledTime: scheduled, pollMs: Math.min(pollMs, scheduled - context.now) }
}

function schedule(context: TaskContext): number {
  const given = context.stage.context['restrictedExecutionWindow']
  const window = objectOf(given)
  try {
    return nextAllowedTime(parseWindow(window), context.now, context.timeZone) + jitterMs(context, window['jitter'])
  } catch (error) {
    const failureReason = (error as Error).message
    throw new StageError([failureReason], { failureReason })
  }
}

/** A random pause, so that stages that wait for the same window do not all start at once. */
function jitterMs({ execution }: TaskContext, jitter: unknown): number {
  if (!isObject(jitter) || !isTrue(jitter['enabled'])) return 0
  if (isTrue(jitter['skipManual']) && execution.trigger.type === 'manual') return 0
  const [least, most] = [secondsOf(jitter, 'minDelay'), secondsOf(jitter, 'maxDelay')]
  if (most < least) throw new Error('The largest delay of the execution window is smaller than the smallest.')
  return Math.floor(least + Math.random() * (most - least)) * 1000
}

function secondsOf(jitter: JsonObject, key: string): number {
  const seconds = Number(jitter[key] ?? 0)
  if (!Number.isFinite(seconds) || seconds < 0) throw new Error(`"${key}" of the execution window must be a number of seconds.`)
  return seconds
}
