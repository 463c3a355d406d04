/** Dates and times: `java.time`, `java.util.Date` and `java.text.SimpleDateFormat` over `Temporal`. */
import { textArgument, wholeArgument } from '../arguments.ts'
import { ExpressionError } from '../lexer.ts'
import { describe } from '../values.ts'
import {
  between,
  chronoUnit,
  countBetween,
  dayOfWeek,
  month,
  objectValue,
  type TemporalUnit,
  type Timed,
  type Unit,
  unitArgument,
  units,
} from './calendar.ts'
import { formatMoment, type Moment, nanosecondsOf, parseMoment, parsePattern } from './date-format.ts'
import { type CallContext, type JavaClass, type JavaFunction, type JavaMethod, JavaObject } from './java-class.ts'
import { checkZone, defaultZone, zoneArgument, zoneId, zoneOffset } from './zones.ts'

type DateLike = Temporal.PlainDate | Temporal.PlainDateTime | Temporal.ZonedDateTime

/** For methods that count nothing. */
const noContext = undefined as unknown as CallContext

const nanosecondsPerSecond = 1_000_000_000n

const dateUnits: readonly Unit[] = ['DAYS', 'WEEKS', 'MONTHS', 'YEARS']
const timeUnits: readonly Unit[] = ['NANOS', 'SECONDS', 'MINUTES', 'HOURS']
const dateFields = {
  ...{ getYear: 'year', getMonthValue: 'month', getDayOfMonth: 'day', getDayOfYear: 'dayOfYear' },
  ...{ lengthOfMonth: 'daysInMonth', lengthOfYear: 'daysInYear', isLeapYear: 'inLeapYear' },
}
const timeFields = { getHour: 'hour', getMinute: 'minute', getSecond: 'second' }
const dateParts = { withYear: 'year', withMonth: 'month', withDayOfMonth: 'day' }
const timeParts = { withHour: 'hour', withMinute: 'minute', withSecond: 'second' }

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
    if (fraction !== undefined) return `${before}${minutes}:${seconds}.${inGroups(fraction)}`
    return `${before}${minutes}${seconds === '00' ? '' : `:${seconds}`}`
  })
}

function inGroups(fraction: string): string {
  return fraction.padEnd(Math.ceil(fraction.length / 3) * 3, '0')
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
  toText: (value) => value.toString().replace(/\.(\d+)Z$/, (_all, digits: string) => `.${inGroups(digits)}Z`),
  compare: Temporal.Instant.compare,
}

type LengthClass = JavaClass<Temporal.Duration>

/** `java.time.Duration` and `java.time.Period`: lengths of time, and of the calendar. @param created Units with a method that creates one */
function lengthClass(
  name: string,
  created: readonly Unit[],
  { methods, statics, ...more }: Omit<LengthClass, 'name'>,
): LengthClass {
  const wrap = (value: Temporal.Duration) => new JavaObject(javaClass, value)
  const javaClass: LengthClass = {
    name,
    constants: {
      get ZERO() {
        return wrap(new Temporal.Duration())
      },
    },
    statics: {
      ...Object.fromEntries(
        created.map((unit) => [
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
    ...more,
  }
  return javaClass
}

/** Days of a duration have 24 hours; weeks of a period 7 days. */
function lengthOf(unit: Unit, amount: number): Temporal.DurationLike {
  return unit === 'WEEKS' ? { days: 7 * amount } : { [units[unit]]: amount }
}

const total =
  (unit: 'days' | 'hours' | 'minutes' | 'seconds' | 'milliseconds' | 'nanoseconds'): JavaMethod<Temporal.Duration> =>
  (value) =>
    BigInt(Math.trunc(value.total(unit)))
const exact = (value: Temporal.Duration) => value.round({ largestUnit: 'hours' })

const duration: LengthClass = lengthClass('java.time.Duration', ['NANOS', 'MILLIS', 'SECONDS', 'MINUTES', 'HOURS'], {
  methods: {
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
  statics: {
    ofDays: ([days]) => new JavaObject(duration, Temporal.Duration.from({ hours: 24 * wholeArgument(days) })),
    between: ([from, to]) => new JavaObject(duration, exact(between(from, to, 'nanoseconds'))),
  },
  compare: Temporal.Duration.compare,
})

const period: LengthClass = lengthClass('java.time.Period', ['DAYS', 'WEEKS', 'MONTHS', 'YEARS'], {
  methods: readers({ getYears: 'years', getMonths: 'months', getDays: 'days' }),
  statics: {
    of: ([years, months, days]) =>
      new JavaObject(period, new Temporal.Duration(wholeArgument(years), wholeArgument(months), 0, wholeArgument(days))),
    between: ([from, to]) =>
      new JavaObject(period, objectValue(from, [localDate]).until(objectValue(to, [localDate]), { largestUnit: 'years' })),
  },
})

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
