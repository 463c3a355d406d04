/** Next time of a cron expression in a time zone, across changes of its clocks. */
import type { CronExpression } from '@fairlead/model/schedules/cron-expression.ts'

/**
 * The first instant after `afterMs`, undefined when there is none.
 *
 * When clocks are set forward, a time of day that is skipped comes as much later. When they are set back, it comes once;
 * only an expression for every hour also counts the hour that is repeated.
 */
export function nextTime(
  cron: CronExpression,
  afterMs: number,
  timeZone: string,
): number | undefined {
  const after = Temporal.Instant.fromEpochMilliseconds(
    Math.floor(afterMs / 1000) * 1000,
  ).toZonedDateTimeISO(timeZone)
  return cron.everyHour ? nextOfEveryHour(cron, after) : nextTimeOfDay(cron, after)
}

function nextTimeOfDay(cron: CronExpression, after: Temporal.ZonedDateTime): number | undefined {
  for (
    let shown = nextShown(cron, toShown(after));
    shown !== undefined;
    shown = nextShown(cron, shown)
  ) {
    const utc = Temporal.Instant.fromEpochMilliseconds(shown).toZonedDateTimeISO('UTC')
    const { epochMilliseconds } = utc.toPlainDateTime().toZonedDateTime(after.timeZoneId)
    if (epochMilliseconds > after.epochMilliseconds) return epochMilliseconds
  }
  return undefined
}

/** Searches from one change of the clocks to the next, each with its own offset. */
function nextOfEveryHour(cron: CronExpression, after: Temporal.ZonedDateTime): number | undefined {
  let shownAfter = toShown(after)
  for (let from = after; ; ) {
    const shown = nextShown(cron, shownAfter)
    if (shown === undefined) return undefined
    const found = shown - offsetMs(from)
    const change = from.getTimeZoneTransition('next')
    if (change === null || found < change.epochMilliseconds) return found
    shownAfter = toShown(change) - 1000
    from = change
  }
}

/** Next time that clocks show, read as if they showed UTC: milliseconds since 1970. */
function nextShown({ patterns }: CronExpression, afterMs: number): number | undefined {
  const times = patterns.flatMap((pattern) => pattern.nextRun(new Date(afterMs))?.getTime() ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}

function toShown(instant: Temporal.ZonedDateTime): number {
  return instant.epochMilliseconds + offsetMs(instant)
}

function offsetMs({ offsetNanoseconds }: Temporal.ZonedDateTime): number {
  return offsetNanoseconds / 1_000_000
}
