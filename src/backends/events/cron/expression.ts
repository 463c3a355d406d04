/** Parser of cron expressions in the Quartz dialect, with an optional year. */

export interface CronExpression {
  /** Ascending, as are all lists here. */
  seconds: number[]
  minutes: number[]
  hours: number[]
  days: DayRule
  /** 1 is January. */
  months: number[]
  /** Undefined means every year. */
  years: number[] | undefined
}

export type DayRule = { kind: 'day-of-month'; rules: MonthDayRule[] } | { kind: 'day-of-week'; rule: WeekDayRule }

export type MonthDayRule =
  | { kind: 'days'; days: number[] }
  /** The weekday (Monday to Friday) nearest to the day, in the same month. */
  | { kind: 'nearest-weekday'; day: number }
  /** The last day of the month, or so many days before it; with `weekday` the nearest Monday to Friday. */
  | { kind: 'last'; daysBefore: number; weekday: boolean }

/** 1 is Sunday. */
export type WeekDayRule =
  | { kind: 'days'; days: number[] }
  | { kind: 'last'; day: number }
  | { kind: 'nth'; day: number; nth: number }

interface Field {
  name: string
  min: number
  max: number
  /** The largest step after a slash. */
  maxStep: number
  /** Names for the values, from the smallest on. */
  names?: readonly string[]
}

const second: Field = { name: 'second', min: 0, max: 59, maxStep: 59 }
const minute: Field = { name: 'minute', min: 0, max: 59, maxStep: 59 }
const hour: Field = { name: 'hour', min: 0, max: 23, maxStep: 23 }
const dayOfMonth: Field = { name: 'day of month', min: 1, max: 31, maxStep: 31 }
const month: Field = {
  name: 'month',
  min: 1,
  max: 12,
  maxStep: 12,
  names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
}
const dayOfWeek: Field = {
  name: 'day of week',
  min: 1,
  max: 7,
  maxStep: 7,
  names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
}
const year: Field = { name: 'year', min: 1970, max: 2299, maxStep: 329 }

/** For those who know cron of Unix, with its five fields. */
const unixHint =
  ' To an expression for crontab add a second in front, and write "?" for one of the two kinds of day: 0 30 2 * * ?'

/** Longer texts are refused before they are looked at. */
const maxLength = 1_000

/**
 * @throws {Error} with a message for the person who wrote the expression.
 * @see docs/contracts/events.md#cron-expressions
 */
export function parseCron(text: string): CronExpression {
  if (text.length > maxLength) throw new Error(`The expression is longer than ${maxLength} characters.`)
  const fields = text.trim().toUpperCase().split(/\s+/)
  if (fields.length < 6) {
    const count = text.trim() === '' ? 0 : fields.length
    throw new Error(
      `The expression has ${count} ${count === 1 ? 'field' : 'fields'}; it needs at least 6: ` +
        `second, minute, hour, day of month, month, day of week.${count === 5 ? unixHint : ''}`,
    )
  }
  const [seconds, minutes, hours, days, months, weekDays, years] = fields as [string, string, string, string, string, string] &
    string[]
  return {
    seconds: parseList(seconds, second),
    minutes: parseList(minutes, minute),
    hours: parseList(hours, hour),
    months: parseList(months, month),
    days: parseDays(days, weekDays),
    years: years === undefined || years === '*' ? undefined : parseList(years, year),
  }
}

function parseDays(days: string, weekDays: string): DayRule {
  if (days === '?' && weekDays === '?') throw new Error('"?" can stand for the day of month or the day of week, not for both.')
  if (days === '?') return { kind: 'day-of-week', rule: parseWeekDays(weekDays) }
  if (weekDays === '?') return { kind: 'day-of-month', rules: parseMonthDays(days) }
  throw new Error('A day of month and a day of week cannot be given together; write "?" for one of them.')
}

function parseMonthDays(text: string): MonthDayRule[] {
  const items = text.split(',')
  if (items.length > 1 && items.some((item) => item.startsWith('L'))) {
    throw new Error('"L" cannot be combined with other days of the month.')
  }
  const days: number[] = []
  const special: MonthDayRule[] = []
  for (const item of items) {
    const rule = parseSpecialDay(item)
    if (rule === undefined) days.push(...parseItem(item, dayOfMonth))
    else special.push(rule)
  }
  return days.length === 0 ? special : [{ kind: 'days', days: ascending(days) }, ...special]
}

/** `L`, `L-3`, `LW`, `L-3W` or `15W`. */
function parseSpecialDay(item: string): MonthDayRule | undefined {
  const last = /^L(?:-(\d{1,2}))?(W)?$/.exec(item)
  if (last !== null) {
    const daysBefore = Number(last[1] ?? 0)
    if (daysBefore > 30) throw new Error('The offset after "L-" is at most 30.')
    return { kind: 'last', daysBefore, weekday: last[2] !== undefined }
  }
  const nearest = /^(\d{1,2})W$/.exec(item)
  return nearest === null ? undefined : { kind: 'nearest-weekday', day: parseValue(nearest[1] as string, dayOfMonth) }
}

function parseWeekDays(text: string): WeekDayRule {
  if (text === 'L') return { kind: 'days', days: [7] }
  const last = /^([A-Z]{3}|\d)L$/.exec(text)
  if (last !== null) return { kind: 'last', day: parseValue(last[1] as string, dayOfWeek) }
  const nth = /^([A-Z]{3}|\d)#(\d+)$/.exec(text)
  if (nth !== null) {
    if (Number(nth[2]) < 1 || Number(nth[2]) > 5) throw new Error('The number after "#" is 1 to 5.')
    return { kind: 'nth', day: parseValue(nth[1] as string, dayOfWeek), nth: Number(nth[2]) }
  }
  if (/[L#]/.test(text)) {
    throw new Error(`"${text}" is no day of week; "L" and "#" follow a single day, as in 6L, FRI#3.`)
  }
  return { kind: 'days', days: parseList(text, dayOfWeek) }
}

function parseList(text: string, field: Field): number[] {
  if (text.includes('?')) throw new Error(`"?" can stand for the day of month or the day of week, not for the ${field.name}.`)
  return ascending(text.split(',').flatMap((item) => parseItem(item, field)))
}

function ascending(values: number[]): number[] {
  return [...new Set(values)].sort((one, other) => one - other)
}

/** One of `*`, `a`, `a-b`, each with an optional `/step`, or `/step` alone. */
function parseItem(item: string, field: Field): number[] {
  const parts = /^(?:(\*)|([A-Z]+|\d+)(?:-([A-Z]+|\d+))?)?(?:\/(\d+))?$/.exec(item)
  if (parts === null || item === '') throw new Error(`"${item}" is no ${field.name}.`)
  const [, , from, to, stepText] = parts
  const step = stepText === undefined ? 1 : Number(stepText)
  if (step < 1 || step > field.maxStep) {
    throw new Error(`The step ${stepText} of the ${field.name} is not between 1 and ${field.maxStep}.`)
  }
  if (from === undefined) return run(field.min, field.max, step, field)
  const start = parseValue(from, field)
  if (to !== undefined) return run(start, parseValue(to, field), step, field)
  return stepText === undefined ? [start] : run(start, field.max, step, field)
}

/** From `start` to `end` by `step`; with the end before the start it goes over the field's maximum, as hours do at night. */
function run(start: number, end: number, step: number, field: Field): number[] {
  if (end < start && field === year) throw new Error(`The years ${start}-${end} are in the wrong order.`)
  const size = field.max - field.min + 1
  const distance = (end - start + size) % size
  const values: number[] = []
  for (let offset = 0; offset <= distance; offset += step) values.push(((start - field.min + offset) % size) + field.min)
  return values
}

function parseValue(text: string, field: Field): number {
  const named = field.names?.indexOf(text) ?? -1
  if (named >= 0) return field.min + named
  if (!/^\d{1,4}$/.test(text)) throw new Error(`"${text}" is no ${field.name}.`)
  const value = Number(text)
  if (value < field.min || value > field.max) {
    throw new Error(`The ${field.name} ${text} is not between ${field.min} and ${field.max}.`)
  }
  return value
}
