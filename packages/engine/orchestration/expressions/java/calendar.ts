/** Units of time, days of the week and zones of `java.time`. */
import { ExpressionError } from '../lexer.ts'
import { describe, textArgument, wholeArgument } from '../values.ts'
import {
  createJavaClass,
  type JavaClass,
  type JavaFunction,
  JavaObject,
  type Wrap,
} from './java-class.ts'

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
      if (!values.includes(text))
        throw new ExpressionError(`${name} has no "${text.slice(0, 40)}".`)
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

const days = 'MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY'.split(' ')
const dayAfter = (day: string, amount: number) =>
  days.at((days.indexOf(day) + amount) % days.length) as string

/** Days count from 1. */
export const dayOfWeek = enumeration('java.time.DayOfWeek', days, (member) => ({
  statics: { of: ([number]) => member(days[wholeArgument(number) - 1] ?? String(number)) },
  methods: {
    getValue: (day) => days.indexOf(day) + 1,
    plus: (day, [amount]) => member(dayAfter(day, wholeArgument(amount))),
    minus: (day, [amount]) => member(dayAfter(day, -wholeArgument(amount))),
  },
}))

export const chronoUnit = enumeration('java.time.temporal.ChronoUnit', Object.keys(units), () => ({
  methods: { between: (unit, [from, to]) => countBetween(from, to, units[unit as Unit]) },
}))

type TemporalUnit = (typeof units)[Unit]

export function unitArgument(value: unknown): TemporalUnit {
  return units[objectValue<string>(value, chronoUnit) as Unit]
}

/** @throws {ExpressionError} unless it is an object of the class */
export function objectValue<T>(value: unknown, javaClass: JavaClass<T>): T {
  if (value instanceof JavaObject && value.class === (javaClass as JavaClass<unknown>))
    return value.value as T
  throw new ExpressionError(`${javaClass.name} was expected instead of ${describe(value)}.`)
}

/** Whole units from one moment to another; days of instants have 24 hours. */
export function countBetween(from: unknown, to: unknown, unit: TemporalUnit): bigint {
  if (!(from instanceof JavaObject) || !(to instanceof JavaObject) || from.class !== to.class)
    throw new ExpressionError(`There is no time between ${describe(from)} and ${describe(to)}.`)
  const [one, other] = [from, to].map(({ value }) =>
    value instanceof Temporal.Instant ? value.toZonedDateTimeISO('UTC') : value,
  )
  const length = (one as Timed).until(other as never, {
    largestUnit: unit,
    smallestUnit: unit,
    roundingMode: 'trunc',
  })
  return BigInt(length[unit as 'days'])
}

/** Where no zone is named, as in the containers of most services. */
export const defaultZone = 'UTC'

export function zoneArgument(value: unknown): string {
  return typeof value === 'string' ? checkZone(value) : objectValue(value, zoneId)
}

export function checkZone(name: string): string {
  const zone =
    name === 'Z' || name === 'GMT'
      ? 'UTC'
      : /^[+-]\d{1,2}$/.test(name)
        ? `${name.replace(/^(.)(\d)$/, '$10$2')}:00`
        : name
  return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId
}

export const zoneId: JavaClass<string> = {
  name: 'java.time.ZoneId',
  statics: {
    of: ([name]) => new JavaObject(zoneId, checkZone(textArgument(name))),
    systemDefault: () => new JavaObject(zoneId, defaultZone),
  },
  methods: { getId: (zone) => zone },
  toText: (zone) => zone,
}
