/** English description of a cron expression. */
import type { CronExpression, DayRule, MonthDayRule } from './expression.ts'

const weekDays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const ordinals = ['first', 'second', 'third', 'fourth', 'fifth']
const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
]

/** For example "At 10:00 AM, only on Thursday". */
export function describeCron(cron: CronExpression): string {
  const parts = [...describeTime(cron), ...describeDays(cron.days), ...describeMonths(cron.months)]
  if (cron.years !== undefined) parts.push(`only in ${listed(cron.years, 1970, 2299, String)}`)
  const text = parts.join(', ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A few times of day are written out; everything else is said field by field. */
function describeTime({ seconds, minutes, hours }: CronExpression): string[] {
  if (seconds.length === 1 && minutes.length === 1 && hours.length <= 4) {
    const [second, minute] = [seconds[0] as number, minutes[0] as number]
    return [`at ${joined(hours.map((hour) => clockTime(hour, minute, second)))}`]
  }
  const parts: string[] = []
  const [everySecond, everyMinute] = [seconds.length === 60, minutes.length === 60]
  if (everySecond) parts.push('every second')
  else if (seconds.length > 1 || seconds[0] !== 0) parts.push(describeUnit(seconds, 60, 'second', 'past the minute'))
  const onTheHour = minutes.length === 1 && minutes[0] === 0
  if (!everyMinute && !onTheHour) parts.push(describeUnit(minutes, 60, 'minute', 'past the hour'))
  else if (everyMinute && !everySecond) parts.push('every minute')
  else if (onTheHour && parts.length > 0) parts.push('at the full hour')
  if (hours.length === 24) return onTheHour && parts.length === 0 ? ['every hour'] : parts
  return [...parts, describeHours(hours, onTheHour && parts.length === 0)]
}

function describeUnit(values: number[], size: number, unit: string, suffix: string): string {
  const step = stepOf(values, size)
  if (step !== undefined) {
    const start = values[0] === 0 ? '' : ` from ${unit} ${values[0]}`
    return `every ${step} ${unit}s${start}`
  }
  const plural = values.length === 1 && values[0] === 1 ? '' : 's'
  return `at ${listed(values, 0, size - 1, String)} ${unit}${plural} ${suffix}`
}

/** @param alone Nothing was said of the minutes yet, so each hour is meant at its start. */
function describeHours(hours: number[], alone: boolean): string {
  const step = stepOf(hours, 24)
  if (step !== undefined) return `every ${step} hours${hours[0] === 0 ? '' : ` from ${clockTime(hours[0] as number)}`}`
  const run = runOf(hours, 0, 23)
  if (run === undefined || run.from === run.to) {
    return alone
      ? `at ${joined(hours.map((hour) => clockTime(hour)))}`
      : `in the hours of ${joined(hours.map((hour) => clockTime(hour)))}`
  }
  return alone
    ? `every hour from ${clockTime(run.from)} through ${clockTime(run.to)}`
    : `between ${clockTime(run.from)} and ${clockTime(run.to, 59)}`
}

function describeDays(days: DayRule): string[] {
  if (days.kind === 'day-of-month') {
    const texts = days.rules.map(describeMonthDay).filter((text) => text !== '')
    return texts.length === 0 ? [] : [joined(texts)]
  }
  const { rule } = days
  if (rule.kind === 'last') return [`on the last ${weekDays[rule.day - 1]} of the month`]
  if (rule.kind === 'nth') return [`on the ${ordinals[rule.nth - 1]} ${weekDays[rule.day - 1]} of the month`]
  if (rule.days.length === 7) return []
  return [`only on ${listed(rule.days, 1, 7, (day) => weekDays[day - 1] as string)}`]
}

function describeMonthDay(rule: MonthDayRule): string {
  if (rule.kind === 'nearest-weekday') return `on the weekday nearest day ${rule.day} of the month`
  if (rule.kind === 'last') {
    const day = rule.daysBefore === 0 ? 'the last day' : `${counted(rule.daysBefore, 'day')} before the last day`
    if (!rule.weekday) return rule.daysBefore === 0 ? `on ${day} of the month` : `${day} of the month`
    return rule.daysBefore === 0 ? 'on the last weekday of the month' : `on the weekday nearest ${day} of the month`
  }
  if (rule.days.length === 31) return ''
  return `on day ${listed(rule.days, 1, 31, String)} of the month`
}

function describeMonths(values: number[]): string[] {
  return values.length === 12 ? [] : [`only in ${listed(values, 1, 12, (month) => months[month - 1] as string)}`]
}

/** Values at equal distances through the whole field, at least three. */
function stepOf(values: number[], size: number): number | undefined {
  const [first = 0, second = 0] = values
  const step = second - first
  if (values.length < 3 || step < 2) return undefined
  const even = values.every((value, index) => value === first + index * step)
  return even && first < step && (values.at(-1) as number) + step >= size ? step : undefined
}

/** Three or more neighbours become "from through to", going over the end of the field if need be. */
function listed(values: number[], min: number, max: number, name: (value: number) => string): string {
  const run = values.length > 2 ? runOf(values, min, max) : undefined
  return run === undefined ? joined(values.map(name)) : `${name(run.from)} through ${name(run.to)}`
}

function runOf(values: number[], min: number, max: number): { from: number; to: number } | undefined {
  const has = (value: number) => values.includes(value)
  const starts = values.filter((value) => !has(value === min ? max : value - 1))
  if (starts.length !== 1) return undefined
  const from = starts[0] as number
  const size = max - min + 1
  return { from, to: ((from - min + values.length - 1) % size) + min }
}

function clockTime(hour: number, minute = 0, second = 0): string {
  const half = hour < 12 ? 'AM' : 'PM'
  const seconds = second === 0 ? '' : `:${String(second).padStart(2, '0')}`
  return `${hour % 12 === 0 ? 12 : hour % 12}:${String(minute).padStart(2, '0')}${seconds} ${half}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function joined(texts: string[]): string {
  return texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}
