/** Dates and times: `java.time`, `java.util.Date` and `java.text.SimpleDateFormat` over `Temporal`. */
import { textArgument, wholeArgument } from '../arguments.ts'
import { ExpressionError } from '../lexer.ts'
import { describe } from '../values.ts'
import { formatMoment, type Moment, nanosecondsOf, parseMoment, parsePattern } from './date-format.ts'
import { type CallContext, type JavaClass, type JavaFunction, type JavaMethod, JavaObject } from './java-class.ts'

/** What dates, times and instants of `Temporal` have in common here. */
interface Timed {
  add(amount: object): Timed
  subtract(amount: object): Timed
  with(fields: object): Timed
  until(other: never, options: object): Temporal.Duration
  round(options: object): Timed
}

type DateLike = Temporal.PlainDate | Temporal.PlainDateTime | Temporal.ZonedDateTime

/** For methods that count nothing. */
const noContext = undefined as unknown as CallContext

/** Where no zone is named, as in the containers of most services. */
const defaultZone = 'UTC'
const nanosecondsPerSecond = 1_000_000_000n

/** Units of time: their name in Java, and in `Temporal`. */
const units = {
  ...{ NANOS: 'nanoseconds', MICROS: 'microseconds', MILLIS: 'milliseconds', SECONDS: 'seconds', MINUTES: 'minutes' },
  ...{ HOURS: 'hours', DAYS: 'days', WEEKS: 'weeks', MONTHS: 'months', YEARS: 'years' },
} as const
type Unit = keyof typeof units

const dateUnits: readonly Unit[] = ['DAYS', 'WEEKS', 'MONTHS', 'YEARS']
const timeUnits: readonly Unit[] = ['NANOS', 'SECONDS', 'MINUTES', 'HOURS']
const dateFields = {
  ...{ getYear: 'year', getMonthValue: 'month', getDayOfMonth: 'day', getDayOfYear: 'dayOfYear' },
  ...{ lengthOfMonth: 'daysInMonth', lengthOfYear: 'daysInYear', isLeapYear: 'inLeapYear' },
}
const timeFields = { getHour: 'hour', getMinute: 'minute', getSecond: 'second' }
const dateParts = { withYear: 'year', withMonth: 'month', withDayOfMonth: 'day' }
const timeParts = { withHour: 'hour', withMinute: 'minute', withSecond: 'second' }

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

const dayOfWeek = calendarNames('java.time.DayOfWeek', 'MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY'.split(' '))
const month = calendarNames(
  'java.time.Month',
  'JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER'.split(' '),
)

const chronoUnit: JavaClass<string> = enumeration('java.time.temporal.ChronoUnit', Object.keys(units), {
  between: (unit, [from, to]) => countBetween(from, to, units[unit as Unit]),
})

type TemporalUnit = (typeof units)[Unit]

function unitArgument(value: unknown): TemporalUnit {
  return units[objectValue<string>(value, [chronoUnit]) as Unit]
}

/** @throws {ExpressionError} unless it is an object of one of the classes */
function objectValue<T>(value: unknown, classes: readonly JavaClass<T>[]): T {
  if (value instanceof JavaObject && classes.includes(value.class as JavaClass<T>)) return value.value as T
  throw new ExpressionError(`${classes.map(({ name }) => name).join(' or ')} was expected instead of ${describe(value)}.`)
}

/** A length of time in one unit, whole; days of instants have 24 hours. */
function between(from: unknown, to: unknown, unit: TemporalUnit): Temporal.Duration {
  if (!(from instanceof JavaObject) || !(to instanceof JavaObject) || from.class !== to.class)
    throw new ExpressionError(`There is no time between ${describe(from)} and ${describe(to)}.`)
  const [one, other] = [from, to].map(({ value }) =>
    value instanceof Temporal.Instant ? value.toZonedDateTimeISO('UTC') : value,
  )
  return (one as Timed).until(other as never, { largestUnit: unit, smallestUnit: unit, roundingMode: 'trunc' })
}

function countBetween(from: unknown, to: unknown, unit: TemporalUnit): bigint {
  return BigInt(between(from, to, unit)[unit as 'days'])
}

/** Days and longer of an instant: each day has 24 hours. */
function shift<T>(value: T, amount: Partial<Record<TemporalUnit, number>>, isBack: boolean): T {
  const start = (value instanceof Temporal.Instant ? value.toZonedDateTimeISO('UTC') : value) as Timed
  const end = isBack ? start.subtract(amount) : start.add(amount)
  return (value instanceof Temporal.Instant ? (end as unknown as Temporal.ZonedDateTime).toInstant() : end) as T
}

function arithmetic<T>(of: () => JavaClass<T>, named: readonly Unit[]): Record<string, JavaMethod<T>> {
  const methods: Record<string, JavaMethod<T>> = {}
  for (const [sign, isBack] of [
    ['plus', false],
    ['minus', true],
  ] as const) {
    methods[sign] = (value, [amount, unit]) =>
      unit === undefined
        ? new JavaObject(of(), shift(value, objectValue(amount, [duration, period]) as object, isBack))
        : new JavaObject(of(), shift(value, { [unitArgument(unit)]: wholeArgument(amount) }, isBack))
    for (const unit of named) {
      const name = sign + unit.charAt(0) + unit.slice(1).toLowerCase()
      methods[name] = (value, [amount]) => new JavaObject(of(), shift(value, { [units[unit]]: wholeArgument(amount) }, isBack))
    }
  }
  return methods
}

function readers<T extends object>(fields: Readonly<Record<string, string>>): Record<string, JavaMethod<T>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, (value: T) => (value as Record<string, unknown>)[field]]),
  )
}

function changers<T>(of: () => JavaClass<T>, parts: Readonly<Record<string, string>>): Record<string, JavaMethod<T>> {
  const change =
    (field: string): JavaMethod<T> =>
    (value, [number]) =>
      new JavaObject(of(), (value as unknown as Timed).with({ [field]: wholeArgument(number) }) as T)
  return Object.fromEntries(Object.entries(parts).map(([name, field]) => [name, change(field)]))
}

/** What all classes of dates and times offer. */
function common<T extends object>(of: () => JavaClass<T>): Record<string, JavaMethod<T>> {
  const order = (value: T, other: unknown) => of().compare?.(value, objectValue(other, [of()])) ?? 0
  return {
    isBefore: (value, [other]) => order(value, other) < 0,
    isAfter: (value, [other]) => order(value, other) > 0,
    isEqual: (value, [other]) => order(value, other) === 0,
    until: (value, [other, unit]) => countBetween(new JavaObject(of(), value), other, unitArgument(unit)),
    format: (value, [format]) => objectValue(format, [formatter]).write(new JavaObject(of(), value) as never),
  }
}

const dayMethods = <T extends DateLike>(): Record<string, JavaMethod<T>> => ({
  ...readers<T>(dateFields),
  getDayOfWeek: (value) => dayOfWeek.statics?.['of']?.([value.dayOfWeek], noContext),
  getMonth: (value) => month.statics?.['of']?.([value.month], noContext),
})

const clockMethods = <T extends Temporal.PlainTime | Temporal.PlainDateTime | Temporal.ZonedDateTime>(
  of: () => JavaClass<T>,
): Record<string, JavaMethod<T>> => ({
  ...readers<T>(timeFields),
  getNano: (value) => nanosecondsOf(value as unknown as Moment),
  truncatedTo: (value, [unit]) => {
    const smallestUnit = unitArgument(unit).slice(0, -1)
    return new JavaObject(of(), (value as unknown as Timed).round({ smallestUnit, roundingMode: 'trunc' }) as unknown as T)
  },
})

function zoneArgument(value: unknown): string {
  return typeof value === 'string' ? checkZone(value) : objectValue(value, [zoneId, zoneOffset])
}

function checkZone(name: string): string {
  const zone =
    name === 'Z' || name === 'GMT' ? 'UTC' : /^[+-]\d{1,2}$/.test(name) ? `${name.replace(/^(.)(\d)$/, '$10$2')}:00` : name
  return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId
}

/** The moment of the call in the zone that is the only argument, if there is one. */
function nowIn([zone]: readonly unknown[], { now }: CallContext): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone === undefined ? defaultZone : zoneArgument(zone))
}

/** Reads a text by a formatter, or as ISO writes it. */
function reader<T>(of: () => JavaClass<T>, fromIso: (text: string) => T): JavaFunction {
  return ([text, format]) => {
    const iso = format === undefined ? textArgument(text) : objectValue(format, [formatter]).read(textArgument(text))
    return new JavaObject(of(), fromIso(iso))
  }
}

const pieces = (args: readonly unknown[]) =>
  args.map((each) => (each instanceof JavaObject ? monthNumber(each) : wholeArgument(each)))
const monthNumber = (value: unknown) => Object.keys(month.constants ?? {}).indexOf(objectValue(value, [month])) + 1

/** Java leaves out seconds that are zero, and writes fractions in groups of three digits. */
function clockText(text: string): string {
  return text.replace(/(T|^)(\d\d:\d\d):(\d\d)(?:\.(\d+))?/, (_all, before, minutes, seconds, fraction?: string) => {
    if (fraction !== undefined)
      return `${before}${minutes}:${seconds}.${fraction.padEnd(Math.ceil(fraction.length / 3) * 3, '0')}`
    return `${before}${minutes}${seconds === '00' ? '' : `:${seconds}`}`
  })
}

const localDate: JavaClass<Temporal.PlainDate> = {
  name: 'java.time.LocalDate',
  statics: {
    now: (args, context) => new JavaObject(localDate, nowIn(args, context).toPlainDate()),
    of: (args) => {
      const [year = 0, monthOfYear = 0, day = 0] = pieces(args)
      return new JavaObject(localDate, Temporal.PlainDate.from({ year, month: monthOfYear, day }, { overflow: 'reject' }))
    },
    parse: reader(
      () => localDate,
      (text) => Temporal.PlainDate.from(text),
    ),
    ofEpochDay: ([day]) => new JavaObject(localDate, new Temporal.PlainDate(1970, 1, 1).add({ days: wholeArgument(day) })),
  },
  methods: {
    ...common(() => localDate),
    ...arithmetic(() => localDate, dateUnits),
    ...changers(() => localDate, dateParts),
    ...dayMethods<Temporal.PlainDate>(),
    atStartOfDay: (date, [zone]) =>
      zone === undefined
        ? new JavaObject(localDateTime, date.toPlainDateTime())
        : new JavaObject(zonedDateTime, date.toZonedDateTime(zoneArgument(zone))),
    atTime: (date, [hour, minute]) =>
      new JavaObject(localDateTime, date.toPlainDateTime({ hour: wholeArgument(hour), minute: wholeArgument(minute) })),
    toEpochDay: (date) => BigInt(new Temporal.PlainDate(1970, 1, 1).until(date).days),
  },
  toText: (date) => date.toString(),
  compare: Temporal.PlainDate.compare,
}

const localTime: JavaClass<Temporal.PlainTime> = {
  name: 'java.time.LocalTime',
  statics: {
    now: (args, context) => new JavaObject(localTime, nowIn(args, context).toPlainTime()),
    of: (args) => {
      const [hour = 0, minute = 0, second = 0] = pieces(args)
      return new JavaObject(localTime, Temporal.PlainTime.from({ hour, minute, second }, { overflow: 'reject' }))
    },
    parse: reader(
      () => localTime,
      (text) => Temporal.PlainTime.from(text),
    ),
  },
  methods: {
    ...common(() => localTime),
    ...arithmetic(() => localTime, timeUnits),
    ...changers(() => localTime, timeParts),
    ...clockMethods(() => localTime),
  },
  toText: (time) => clockText(time.toString()),
  compare: Temporal.PlainTime.compare,
}

const localDateTime: JavaClass<Temporal.PlainDateTime> = {
  name: 'java.time.LocalDateTime',
  statics: {
    now: (args, context) => new JavaObject(localDateTime, nowIn(args, context).toPlainDateTime()),
    of: (args) => {
      const [year = 0, monthOfYear = 0, day = 0, hour = 0, minute = 0, second = 0] = pieces(args)
      const fields = { year, month: monthOfYear, day, hour, minute, second }
      return new JavaObject(localDateTime, Temporal.PlainDateTime.from(fields, { overflow: 'reject' }))
    },
    parse: reader(
      () => localDateTime,
      (text) => Temporal.PlainDateTime.from(text),
    ),
    ofInstant: ([from, zone]) =>
      new JavaObject(localDateTime, objectValue(from, [instant]).toZonedDateTimeISO(zoneArgument(zone)).toPlainDateTime()),
  },
  methods: {
    ...common(() => localDateTime),
    ...arithmetic(() => localDateTime, [...dateUnits, ...timeUnits]),
    ...changers(() => localDateTime, { ...dateParts, ...timeParts }),
    ...dayMethods<Temporal.PlainDateTime>(),
    ...clockMethods(() => localDateTime),
    toLocalDate: (moment) => new JavaObject(localDate, moment.toPlainDate()),
    toLocalTime: (moment) => new JavaObject(localTime, moment.toPlainTime()),
    atZone: (moment, [zone]) => new JavaObject(zonedDateTime, moment.toZonedDateTime(zoneArgument(zone))),
    atOffset: (moment, [zone]) => new JavaObject(offsetDateTime, moment.toZonedDateTime(zoneArgument(zone))),
    toInstant: (moment, [zone]) => new JavaObject(instant, moment.toZonedDateTime(zoneArgument(zone)).toInstant()),
  },
  toText: (moment) => clockText(moment.toString()),
  compare: Temporal.PlainDateTime.compare,
}

/** Classes of a date and time in a zone: one keeps the zone, the other only its offset. */
function zoned(
  name: string,
  toZone: (value: Temporal.ZonedDateTime) => Temporal.ZonedDateTime,
): JavaClass<Temporal.ZonedDateTime> {
  const wrap = (value: Temporal.ZonedDateTime) => new JavaObject(javaClass, toZone(value))
  const of = () => javaClass
  const javaClass: JavaClass<Temporal.ZonedDateTime> = {
    name,
    statics: {
      now: (args, context) => wrap(nowIn(args, context)),
      of: (args) => {
        const [year = 0, monthOfYear = 0, day = 0, hour = 0, minute = 0, second = 0] = pieces(args.slice(0, -1))
        const fields = { year, month: monthOfYear, day, hour, minute, second, timeZone: zoneArgument(args.at(-1)) }
        return wrap(Temporal.ZonedDateTime.from(fields, { overflow: 'reject' }))
      },
      ofInstant: ([from, zone]) => wrap(objectValue(from, [instant]).toZonedDateTimeISO(zoneArgument(zone))),
      parse: reader(of, (text) => {
        const [moment = '', bracket] = text.split('[')
        const zone = bracket?.replace(']', '') ?? /(?:Z|[+-]\d\d:\d\d)$/.exec(moment)?.[0] ?? ''
        return toZone(Temporal.Instant.from(moment).toZonedDateTimeISO(checkZone(zone)))
      }),
    },
    methods: {
      ...common(of),
      ...arithmetic(of, [...dateUnits, ...timeUnits]),
      ...changers(of, { ...dateParts, ...timeParts }),
      ...dayMethods<Temporal.ZonedDateTime>(),
      ...clockMethods(of),
      getZone: (value) => new JavaObject(zoneId, value.timeZoneId),
      getOffset: (value) => new JavaObject(zoneOffset, value.offset),
      withZoneSameInstant: (value, [zone]) => wrap(value.withTimeZone(zoneArgument(zone))),
      withOffsetSameInstant: (value, [zone]) => wrap(value.withTimeZone(zoneArgument(zone))),
      toInstant: (value) => new JavaObject(instant, value.toInstant()),
      toEpochSecond: (value) => value.epochNanoseconds / nanosecondsPerSecond,
      toLocalDate: (value) => new JavaObject(localDate, value.toPlainDate()),
      toLocalTime: (value) => new JavaObject(localTime, value.toPlainTime()),
      toLocalDateTime: (value) => new JavaObject(localDateTime, value.toPlainDateTime()),
      toOffsetDateTime: (value) => new JavaObject(offsetDateTime, value.withTimeZone(value.offset)),
      toZonedDateTime: (value) => new JavaObject(zonedDateTime, value),
    },
    toText: (value) => {
      const isOffset = name === 'java.time.OffsetDateTime' || /^[+-]/.test(value.timeZoneId)
      const zone = isOffset ? '' : `[${value.timeZoneId}]`
      return clockText(value.toPlainDateTime().toString()) + (value.offset === '+00:00' ? 'Z' : value.offset) + zone
    },
    compare: Temporal.ZonedDateTime.compare,
  }
  return javaClass
}

const zonedDateTime = zoned('java.time.ZonedDateTime', (value) => value)
const offsetDateTime = zoned('java.time.OffsetDateTime', (value) => value.withTimeZone(value.offset))

const instant: JavaClass<Temporal.Instant> = {
  name: 'java.time.Instant',
  constants: {
    get EPOCH() {
      return new JavaObject(instant, Temporal.Instant.fromEpochMilliseconds(0))
    },
  },
  statics: {
    now: (_args, { now }) => new JavaObject(instant, Temporal.Instant.fromEpochMilliseconds(now)),
    ofEpochMilli: ([ms]) => new JavaObject(instant, Temporal.Instant.fromEpochMilliseconds(wholeArgument(ms))),
    ofEpochSecond: ([seconds]) => new JavaObject(instant, Temporal.Instant.fromEpochMilliseconds(wholeArgument(seconds) * 1000)),
    parse: ([text]) => new JavaObject(instant, Temporal.Instant.from(textArgument(text))),
  },
  methods: {
    ...common(() => instant),
    ...arithmetic(() => instant, ['NANOS', 'MILLIS', 'SECONDS']),
    toEpochMilli: (value) => BigInt(value.epochMilliseconds),
    getEpochSecond: (value) => value.epochNanoseconds / nanosecondsPerSecond,
    getNano: (value) => Number(value.epochNanoseconds % nanosecondsPerSecond),
    atZone: (value, [zone]) => new JavaObject(zonedDateTime, value.toZonedDateTimeISO(zoneArgument(zone))),
    atOffset: (value, [zone]) => new JavaObject(offsetDateTime, value.toZonedDateTimeISO(zoneArgument(zone))),
    truncatedTo: (value, [unit]) => {
      const smallestUnit = unitArgument(unit).slice(0, -1) as 'day'
      return new JavaObject(instant, value.toZonedDateTimeISO('UTC').round({ smallestUnit, roundingMode: 'floor' }).toInstant())
    },
  },
  toText: (value) =>
    value.toString().replace(/\.(\d+)Z$/, (_all, digits: string) => `.${digits.padEnd(Math.ceil(digits.length / 3) * 3, '0')}Z`),
  compare: Temporal.Instant.compare,
}

/** `java.time.Duration` and `java.time.Period`: lengths of time, and of the calendar. */
function lengthClass(name: string, own: readonly Unit[], methods: JavaClass<Temporal.Duration>['methods'], statics = {}) {
  const wrap = (value: Temporal.Duration) => new JavaObject(javaClass, value)
  const javaClass: JavaClass<Temporal.Duration> = {
    name,
    constants: {
      get ZERO() {
        return wrap(new Temporal.Duration())
      },
    },
    statics: {
      ...Object.fromEntries(
        own.map((unit) => [
          `of${unit.charAt(0)}${unit.slice(1).toLowerCase()}`,
          ([amount]: readonly unknown[]) => wrap(Temporal.Duration.from(lengthOf(unit, wholeArgument(amount)))),
        ]),
      ),
      parse: ([text]) => wrap(Temporal.Duration.from(textArgument(text))),
      ...statics,
    },
    methods: {
      isZero: (value) => value.blank,
      isNegative: (value) => value.sign < 0,
      negated: (value) => wrap(value.negated()),
      ...methods,
    },
    toText: (value) =>
      value.sign < 0
        ? value
            .negated()
            .toString()
            .replace(/\d+(?:\.\d+)?/g, '-$&')
        : value.toString().replace('PT0S', name.endsWith('Period') ? 'P0D' : 'PT0S'),
  }
  return javaClass
}

/** Days of a duration have 24 hours; weeks of a period 7 days. */
function lengthOf(unit: Unit, amount: number): Temporal.DurationLike {
  return unit === 'WEEKS' ? { days: 7 * amount } : { [units[unit]]: amount }
}

const total = (
  unit: 'days' | 'hours' | 'minutes' | 'seconds' | 'milliseconds' | 'nanoseconds',
): JavaMethod<Temporal.Duration> => {
  return (value) => BigInt(Math.trunc(value.total(unit)))
}
const exact = (value: Temporal.Duration) => value.round({ largestUnit: 'hours' })

const duration: JavaClass<Temporal.Duration> = lengthClass(
  'java.time.Duration',
  ['NANOS', 'MILLIS', 'SECONDS', 'MINUTES', 'HOURS'],
  {
    toDays: total('days'),
    toHours: total('hours'),
    toMinutes: total('minutes'),
    toSeconds: total('seconds'),
    getSeconds: total('seconds'),
    toMillis: total('milliseconds'),
    toNanos: total('nanoseconds'),
    plus: (value, [other]) => new JavaObject(duration, exact(value.add(objectValue(other, [duration])))),
    minus: (value, [other]) => new JavaObject(duration, exact(value.subtract(objectValue(other, [duration])))),
  },
  {
    ofDays: ([days]: readonly unknown[]) => new JavaObject(duration, Temporal.Duration.from({ hours: 24 * wholeArgument(days) })),
    between: ([from, to]: readonly unknown[]) => new JavaObject(duration, exact(between(from, to, 'nanoseconds'))),
  },
)
duration satisfies JavaClass<Temporal.Duration>
Object.assign(duration, { compare: Temporal.Duration.compare })

const period: JavaClass<Temporal.Duration> = lengthClass(
  'java.time.Period',
  ['DAYS', 'WEEKS', 'MONTHS', 'YEARS'],
  { ...readers<Temporal.Duration>({ getYears: 'years', getMonths: 'months', getDays: 'days' }) },
  {
    of: ([years, months, days]: readonly unknown[]) =>
      new JavaObject(period, new Temporal.Duration(wholeArgument(years), wholeArgument(months), 0, wholeArgument(days))),
    between: ([from, to]: readonly unknown[]) =>
      new JavaObject(period, objectValue(from, [localDate]).until(objectValue(to, [localDate]), { largestUnit: 'years' })),
  },
)

const zoneMethods: JavaClass<string>['methods'] = { getId: (zone) => zone }
const zoneId: JavaClass<string> = {
  name: 'java.time.ZoneId',
  statics: {
    of: ([name]) => new JavaObject(zoneId, checkZone(textArgument(name))),
    systemDefault: () => new JavaObject(zoneId, defaultZone),
  },
  methods: zoneMethods,
  toText: (zone) => zone,
}
const zoneOffset: JavaClass<string> = {
  name: 'java.time.ZoneOffset',
  constants: {
    get UTC() {
      return new JavaObject(zoneOffset, '+00:00')
    },
  },
  statics: {
    of: ([name]) => new JavaObject(zoneOffset, checkZone(textArgument(name))),
    ofHours: ([hours]) => new JavaObject(zoneOffset, checkZone(offsetText(wholeArgument(hours)))),
  },
  methods: zoneMethods,
  toText: (zone) => (zone === '+00:00' ? 'Z' : zone),
}
const offsetText = (hours: number) => `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`

interface Formatter {
  readonly zone: string | undefined
  write(value: JavaObject): string
  /** @returns what ISO would write */
  read(text: string): string
}

const isoText = (value: JavaObject) => {
  const text = value.toText()
  // Formatters of ISO write the seconds that toString leaves out.
  return text.replace(/((?:T|^)\d\d:\d\d)(?=$|Z|[+-])/, '$1:00')
}
/** @param part Method that gives the part to write, of values that have more. */
function isoFormatter(part?: 'toLocalDateTime' | 'toInstant'): Formatter {
  const write = (value: JavaObject) => {
    const convert = part === undefined ? undefined : value.class.methods?.[part]
    return isoText(convert === undefined ? value : (convert(value.value as never, [], noContext) as JavaObject))
  }
  return { zone: undefined, write, read: (text) => text }
}

function patternFormatter(pattern: string, zone?: string): Formatter {
  const parts = parsePattern(pattern)
  return {
    zone,
    write: ({ value }) => {
      const moment = value instanceof Temporal.Instant && zone !== undefined ? value.toZonedDateTimeISO(zone) : value
      return formatMoment(parts, moment as Moment)
    },
    read: (text) => isoOf(parseMoment(parts, text)),
  }
}

function isoOf(fields: ReturnType<typeof parseMoment>): string {
  const { year, month: monthOfYear = 1, day = 1, hour, minute = 0, second = 0, nanoseconds = 0, offset = '' } = fields
  const two = (number: number) => String(number).padStart(2, '0')
  const date = year === undefined ? '' : `${String(year).padStart(4, '0')}-${two(monthOfYear)}-${two(day)}`
  const time = hour === undefined ? '' : `${two(hour)}:${two(minute)}:${two(second)}.${String(nanoseconds).padStart(9, '0')}`
  return [date, time].filter((part) => part !== '').join('T') + offset
}

const isoFormats: Readonly<Record<string, () => Formatter>> = {
  ISO_DATE: () => patternFormatter('yyyy-MM-dd'),
  ISO_LOCAL_DATE: () => patternFormatter('yyyy-MM-dd'),
  ISO_LOCAL_TIME: () => patternFormatter('HH:mm:ss'),
  ISO_LOCAL_DATE_TIME: () => isoFormatter('toLocalDateTime'),
  ISO_DATE_TIME: () => isoFormatter(),
  ISO_OFFSET_DATE_TIME: () => patternFormatter("yyyy-MM-dd'T'HH:mm:ssXXX"),
  ISO_ZONED_DATE_TIME: () => isoFormatter(),
  ISO_INSTANT: () => isoFormatter('toInstant'),
  BASIC_ISO_DATE: () => patternFormatter('yyyyMMdd'),
  RFC_1123_DATE_TIME: () => patternFormatter('EEE, d MMM yyyy HH:mm:ss Z'),
}

const formatter: JavaClass<Formatter> = {
  name: 'java.time.format.DateTimeFormatter',
  get constants() {
    return Object.fromEntries(Object.entries(isoFormats).map(([name, create]) => [name, new JavaObject(formatter, create())]))
  },
  statics: { ofPattern: ([pattern]) => new JavaObject(formatter, patternFormatter(textArgument(pattern))) },
  methods: {
    format: (format, [value]) => {
      if (!(value instanceof JavaObject)) throw new ExpressionError(`A date or time was expected instead of ${describe(value)}.`)
      return format.write(value)
    },
    withZone: (format, [zone]) => {
      const timeZone = zoneArgument(zone)
      const write = (value: JavaObject) => {
        if (!(value.value instanceof Temporal.Instant)) return format.write(value)
        return format.write(new JavaObject(zonedDateTime, value.value.toZonedDateTimeISO(timeZone)) as JavaObject)
      }
      return new JavaObject(formatter, { ...format, write, zone: timeZone })
    },
  },
}

const dateParsed = (text: string) =>
  Temporal.Instant.from(/[Z]$|[+-]\d\d:\d\d$/.test(text) ? text : `${text.includes('T') ? text : `${text}T00:00`}Z`)
const dateText = parsePattern('EEE MMM dd HH:mm:ss z yyyy')

const date: JavaClass<Temporal.Instant> = {
  name: 'java.util.Date',
  create: ([ms], { now }) =>
    new JavaObject(date, Temporal.Instant.fromEpochMilliseconds(ms === undefined ? now : wholeArgument(ms))),
  statics: { from: ([from]) => new JavaObject(date, objectValue(from, [instant])) },
  methods: {
    getTime: (value) => BigInt(value.epochMilliseconds),
    before: (value, [other]) => Temporal.Instant.compare(value, objectValue(other, [date])) < 0,
    after: (value, [other]) => Temporal.Instant.compare(value, objectValue(other, [date])) > 0,
    toInstant: (value) => new JavaObject(instant, value),
  },
  toText: (value) => formatMoment(dateText, value.toZonedDateTimeISO(defaultZone)),
  toJson: (value) => value.epochMilliseconds,
  compare: Temporal.Instant.compare,
}

const simpleDateFormat: JavaClass<string> = {
  name: 'java.text.SimpleDateFormat',
  create: ([pattern]) => {
    parsePattern(textArgument(pattern))
    return new JavaObject(simpleDateFormat, textArgument(pattern))
  },
  methods: {
    format: (pattern, [value]) => {
      const ms = value instanceof JavaObject ? objectValue(value, [date]).epochMilliseconds : wholeArgument(value)
      return formatMoment(milliseconds(pattern), Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(defaultZone))
    },
    parse: (pattern, [text]) => new JavaObject(date, dateParsed(isoOf(parseMoment(parsePattern(pattern), textArgument(text))))),
    toPattern: (pattern) => pattern,
  },
}

/** `S` is the number of milliseconds there: with one letter as with three. */
function milliseconds(pattern: string): ReturnType<typeof parsePattern> {
  return parsePattern(pattern).map((part) => (part.letter === 'S' && part.text.length < 3 ? { ...part, text: 'SSS' } : part))
}

export const timeClasses = [
  ...[date, simpleDateFormat, localDate, localTime, localDateTime, zonedDateTime, offsetDateTime, instant, duration, period],
  ...[zoneId, zoneOffset, formatter, dayOfWeek, month, chronoUnit],
] as unknown as readonly JavaClass[]
