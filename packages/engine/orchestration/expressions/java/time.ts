/** Dates and times: `java.time`, `java.util.Date` and `java.text.SimpleDateFormat` over `Temporal`. */
import { ExpressionError } from '../lexer.ts'
import { describe, textArgument, wholeArgument } from '../values.ts'
import {
  checkZone,
  chronoUnit,
  countBetween,
  dayOfWeek,
  defaultZone,
  objectValue,
  type Timed,
  type Unit,
  unitArgument,
  units,
  zoneArgument,
  zoneId,
} from './calendar.ts'
import {
  formatMoment,
  type Moment,
  nanosecondsOf,
  parseMoment,
  parsePattern,
} from './date-format.ts'
import {
  type CallContext,
  createJavaClass,
  type JavaClass,
  type JavaFunction,
  type JavaMethod,
  JavaObject,
  type Wrap,
} from './java-class.ts'

type Methods<T> = Record<string, JavaMethod<T>>
type DateLike = Temporal.PlainDate | Temporal.PlainDateTime | Temporal.ZonedDateTime

/** Context of methods that count nothing. */
const noContext = undefined as unknown as CallContext

const nanosecondsPerSecond = 1_000_000_000n

/** Units in which a class counts, and fields of `Temporal` by the methods that read and change them. */
interface MomentFields {
  readonly units: readonly Unit[]
  readonly readers: Readonly<Record<string, string>>
  readonly changers: Readonly<Record<string, string>>
}

const dateFields: MomentFields = {
  units: ['DAYS', 'WEEKS', 'MONTHS', 'YEARS'],
  readers: {
    getYear: 'year',
    getMonthValue: 'month',
    getDayOfMonth: 'day',
    getDayOfYear: 'dayOfYear',
    lengthOfMonth: 'daysInMonth',
    lengthOfYear: 'daysInYear',
    isLeapYear: 'inLeapYear',
  },
  changers: { withYear: 'year', withMonth: 'month', withDayOfMonth: 'day' },
}
const timeFields: MomentFields = {
  units: ['NANOS', 'SECONDS', 'MINUTES', 'HOURS'],
  readers: { getHour: 'hour', getMinute: 'minute', getSecond: 'second' },
  changers: { withHour: 'hour', withMinute: 'minute', withSecond: 'second' },
}

/** Days and longer of an instant: each day has 24 hours. */
function shift<T>(value: T, amount: object, isBack: boolean): T {
  const start = (
    value instanceof Temporal.Instant ? value.toZonedDateTimeISO('UTC') : value
  ) as Timed
  const end = isBack ? start.subtract(amount) : start.add(amount)
  return (
    value instanceof Temporal.Instant ? (end as unknown as Temporal.ZonedDateTime).toInstant() : end
  ) as T
}

function arithmetic<T>(wrap: Wrap<T>, named: readonly Unit[]): Methods<T> {
  const methods: Methods<T> = {}
  for (const [sign, isBack] of [
    ['plus', false],
    ['minus', true],
  ] as const) {
    methods[sign] = (value, [amount, unit]) =>
      wrap(shift(value, { [unitArgument(unit)]: wholeArgument(amount) }, isBack))
    for (const unit of named) {
      const name = sign + unit.charAt(0) + unit.slice(1).toLowerCase()
      methods[name] = (value, [amount]) =>
        wrap(shift(value, { [units[unit]]: wholeArgument(amount) }, isBack))
    }
  }
  return methods
}

function readers<T>(fields: Readonly<Record<string, string>>): Methods<T> {
  return mapValues(fields, (field) => (value) => (value as Record<string, unknown>)[field])
}

function mapValues<T>(
  fields: Readonly<Record<string, string>>,
  toMethod: (field: string) => JavaMethod<T>,
): Methods<T> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toMethod(field)]))
}

/** What all classes of dates and times offer, in this order. */
function momentMethods<T>(
  javaClass: JavaClass<T>,
  wrap: Wrap<T>,
  fields: readonly MomentFields[],
): Methods<T> {
  const order = (value: T, other: unknown) =>
    javaClass.compare?.(value, objectValue(other, javaClass)) ?? 0
  const change = (field: string): JavaMethod<T> => {
    return (value, [number]) => wrap((value as Timed).with({ [field]: wholeArgument(number) }) as T)
  }
  return {
    isBefore: (value, [other]) => order(value, other) < 0,
    isAfter: (value, [other]) => order(value, other) > 0,
    isEqual: (value, [other]) => order(value, other) === 0,
    until: (value, [other, unit]) => countBetween(wrap(value), other, unitArgument(unit)),
    format: (value, [format]) => objectValue(format, formatter).write(wrap(value) as JavaObject),
    ...arithmetic(
      wrap,
      fields.flatMap((each) => each.units),
    ),
    ...Object.assign({}, ...fields.map((each) => mapValues(each.changers, change))),
    ...(fields.includes(dateFields) && dayMethods<T>()),
    ...(fields.includes(timeFields) && clockMethods(wrap)),
  }
}

function dayMethods<T>(): Methods<T> {
  return {
    ...readers<T>(dateFields.readers),
    getDayOfWeek: (value) =>
      dayOfWeek.statics?.['of']?.([(value as DateLike).dayOfWeek], noContext),
  }
}

function clockMethods<T>(wrap: Wrap<T>): Methods<T> {
  return {
    ...readers<T>(timeFields.readers),
    getNano: (value) => nanosecondsOf(value as Moment),
    truncatedTo: (value, [unit]) => {
      const smallestUnit = unitArgument(unit).slice(0, -1)
      return wrap((value as Timed).round({ smallestUnit, roundingMode: 'trunc' }) as T)
    },
  }
}

/** The moment of the call in the zone that is the only argument, if there is one. */
function nowIn([zone]: readonly unknown[], { now }: CallContext): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(
    zone === undefined ? defaultZone : zoneArgument(zone),
  )
}

/** Reads a text by a formatter, or as ISO writes it. */
function reader<T>(wrap: Wrap<T>, fromIso: (text: string) => T): JavaFunction {
  return ([text, format]) => {
    const iso =
      format === undefined
        ? textArgument(text)
        : objectValue(format, formatter).read(textArgument(text))
    return wrap(fromIso(iso))
  }
}

const dateNames = ['year', 'month', 'day'] as const
const momentNames = [...dateNames, 'hour', 'minute', 'second'] as const

/** The arguments of an `of` by the names of their fields; those that are missing are 0. */
function fieldsFrom<N extends string>(
  args: readonly unknown[],
  names: readonly N[],
): Record<N, number> {
  const numbers = args.map((each) => wholeArgument(each))
  return Object.fromEntries(names.map((name, index) => [name, numbers[index] ?? 0])) as Record<
    N,
    number
  >
}

const rejected = { overflow: 'reject' } as const

/** Java leaves out seconds that are zero, and writes fractions in groups of three digits. */
function clockText(text: string): string {
  return text.replace(
    /T(\d\d:\d\d):(\d\d)(?:\.(\d+))?/,
    (_all, minutes, seconds, fraction?: string) => {
      if (fraction !== undefined) return `T${minutes}:${seconds}.${inGroups(fraction)}`
      return `T${minutes}${seconds === '00' ? '' : `:${seconds}`}`
    },
  )
}

function inGroups(fraction: string): string {
  return fraction.padEnd(Math.ceil(fraction.length / 3) * 3, '0')
}

const localDate: JavaClass<Temporal.PlainDate> = createJavaClass(
  'java.time.LocalDate',
  (wrap, javaClass) => ({
    statics: {
      now: (args, context) => wrap(nowIn(args, context).toPlainDate()),
      of: (args) => wrap(Temporal.PlainDate.from(fieldsFrom(args, dateNames), rejected)),
      parse: reader(wrap, (text) => Temporal.PlainDate.from(text)),
      ofEpochDay: ([day]) =>
        wrap(new Temporal.PlainDate(1970, 1, 1).add({ days: wholeArgument(day) })),
    },
    methods: {
      ...momentMethods(javaClass, wrap, [dateFields]),
      atStartOfDay: (date, [zone]) =>
        zone === undefined
          ? new JavaObject(localDateTime, date.toPlainDateTime())
          : new JavaObject(zonedDateTime, date.toZonedDateTime(zoneArgument(zone))),
      atTime: (date, [hour, minute]) =>
        new JavaObject(
          localDateTime,
          date.toPlainDateTime({ hour: wholeArgument(hour), minute: wholeArgument(minute) }),
        ),
      toEpochDay: (date) => BigInt(new Temporal.PlainDate(1970, 1, 1).until(date).days),
    },
    toText: (date) => date.toString(),
    compare: Temporal.PlainDate.compare,
  }),
)

const localDateTime: JavaClass<Temporal.PlainDateTime> = createJavaClass(
  'java.time.LocalDateTime',
  (wrap, javaClass) => ({
    statics: {
      now: (args, context) => wrap(nowIn(args, context).toPlainDateTime()),
      of: (args) => wrap(Temporal.PlainDateTime.from(fieldsFrom(args, momentNames), rejected)),
      parse: reader(wrap, (text) => Temporal.PlainDateTime.from(text)),
      ofInstant: ([from, zone]) =>
        wrap(objectValue(from, instant).toZonedDateTimeISO(zoneArgument(zone)).toPlainDateTime()),
    },
    methods: {
      ...momentMethods(javaClass, wrap, [dateFields, timeFields]),
      toLocalDate: (moment) => new JavaObject(localDate, moment.toPlainDate()),
      atZone: (moment, [zone]) =>
        new JavaObject(zonedDateTime, moment.toZonedDateTime(zoneArgument(zone))),
    },
    toText: (moment) => clockText(moment.toString()),
    compare: Temporal.PlainDateTime.compare,
  }),
)

function zonedFromIso(text: string): Temporal.ZonedDateTime {
  const [moment = '', bracket] = text.split('[')
  const zone = bracket?.replace(']', '') ?? /(?:Z|[+-]\d\d:\d\d)$/.exec(moment)?.[0] ?? ''
  return Temporal.Instant.from(moment).toZonedDateTimeISO(checkZone(zone))
}

const zonedDateTime: JavaClass<Temporal.ZonedDateTime> = createJavaClass(
  'java.time.ZonedDateTime',
  (wrap, javaClass) => ({
    statics: {
      now: (args, context) => wrap(nowIn(args, context)),
      of: (args) => {
        const fields = fieldsFrom(args.slice(0, -1), momentNames)
        return wrap(
          Temporal.ZonedDateTime.from({ ...fields, timeZone: zoneArgument(args.at(-1)) }, rejected),
        )
      },
      ofInstant: ([from, zone]) =>
        wrap(objectValue(from, instant).toZonedDateTimeISO(zoneArgument(zone))),
      parse: reader(wrap, zonedFromIso),
    },
    methods: {
      ...momentMethods(javaClass, wrap, [dateFields, timeFields]),
      getZone: (value) => new JavaObject(zoneId, value.timeZoneId),
      withZoneSameInstant: (value, [zone]) => wrap(value.withTimeZone(zoneArgument(zone))),
      toInstant: (value) => new JavaObject(instant, value.toInstant()),
      toEpochSecond: (value) => value.epochNanoseconds / nanosecondsPerSecond,
      toLocalDate: (value) => new JavaObject(localDate, value.toPlainDate()),
      toLocalDateTime: (value) => new JavaObject(localDateTime, value.toPlainDateTime()),
    },
    toText: (value) => {
      const zone = /^[+-]/.test(value.timeZoneId) ? '' : `[${value.timeZoneId}]`
      return (
        clockText(value.toPlainDateTime().toString()) +
        (value.offset === '+00:00' ? 'Z' : value.offset) +
        zone
      )
    },
    compare: Temporal.ZonedDateTime.compare,
  }),
)

const instant: JavaClass<Temporal.Instant> = createJavaClass(
  'java.time.Instant',
  (wrap, javaClass) => {
    const atMs = (ms: number) => wrap(Temporal.Instant.fromEpochMilliseconds(ms))
    return {
      constants: { EPOCH: atMs(0) },
      statics: {
        now: (_args, { now }) => atMs(now),
        ofEpochMilli: ([ms]) => atMs(wholeArgument(ms)),
        ofEpochSecond: ([seconds]) => atMs(wholeArgument(seconds) * 1000),
        parse: ([text]) => wrap(Temporal.Instant.from(textArgument(text))),
      },
      methods: {
        ...momentMethods(javaClass, wrap, [
          { units: ['NANOS', 'MILLIS', 'SECONDS'], readers: {}, changers: {} },
        ]),
        toEpochMilli: (value) => BigInt(value.epochMilliseconds),
        getEpochSecond: (value) => value.epochNanoseconds / nanosecondsPerSecond,
        getNano: (value) => Number(value.epochNanoseconds % nanosecondsPerSecond),
        atZone: (value, [zone]) =>
          new JavaObject(zonedDateTime, value.toZonedDateTimeISO(zoneArgument(zone))),
        truncatedTo: (value, [unit]) => {
          const smallestUnit = unitArgument(unit).slice(0, -1) as 'day'
          return wrap(
            value
              .toZonedDateTimeISO('UTC')
              .round({ smallestUnit, roundingMode: 'floor' })
              .toInstant(),
          )
        },
      },
      toText: (value) =>
        value.toString().replace(/\.(\d+)Z$/, (_all, digits: string) => `.${inGroups(digits)}Z`),
      compare: Temporal.Instant.compare,
    }
  },
)

interface Formatter {
  write(value: JavaObject): string
  /** @returns what ISO would write */
  read(text: string): string
}

const isoText = (value: JavaObject) => {
  const text = value.toText()
  // Formatters of ISO write the seconds that toString leaves out.
  return text.replace(/(T\d\d:\d\d)(?=$|Z|[+-])/, '$1:00')
}
/** @param part Method that gives the part to write, of values that have more. */
function isoFormatter(part?: 'toLocalDateTime' | 'toInstant'): Formatter {
  const write = (value: JavaObject) => {
    const convert = part === undefined ? undefined : value.class.methods?.[part]
    return isoText(
      convert === undefined ? value : (convert(value.value as never, [], noContext) as JavaObject),
    )
  }
  return { write, read: (text) => text }
}

function patternFormatter(pattern: string): Formatter {
  const parts = parsePattern(pattern)
  return {
    write: ({ value }) => formatMoment(parts, value as Moment),
    read: (text) => isoOf(parseMoment(parts, text)),
  }
}

function isoOf(fields: ReturnType<typeof parseMoment>): string {
  const {
    year,
    month: monthOfYear = 1,
    day = 1,
    hour,
    minute = 0,
    second = 0,
    nanoseconds = 0,
    offset = '',
  } = fields
  const two = (number: number) => String(number).padStart(2, '0')
  const date =
    year === undefined ? '' : `${String(year).padStart(4, '0')}-${two(monthOfYear)}-${two(day)}`
  const time =
    hour === undefined
      ? ''
      : `${two(hour)}:${two(minute)}:${two(second)}.${String(nanoseconds).padStart(9, '0')}`
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
    return Object.fromEntries(
      Object.entries(isoFormats).map(([name, create]) => [
        name,
        new JavaObject(formatter, create()),
      ]),
    )
  },
  statics: {
    ofPattern: ([pattern]) => new JavaObject(formatter, patternFormatter(textArgument(pattern))),
  },
  methods: {
    format: (format, [value]) => {
      if (!(value instanceof JavaObject))
        throw new ExpressionError(`A date or time was expected instead of ${describe(value)}.`)
      return format.write(value)
    },
    withZone: (format, [zone]) => {
      const timeZone = zoneArgument(zone)
      const write = (value: JavaObject) => {
        if (!(value.value instanceof Temporal.Instant)) return format.write(value)
        return format.write(
          new JavaObject(zonedDateTime, value.value.toZonedDateTimeISO(timeZone)) as JavaObject,
        )
      }
      return new JavaObject(formatter, { ...format, write })
    },
  },
}

const dateParsed = (text: string) =>
  Temporal.Instant.from(
    /[Z]$|[+-]\d\d:\d\d$/.test(text) ? text : `${text.includes('T') ? text : `${text}T00:00`}Z`,
  )
const dateText = parsePattern('EEE MMM dd HH:mm:ss z yyyy')

const date: JavaClass<Temporal.Instant> = {
  name: 'java.util.Date',
  create: ([ms], { now }) =>
    new JavaObject(
      date,
      Temporal.Instant.fromEpochMilliseconds(ms === undefined ? now : wholeArgument(ms)),
    ),
  statics: { from: ([from]) => new JavaObject(date, objectValue(from, instant)) },
  methods: {
    getTime: (value) => BigInt(value.epochMilliseconds),
    before: (value, [other]) => Temporal.Instant.compare(value, objectValue(other, date)) < 0,
    after: (value, [other]) => Temporal.Instant.compare(value, objectValue(other, date)) > 0,
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
      const ms =
        value instanceof JavaObject
          ? objectValue(value, date).epochMilliseconds
          : wholeArgument(value)
      return formatMoment(
        milliseconds(pattern),
        Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(defaultZone),
      )
    },
    parse: (pattern, [text]) =>
      new JavaObject(
        date,
        dateParsed(isoOf(parseMoment(parsePattern(pattern), textArgument(text)))),
      ),
    toPattern: (pattern) => pattern,
  },
}

/** `S` is the number of milliseconds there: with one letter as with three. */
function milliseconds(pattern: string): ReturnType<typeof parsePattern> {
  return parsePattern(pattern).map((part) =>
    part.letter === 'S' && part.text.length < 3 ? { ...part, text: 'SSS' } : part,
  )
}

export const timeClasses = [
  ...[
    date,
    simpleDateFormat,
    localDate,
    localDateTime,
    zonedDateTime,
    instant,
    zoneId,
    formatter,
    dayOfWeek,
    chronoUnit,
  ],
] as unknown as readonly JavaClass[]
