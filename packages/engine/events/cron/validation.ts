/**
 * Validation of a cron expression for the editor of a trigger.
 *
 * @see docs/contracts/events.md#validation-of-cron-expressions
 */

import { PortError } from '@fairlead/base/port-error.ts'
import { type CronExpression, parseCron } from '@fairlead/model/schedules/cron-expression.ts'
import cronstrue from 'cronstrue'
import { nextTime } from './next-time.ts'
import { isSpread, withoutSpread } from './spread.ts'

const shownTimes = 3
const noDescription = 'No description available'

/** What an editor shows of an expression that is valid: when it fires next, in the zone of the schedule. */
interface Upcoming {
  /** Milliseconds since the epoch; none where the times depend on the trigger. */
  nextTimes: number[]
  timeZone: string
}

/** @throws {PortError} As `validateCron`. */
export function validateWithTimes(
  expression: string,
  { nowMs, timeZone }: { nowMs: number; timeZone: string },
): ReturnType<typeof validateCron> & Upcoming {
  const { response, description } = validateCron(expression)
  const nextTimes = isSpread(expression) ? [] : timesAfter(nowMs, parseCron(expression), timeZone)
  const never = describeNever(expression, { nowMs, timeZone })
  return { response, description: never ?? description, nextTimes, timeZone }
}

function timesAfter(nowMs: number, cron: CronExpression, timeZone: string): number[] {
  const times: number[] = []
  while (times.length < shownTimes) {
    const next = nextTime(cron, times.at(-1) ?? nowMs, timeZone)
    if (next === undefined) break
    times.push(next)
  }
  return times
}

/** @throws {PortError} 400 with the expression and what is wrong with it. */
export function validateCron(expression: string): { response: string; description: string } {
  try {
    parseCron(withoutSpread(expression, ''))
    return { response: 'Cron expression is valid', description: describeCron(expression) }
  } catch (error) {
    const shown = expression.length > 200 ? `${expression.slice(0, 200)}…` : expression
    throw new PortError(400, `Cron expression '${shown}' is not valid: ${(error as Error).message}`)
  }
}

/**
 * A sentence about an expression that is valid and whose times never come, such as a 30th of February; undefined for every other text.
 */
export function describeNever(
  expression: string,
  { nowMs, timeZone }: { nowMs: number; timeZone: string },
): string | undefined {
  try {
    const cron = parseCron(withoutSpread(expression, ''))
    if (nextTime(cron, nowMs, timeZone) !== undefined) return undefined
  } catch {
    return undefined
  }
  return `The cron expression "${expression}" never comes true: its dates do not exist, or lie in the past.`
}

/** For example "At 10:00 AM, only on Thursday". A few forms that are valid have no words. */
function describeCron(expression: string): string {
  if (isSpread(expression)) return noDescription
  // Words begin with the first value, which a step alone leaves out; what follows the year counts as nothing.
  const fields = expression.trim().toUpperCase().split(/\s+/).slice(0, 7)
  const text = fields
    .map((field) => field.replace(/(^|,)\//g, '$1*/').replace(/[A-Z]{4,}/g, shortName))
    .join(' ')
  try {
    return cronstrue.toString(text, { dayOfWeekStartIndexZero: false })
  } catch {
    return noDescription
  }
}

/** `FRIDAYL` is the last Friday, `APRIL` a month. */
function shortName(name: string): string {
  return name.slice(0, 3) + (name.endsWith('L') && name !== 'APRIL' ? 'L' : '')
}
