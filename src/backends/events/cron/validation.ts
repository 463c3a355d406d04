/**
 * Validation of a cron expression for the editor of a trigger.
 *
 * @see docs/contracts/events.md#validation-of-cron-expressions
 */
import { BackendError } from '../../backend.ts'
import { describeCron } from './description.ts'
import { type CronExpression, parseCron } from './expression.ts'
import { nextTime } from './next-time.ts'
import { isSpread, withoutSpread } from './spread.ts'
import { ZoneClock } from './zone-clock.ts'

const shownTimes = 3

/** What an editor shows of an expression that is valid: when it fires next, in the zone of the schedule. */
interface Upcoming {
  /** Milliseconds since the epoch; none where the times depend on the trigger. */
  nextTimes: number[]
  timeZone: string
}

/** @throws {BackendError} As `validateCron`. */
export function validateWithTimes(
  expression: string,
  { nowMs, timeZone }: { nowMs: number; timeZone: string },
): ReturnType<typeof validateCron> & Upcoming {
  const verdict = validateCron(expression)
  const nextTimes = isSpread(expression) ? [] : timesAfter(nowMs, parseCron(expression), new ZoneClock(timeZone))
  return { ...verdict, nextTimes, timeZone }
}

function timesAfter(nowMs: number, cron: CronExpression, clock: ZoneClock): number[] {
  const times: number[] = []
  while (times.length < shownTimes) {
    const next = nextTime(cron, times.at(-1) ?? nowMs, clock)
    if (next === undefined) break
    times.push(next)
  }
  return times
}

/** @throws {BackendError} 400 with the expression and what is wrong with it. */
export function validateCron(expression: string): { response: string; description: string } {
  try {
    const cron = parseCron(withoutSpread(expression, ''))
    return {
      response: 'Cron expression is valid',
      description: isSpread(expression) ? 'No description available' : describeCron(cron),
    }
  } catch (error) {
    const shown = expression.length > 200 ? `${expression.slice(0, 200)}…` : expression
    throw new BackendError(400, `Cron expression '${shown}' is not valid: ${(error as Error).message}`)
  }
}
