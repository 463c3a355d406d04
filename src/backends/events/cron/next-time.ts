/** Next time of a cron expression in a time zone, across changes of its clocks. */
import type { CronExpression, MonthDayRule, WeekDayRule } from './expression.ts'
import type { WallTime, ZoneClock } from './zone-clock.ts'

/** The calendar repeats its weekdays within this many years, leap days included, so what has not come by then never does. */
const searchYears = 41

/**
 * The first instant after `afterMs`, undefined when there is none.
 *
 * When clocks are set forward, a time of day that is skipped comes as much later. When they are set back, it comes once;
 * only an expression for every hour also counts the hour that is repeated.
 */
export function nextTime(cron: CronExpression, afterMs: number, clock: ZoneClock): number | undefined {
  const after = Math.floor(afterMs / 1000) * 1000
  const everyHour = cron.hours.length === 24
  let wall: WallTime = after + clock.offsetAt(after) + 1000
  for (;;) {
    const match = nextWallTime(cron, wall)
    if (match === undefined) return undefined
    const [first, repeated] = clock.instantsAt(match)
    if (first === undefined) {
      const skipped = clock.instantInGap(match)
      if (!everyHour && skipped > after) return skipped
      const change = clock.changeBetween(skipped - 86_400_000, skipped)
      wall = everyHour ? change + clock.offsetAt(change) : match + 1000
      continue
    }
    const found = first > after ? first : everyHour ? repeated : undefined
    if (found !== undefined && found > after) return everyHour ? earlierInRepeatedHour(cron, after, found, clock) : found
    wall = match + 1000
  }
}

/** Between two instants clocks may have been set back, and times before `found` come a second time. */
function earlierInRepeatedHour(cron: CronExpression, after: number, found: number, clock: ZoneClock): number {
  if (clock.offsetAt(found) >= clock.offsetAt(after)) return found
  const change = clock.changeBetween(after, found)
  const offset = clock.offsetAt(change)
  const match = nextWallTime(cron, change + offset)
  return match === undefined ? found : Math.min(found, match - offset)
}

/** The first wall time from `wall` on, whole seconds. */
function nextWallTime(cron: CronExpression, wall: WallTime): WallTime | undefined {
  const from = new Date(wall)
  const [year, month, day] = [from.getUTCFullYear(), from.getUTCMonth() + 1, from.getUTCDate()]
  const years = cron.years?.filter((candidate) => candidate >= year) ?? range(year, year + searchYears)
  for (const someYear of years) {
    for (const someMonth of cron.months) {
      if (someYear === year && someMonth < month) continue
      for (const someDay of daysOf(cron, someYear, someMonth)) {
        const thisMonth = someYear === year && someMonth === month
        if (thisMonth && someDay < day) continue
        const sinceMidnight = thisMonth && someDay === day ? wall - Date.UTC(year, month - 1, day) : 0
        const timeOfDay = nextTimeOfDay(cron, sinceMidnight)
        if (timeOfDay !== undefined) return Date.UTC(someYear, someMonth - 1, someDay) + timeOfDay
      }
    }
  }
  return undefined
}

/** Milliseconds since midnight. */
function nextTimeOfDay({ hours, minutes, seconds }: CronExpression, fromMs: number): number | undefined {
  for (const hour of hours) {
    const hourMs = hour * 3_600_000
    if (hourMs + 3_599_000 < fromMs) continue
    for (const minute of minutes) {
      const minuteMs = hourMs + minute * 60_000
      if (minuteMs + 59_000 < fromMs) continue
      const second = seconds.find((candidate) => minuteMs + candidate * 1000 >= fromMs)
      if (second !== undefined) return minuteMs + second * 1000
    }
  }
  return undefined
}

/** The matching days of one month, ascending. */
function daysOf({ days }: CronExpression, year: number, month: number): number[] {
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate()
  const found =
    days.kind === 'day-of-week'
      ? weekDaysOf(days.rule, year, month, length)
      : days.rules.flatMap((rule) => monthDaysOf(rule, year, month, length))
  return [...new Set(found)].sort((one, other) => one - other)
}

function monthDaysOf(rule: MonthDayRule, year: number, month: number, length: number): number[] {
  if (rule.kind === 'days') return rule.days.filter((day) => day <= length)
  const day = rule.kind === 'last' ? length - rule.daysBefore : rule.day
  if (day < 1 || day > length) return []
  const toWeekday = rule.kind === 'nearest-weekday' || rule.weekday
  return [toWeekday ? nearestWeekday(year, month, day, length) : day]
}

/** Saturday moves to Friday and Sunday to Monday, unless that leaves the month. */
function nearestWeekday(year: number, month: number, day: number, length: number): number {
  const weekDay = weekDayOf(year, month, day)
  if (weekDay === 7) return day === 1 ? day + 2 : day - 1
  if (weekDay === 1) return day === length ? day - 2 : day + 1
  return day
}

function weekDaysOf(rule: WeekDayRule, year: number, month: number, length: number): number[] {
  const all = range(1, length)
  if (rule.kind === 'days') return all.filter((day) => rule.days.includes(weekDayOf(year, month, day)))
  const same = all.filter((day) => weekDayOf(year, month, day) === rule.day)
  return rule.kind === 'last' ? same.slice(-1) : same.slice(rule.nth - 1, rule.nth)
}

/** 1 is Sunday. */
function weekDayOf(year: number, month: number, day: number): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 1
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
