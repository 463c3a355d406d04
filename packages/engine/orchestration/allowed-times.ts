/** Opening times of an execution window: weekdays and times of day in a time zone. */
import { list, shape } from '@fairlead/base/json/shape.ts'

interface ExecutionWindow {
  /** 1 is Sunday, 7 Saturday. */
  days: readonly number[]
  /** Minutes of the day, both inclusive, none beyond midnight. */
  spans: readonly { from: number; to: number }[]
}

const minutesPerDay = 24 * 60
const mostSpans = 100
const allDays = [1, 2, 3, 4, 5, 6, 7]

const toAny = (value: unknown) => value
const toSpan = shape({ startHour: toAny, startMin: toAny, endHour: toAny, endMin: toAny })
const toWindow = shape({ days: list(Number), whitelist: list(toSpan) })

/** @throws {Error} when days or times are not usable; the message is for the author of the pipeline. */
export function parseWindow(window: unknown): ExecutionWindow {
  const { days, whitelist } = toWindow(window)
  if (days.some((day) => !allDays.includes(day)))
    throw new Error('Days of an execution window go from 1, Sunday, to 7.')
  if (whitelist.length > mostSpans)
    throw new Error(`An execution window has at most ${mostSpans} times of day.`)
  const spans = whitelist.flatMap(parseSpan)
  return {
    days: days.length > 0 ? days : allDays,
    spans: spans.length > 0 ? spans : [{ from: 0, to: minutesPerDay - 1 }],
  }
}

/** A span that ends before it starts goes on after midnight. */
function parseSpan(span: ReturnType<typeof toSpan>): { from: number; to: number }[] {
  const from = minuteOfDay(span.startHour, span.startMin)
  const to = minuteOfDay(span.endHour, span.endMin)
  if (from <= to) return [{ from, to }]
  return [
    { from: 0, to },
    { from, to: minutesPerDay - 1 },
  ]
}

function minuteOfDay(hour: unknown, minute: unknown): number {
  const [hours, minutes] = [Number(hour ?? Number.NaN), Number(minute ?? 0)]
  const isTime =
    Number.isInteger(hours) &&
    Number.isInteger(minutes) &&
    hours >= 0 &&
    hours <= 24 &&
    minutes >= 0 &&
    minutes < 60
  if (!isTime) throw new Error(`"${hour}:${minute}" in an execution window is not a time of day.`)
  return Math.min(hours * 60 + minutes, minutesPerDay - 1)
}

/**
 * The given moment if the window is open then, else the next moment at which it opens.
 *
 * @param now Milliseconds since the epoch, as the result.
 * @throws {Error} when it does not open within eight days.
 */
export function nextAllowedTime(window: ExecutionWindow, now: number, timeZone: string): number {
  const today = Temporal.Instant.fromEpochMilliseconds(now)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate()
  for (let days = 0; days <= 8; days++) {
    // Dates are counted, not hours: the day on which clocks change has 23 or 25 of them.
    const date = today.add({ days })
    // For `Temporal`, Sunday is the seventh day.
    if (!window.days.includes((date.dayOfWeek % 7) + 1)) continue
    const midnight = date.toPlainDateTime()
    // A time that comes twice is the second, a time that is left out the one after the gap: as for calendars of Java.
    const at = (minutes: number) =>
      midnight.add({ minutes }).toZonedDateTime(timeZone, { disambiguation: 'later' })
        .epochMilliseconds
    const spans = window.spans.map(({ from, to }) => ({ start: at(from), end: at(to + 1) }))
    if (spans.some(({ start, end }) => start <= now && now < end)) return now
    const openings = spans.map(({ start }) => start).filter((start) => start > now)
    if (openings.length > 0) return Math.min(...openings)
  }
  throw new Error('The execution window does not open within eight days.')
}
