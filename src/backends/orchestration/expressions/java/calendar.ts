/** Units of time, days of the week and months: enumerations of `java.time`. */
import { ExpressionError } from '../lexer.ts'
import { describe, textArgument, wholeArgument } from '../values.ts'
import { createJavaClass, type JavaClass, type JavaFunction, JavaObject, type Wrap } from './java-class.ts'

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
  NANOS: 'nanoseconds',
  MICROS: 'microseconds',
  MILLIS: 'milliseconds',
  SECONDS: 'seconds',
  MINUTES: 'minutes',
  HOURS: 'hours',
  DAYS: 'days',
  WEEKS: 'weeks',
  MONTHS: 'months',
  YEARS: 'years',
} as const
export type Unit = keyof typeof units

/** @param more Members that only this one has; `member` makes the object of a name */
function enumeration(
  name: string,
  values: readonly string[],
  more: (member: Wrap<string>) => Pick<JavaClass<string>, 'statics' | 'methods'>,
): JavaClass<string> {
  return createJavaClass<string>(name, (wrap) => {
    const member: Wrap<string> = (text) => {
      if (!values.includes(text)) throw new ExpressionError(`${name} has no "${text.slice(0, 40)}".`)
      return wrap(text)
    }
    const parse: JavaFunction = ([text]) => member(textArgument(text))
    const { statics, methods } = more(member)
    return {
      constants: Object.fromEntries(values.map((each) => [each, wrap(each)])),
      statics: { valueOf: parse, ...statics },
      methods: { name: (value) => value, ordinal: (value) => values.indexOf(value), ...methods },
      toText: (value) => value,
      compare: (one, other) => values.indexOf(one) - values.indexOf(other),
    }
  })
}

/** Days of the week and months count from 1. */
function calendarNames(name: string, values: readonly string[]): JavaClass<string> {
  const at = (place: number) => values[((place % values.length) + values.length) % values.length] as string
  return enumeration(name, values, (member) => ({
    statics: { of: ([number]) => member(values[wholeArgument(number) - 1] ?? String(number)) },
    methods: {
      getValue: (value) => values.indexOf(value) + 1,
      plus: (value, [amount]) => member(at(values.indexOf(value) + wholeArgument(amount))),
      minus: (value, [amount]) => member(at(values.indexOf(value) - wholeArgument(amount))),
    },
  }))
}

export const dayOfWeek = calendarNames(
  'java.time.DayOfWeek',
  'MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY'.split(' '),
)
export const month = calendarNames(
  'java.time.Month',
  'JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER'.split(' '),
)

export const chronoUnit = enumeration('java.time.temporal.ChronoUnit', Object.keys(units), () => ({
  methods: { between: (unit, [from, to]) => countBetween(from, to, units[unit as Unit]) },
}))

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
