/** Opening times of an execution window: weekdays and times of day in a time zone. */
import { type JsonObject, objectOf } from '../../json/values.ts'

interface ExecutionWindow {
  /** 1 is Sunday, 7 Saturday. */
  days: readonly number[]
  /** Minutes of the day, both inclusive, none beyond midnight. */
  spans: readonly { from: number; to: number }[]
}

const minutesPerDay = 24 * 60
const dayMs = minutesPerDay * 60_000
const mostSpans = 100
const allDays = [1, 2, 3, 4, 5, 6, 7]

/** @throws {Error} when days or times are not usable; the message is for the author of the pipeline. */
export function parseWindow(window: JsonObject): ExecutionWindow {
  const days = Array.isArray(window['days']) ? window['days'].map(Number) : []
  if (days.some((day) => !allDays.includes(day))) throw new Error('Days of an execution window go from 1, Sunday, to 7.')
  const whitelist = Array.isArray(window['whitelist']) ? window['whitelist'] : []
  if (whitelist.length > mostSpans) throw new Error(`An execution window has at most ${mostSpans} times of day.`)
  const spans = whitelist.flatMap(parseSpan)
  return {
    days: days.length > 0 ? days : allDays,
    spans: spans.length > 0 ? spans : [{ from: 0, to: minutesPerDay - 1 }],
  }
}

/** A span that ends before it starts goes on after midnight. */
function parseSpan(span: unknown): { from: number; to: number }[] {
  const time = objectOf(span)
  const from = minuteOfDay(time['startHour'], time['startMin'])
  const to = minuteOfDay(time['endHour'], time['endMin'])
  if (from <= to) return [{ from, to }]
  return [
    { from: 0, to },
    { from, to: minutesPerDay - 1 },
  ]
}

function minuteOfDay(hour: unknown, minute: unknown): number {
  const [hours, minutes] = [Number(hour ?? Number.NaN), Number(minute ?? 0)]
  const isTime = Number.isInteger(hours) && Number.isInteger(minutes) && hours >= 0 && hours <= 24 && minutes >= 0 && minutes < 60
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
  const zone = createZone(timeZone)
  const today = midnightBefore(now, zone)
  for (let days = 0; days <= 8; days++) {
    // Dates are counted, not hours: the day on which clocks change has 23 or 25 of them.
    const midnight = today + days * dayMs
    if (!window.days.includes(weekdayOf(midnight))) continue
    let opening = Infinity
    for (const { from, to } of window.spans) {
      const start = epochOf(midnight, from, zone)
      const end = epochOf(midnight, to + 1, zone)
      if (start <= now && now < end) return now
      if (start > now) opening = Math.min(opening, start)
    }
    if (opening !== Infinity) return opening
  }
  throw new Error('The execution window does not open within eight days.')
}

/** Midnight of the date that clocks of the zone show, as if it were in UTC. */
function midnightBefore(moment: number, zone: Zone): number {
  return Math.floor((moment + offsetMs(moment, zone)) / dayMs) * dayMs
}

function weekdayOf(midnight: number): number {
  return new Date(midnight).getUTCDay() + 1
}

/** The moment at which clocks of the zone show a time; the offset is looked up twice because it may change in between. */
function epochOf(midnight: number, minutes: number, zone: Zone): number {
  const local = midnight + minutes * 60_000
  const guess = local - offsetMs(local, zone)
  return local - offsetMs(guess, zone)
}

/** Making a formatter takes longer than all that is asked of it. */
type Zone = Intl.DateTimeFormat

function createZone(timeZone: string): Zone {
  return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
}

/** How far the clocks of a zone are ahead of UTC. */
function offsetMs(moment: number, zone: Zone): number {
  const parts = zone.formatToParts(moment)
  const name = parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
  const match = /GMT([+-])(\d{2}):(\d{2})/.exec(name)
  if (match === null) return 0
  return (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3])) * 60_000
}
