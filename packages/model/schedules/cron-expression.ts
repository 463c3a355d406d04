/** Parser of cron expressions in the Quartz dialect, with an optional year. */
import { Cron } from 'croner'

export interface CronExpression {
  /** Times that any of these has on a clock that shows UTC are times of the expression. */
  readonly patterns: readonly Cron[]
  /** It names no hours, so that the hour counts twice that comes twice. */
  readonly everyHour: boolean
}

interface Field {
  name: string
  min: number
  max: number
  /** Names for the values, from the smallest on; three letters of one are enough. */
  names?: readonly string[]
}

const second: Field = { name: 'second', min: 0, max: 59 }
const minute: Field = { name: 'minute', min: 0, max: 59 }
const hour: Field = { name: 'hour', min: 0, max: 23 }
const dayOfMonth: Field = { name: 'day of month', min: 1, max: 31 }
const month: Field = {
  name: 'month',
  min: 1,
  max: 12,
  names: [
    ...['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE', 'JULY', 'AUGUST', 'SEPTEMBER'],
    ...['OCTOBER', 'NOVEMBER', 'DECEMBER'],
  ],
}
const dayOfWeek: Field = {
  name: 'day of week',
  min: 1,
  max: 7,
  names: ['SUNDAY', 'MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY'],
}
const year: Field = { name: 'year', min: 1970, max: 2299 }

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
  if (text.length > maxLength)
    throw new Error(`The expression is longer than ${maxLength} characters.`)
  const fields = text.trim().toUpperCase().split(/\s+/)
  if (fields.length < 6) {
    const count = text.trim() === '' ? 0 : fields.length
    throw new Error(
      `The expression has ${count} ${count === 1 ? 'field' : 'fields'}; it needs at least 6: ` +
        `second, minute, hour, day of month, month, day of week.${count === 5 ? unixHint : ''}`,
    )
  }
  const [seconds, minutes, hours, days, months, weekDays, years] = fields as [
    string,
    string,
    string,
    string,
    string,
    string,
  ] &
    string[]
  const hoursOfDay = parseList(hours, hour)
  const time = [parseList(seconds, second), parseList(minutes, minute), hoursOfDay].join(' ')
  const monthsOfYear = parseList(months, month)
  const someYears = years === undefined || years === '*' ? undefined : parseList(years, year)
  const patterns = parseDays(days, weekDays, monthsOfYear, someYears)
  return {
    patterns: patterns.map(
      (text) =>
        new Cron(`${time} ${text}`, { timezone: 'UTC', paused: true, alternativeWeekdays: true }),
    ),
    everyHour: hoursOfDay.length === 24,
  }
}

/** @returns the last four fields, as croner reads them */
function parseDays(
  days: string,
  weekDays: string,
  monthsOfYear: number[],
  years: number[] | undefined,
): string[] {
  if (days === '?' && weekDays === '?')
    throw new Error('"?" can stand for the day of month or the day of week, not for both.')
  if (days !== '?' && weekDays !== '?') {
    throw new Error(
      'A day of month and a day of week cannot be given together; write "?" for one of them.',
    )
  }
  const rest = (weekDay: string) => `${monthsOfYear} ${weekDay} ${years ?? '*'}`
  if (days === '?') return [`* ${rest(parseWeekDays(weekDays))}`]
  const items = days.split(',')
  if (items.length > 1 && items.some((item) => item.startsWith('L'))) {
    throw new Error('"L" cannot be combined with other days of the month.')
  }
  const [, before, weekday] = /^L-(\d{1,2})(W?)$/.exec(days) ?? []
  if (before === undefined) return [`${items.map(parseMonthDay).join(',')} ${rest('*')}`]
  if (Number(before) > 30) throw new Error('The offset after "L-" is at most 30.')
  return beforeLast({ daysBefore: Number(before), weekday: weekday === 'W' }, monthsOfYear, years)
}

const isLeap = (someYear: number) => new Date(Date.UTC(someYear, 1, 29)).getUTCMonth() === 1
/** Each month with its last day, February with the years that it has it in. */
const lastDays = [
  { last: 31, months: [1, 3, 5, 7, 8, 10, 12] },
  { last: 30, months: [4, 6, 9, 11] },
  { last: 29, months: [2], hasYear: isLeap },
  { last: 28, months: [2], hasYear: (someYear: number) => !isLeap(someYear) },
]

/**
 * Croner knows the last day, and none that is counted from it.
 *
 * @param weekday The nearest Monday to Friday
 */
function beforeLast(
  { daysBefore, weekday }: { daysBefore: number; weekday: boolean },
  monthsOfYear: number[],
  years = run(year.min, year.max, 1, year),
): string[] {
  return lastDays.flatMap(({ last, months, hasYear = () => true }) => {
    const fields = [monthsOfYear.filter((one) => months.includes(one)), years.filter(hasYear)]
    if (daysBefore >= last || fields.some(({ length }) => length === 0)) return []
    return [`${last - daysBefore}${weekday ? 'W' : ''} ${fields.join(' * ')}`]
  })
}

/** `L`, `LW`, `15W`, or what every field takes. */
function parseMonthDay(item: string): string {
  if (item === 'L' || item === 'LW') return item
  const nearest = /^(\d{1,2})W$/.exec(item)?.[1]
  return nearest === undefined
    ? String(parseItem(item, dayOfMonth))
    : `${parseValue(nearest, dayOfMonth)}W`
}

function parseWeekDays(text: string): string {
  if (text === 'L') return '7'
  const last = /^([A-Z]{3,}|\d)L$/.exec(text)?.[1]
  if (last !== undefined) return `${parseValue(last, dayOfWeek)}#L`
  const [, day, nth] = /^([A-Z]{3,}|\d)#(\d+)$/.exec(text) ?? []
  if (day !== undefined) {
    if (Number(nth) < 1 || Number(nth) > 5) throw new Error('The number after "#" is 1 to 5.')
    return `${parseValue(day, dayOfWeek)}#${nth}`
  }
  if (/[L#]/.test(text)) {
    throw new Error(
      `"${text}" is no day of week; "L" and "#" follow a single day, as in 6L, FRI#3.`,
    )
  }
  return String(parseList(text, dayOfWeek))
}

function parseList(text: string, field: Field): number[] {
  if (text.includes('?'))
    throw new Error(
      `"?" can stand for the day of month or the day of week, not for the ${field.name}.`,
    )
  return [...new Set(text.split(',').flatMap((item) => parseItem(item, field)))].sort(
    (one, other) => one - other,
  )
}

/** One of `*`, `a`, `a-b`, each with an optional `/step`, or `/step` alone. */
function parseItem(item: string, field: Field): number[] {
  const parts = /^(?:(\*)|([A-Z]+|\d+)(?:-([A-Z]+|\d+))?)?(?:\/(\d+))?$/.exec(item)
  if (parts === null || item === '') throw new Error(`"${item}" is no ${field.name}.`)
  const [, , from, to, stepText] = parts
  const step = stepText === undefined ? 1 : Number(stepText)
  const maxStep = field === year ? year.max - year.min : field.max
  if (step < 1 || step > maxStep)
    throw new Error(`The step ${stepText} of the ${field.name} is not between 1 and ${maxStep}.`)
  if (from === undefined) return run(field.min, field.max, step, field)
  const start = parseValue(from, field)
  if (to !== undefined) return run(start, parseValue(to, field), step, field)
  return stepText === undefined ? [start] : run(start, field.max, step, field)
}

/** From `start` to `end` by `step`; with the end before the start it goes over the field's maximum, as hours do at night. */
function run(start: number, end: number, step: number, field: Field): number[] {
  if (end < start && field === year)
    throw new Error(`The years ${start}-${end} are in the wrong order.`)
  const size = field.max - field.min + 1
  const distance = (end - start + size) % size
  const values: number[] = []
  for (let offset = 0; offset <= distance; offset += step)
    values.push(((start - field.min + offset) % size) + field.min)
  return values
}

function parseValue(text: string, field: Field): number {
  const named =
    text.length < 3 ? -1 : (field.names?.findIndex((name) => name.startsWith(text)) ?? -1)
  if (named >= 0) return field.min + named
  if (!/^\d{1,4}$/.test(text)) throw new Error(`"${text}" is no ${field.name}.`)
  const value = Number(text)
  if (value < field.min || value > field.max) {
    throw new Error(`The ${field.name} ${text} is not between ${field.min} and ${field.max}.`)
  }
  return value
}
