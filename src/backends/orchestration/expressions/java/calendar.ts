/** Units of time, days of the week and months: enumerations of `java.time`. */
import { textArgument, wholeArgument } from '../arguments.ts'
import { ExpressionError } from '../lexer.ts'
import { describe } from '../values.ts'
import { type JavaClass, type JavaFunction, type JavaMethod, JavaObject } from './java-class.ts'

/** What dates, times and instants of `Temporal` have in common here. */
export interface Timed {
  add(amount: object): Timed
  subtract(amount: object): Timed
  with(fields: object): Timed
  until(other: never, options: object): Temporal.Duration
  round(options: object): Timed
}

/** Units of time: their name in Java, and in `Temporal`. */
export const units = {
  ...{ NANOS: 'nanoseconds', MICROS: 'microseconds', MILLIS: 'milliseconds', SECONDS: 'seconds', MINUTES: 'minutes' },
  ...{ HOURS: 'hours', DAYS: 'days', WEEKS: 'weeks', MONTHS: 'months', YEARS: 'years' },
} as const
export type Unit = keyof typeof units

function enumeration(
  name: string,
  values: readonly string[],
  methods: Record<string, JavaMethod<string>> = {},
): JavaClass<string> {
  const parse: JavaFunction = ([text]) => member(javaClass, values, textArgument(text))
  const javaClass: JavaClass<string> = {
    name,
    get constants() {
      return Object.fromEntries(values.map((each) => [each, new JavaObject(javaClass, each)]))
    },
    statics: { valueOf: parse },
    methods: { name: (value) => value, ordinal: (value) => values.indexOf(value), ...methods },
    toText: (value) => value,
    compare: (one, other) => values.indexOf(one) - values.indexOf(other),
  }
  return javaClass
}

function member(javaClass: JavaClass<string>, values: readonly string[], name: string): JavaObject<string> {
  if (!values.includes(name)) throw new ExpressionError(`${javaClass.name} has no "${name.slice(0, 40)}".`)
  return new JavaObject(javaClass, name)
}

/** Days of the week and months count from 1. */
function calendarNames(name: string, values: readonly string[]): JavaClass<string> {
  const at = (place: number) => values[((place % values.length) + values.length) % values.length] as string
  const javaClass: JavaClass<string> = enumeration(name, values, {
    getValue: (value) => values.indexOf(value) + 1,
    plus: (value, [amount]) => new JavaObject(javaClass, at(values.indexOf(value) + wholeArgument(amount))),
    minus: (value, [amount]) => new JavaObject(javaClass, at(values.indexOf(value) - wholeArgument(amount))),
  })
  const of: JavaFunction = ([number]) => member(javaClass, values, values[wholeArgument(number) - 1] ?? String(number))
  return Object.assign(javaClass, { statics: { ...javaClass.statics, of } })
}

export const dayOfWeek = calendarNames(
  'java.time.DayOfWeek',
  'MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY'.split(' '),
)
export const month = calendarNames(
  'java.time.Month',
  'JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER'.split(' '),
)

export const chronoUnit: JavaClass<string> = enumeration('java.time.temporal.ChronoUnit', Object.keys(units), {
  between: (unit, [from, to]) => countBetween(from, to, units[unit as Unit]),
})

export type TemporalUnit = (typeof units)[Unit]

export function unitArgument(value: unknown): TemporalUnit {
  return units[objectValue<string>(value, [chronoUnit]) as Unit]
}

/** @throws {ExpressionError} unless it is an object of one of the classes */
export function objectValue<T>(value: unknown, classes: readonly JavaClass<T>[]): T {
  if (value instanceof JavaObject && classes.includes(value.class as JavaClass<T>)) return value.value as T
  throw new ExpressionError(`${classes.map(({ name }) => name).join(' or ')} was expected instead of ${describe(value)}.`)
}

/** A length of time in one unit, whole; days of instants have 24 hours. */
export function between(from: unknown, to: unknown, unit: TemporalUnit): Temporal.Duration {
  if (!(from instanceof JavaObject) || !(to instanceof JavaObject) || from.class !== to.class)
    throw new ExpressionError(`There is no time between ${describe(from)} and ${describe(to)}.`)
  const [one, other] = [from, to].map(({ value }) =>
    value instanceof Temporal.Instant ? value.toZonedDateTimeISO('UTC') : value,
  )
  return (one as Timed).until(other as never, { largestUnit: unit, smallestUnit: unit, roundingMode: 'trunc' })
}

export function countBetween(from: unknown, to: unknown, unit: TemporalUnit): bigint {
  return BigInt(between(from, to, unit)[unit as 'days'])
}
