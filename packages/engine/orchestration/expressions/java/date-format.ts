/** Date patterns of Java, such as `yyyy-MM-dd'T'HH:mm`: texts of moments, and moments of texts. */
import { ExpressionError } from '../lexer.ts'

/** A value of `Temporal`; the fields that it lacks are undefined. */
export type Moment = Partial<Omit<Temporal.ZonedDateTime, 'toString'>>

type NumberField = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'

/** Values of fields that a text had; `nanoseconds` since the begin of the second. */
interface ParsedFields extends Partial<Record<NumberField | 'nanoseconds', number>> {
  /** Such as `+02:00`. */
  offset?: string
}

interface PatternPart {
  /** Letter of the pattern; empty for literal text. */
  readonly letter: string
  readonly text: string
}

const longestPattern = 200
const monthNames =
  'January February March April May June July August September October November December'.split(' ')
const dayNames = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ')

/** @throws {ExpressionError} for an open quote, and for a letter that is no field */
export function parsePattern(pattern: string): readonly PatternPart[] {
  if (pattern.length > longestPattern)
    throw new ExpressionError(`A date pattern has at most ${longestPattern} characters.`)
  const tokens = pattern.match(/''|'(?:[^']|'')+'|'|([A-Za-z])\1*|[^A-Za-z']+/g) ?? []
  return tokens.map((text) => {
    if (text === "'")
      throw new ExpressionError(`The date pattern "${pattern}" has a quote that does not end.`)
    if (text === "''") return { letter: '', text: "'" }
    if (text.startsWith("'")) return { letter: '', text: text.slice(1, -1).replaceAll("''", "'") }
    const letter = /^[A-Za-z]/.test(text) ? text.charAt(0) : ''
    if (letter !== '' && !Object.hasOwn(writers, letter))
      throw new ExpressionError(
        `The letter "${letter}" of the date pattern "${pattern}" is not supported.`,
      )
    return { letter, text }
  })
}

/** @throws {ExpressionError} when the pattern needs a field that the moment lacks */
export function formatMoment(parts: readonly PatternPart[], moment: Moment): string {
  return parts
    .map(({ letter, text }) => (letter === '' ? text : writers[letter]?.(moment, text.length)))
    .join('')
}

function need<K extends keyof Moment>(moment: Moment, field: K): NonNullable<Moment[K]> {
  const value = moment[field]
  if (value === undefined || value === null)
    throw new ExpressionError(`The value to format has no ${String(field)}.`)
  return value
}

const padded =
  (field: 'day' | 'dayOfYear' | 'hour' | 'minute' | 'second' | 'month') =>
  (moment: Moment, width: number) =>
    pad(need(moment, field), width)
const yearOf = (year: number, width: number) =>
  width === 2 ? pad(year % 100, 2) : pad(year, width)
const named = (names: readonly string[], at: number, width: number) => {
  const name = names[at - 1] ?? ''
  return width === 4 ? name : width === 5 ? name.charAt(0) : name.slice(0, 3)
}
const month = (moment: Moment, width: number) =>
  width > 2 ? named(monthNames, need(moment, 'month'), width) : pad(need(moment, 'month'), width)

const writers: Readonly<Record<string, (moment: Moment, width: number) => string>> = {
  y: (moment, width) => yearOf(need(moment, 'year'), width),
  u: (moment, width) => yearOf(need(moment, 'year'), width),
  // Weeks of the US begin on Sunday, and that with the first of January is the first one.
  Y: (moment, width) => yearOf(endOfWeek(moment).year, width),
  w: (moment, width) => pad(Math.ceil(endOfWeek(moment).dayOfYear / 7), width),
  M: month,
  L: month,
  Q: (moment) => String(Math.ceil(need(moment, 'month') / 3)),
  d: padded('day'),
  D: padded('dayOfYear'),
  E: (moment, width) => named(dayNames, need(moment, 'dayOfWeek'), width),
  a: (moment) => (need(moment, 'hour') < 12 ? 'AM' : 'PM'),
  H: padded('hour'),
  k: (moment, width) => pad(need(moment, 'hour') || 24, width),
  K: (moment, width) => pad(need(moment, 'hour') % 12, width),
  h: (moment, width) => pad(need(moment, 'hour') % 12 || 12, width),
  m: padded('minute'),
  s: padded('second'),
  S: (moment, width) => pad(nanosecondsOf(moment), 9).slice(0, width),
  n: (moment, width) => pad(nanosecondsOf(moment), width),
  z: (moment) => zoneName(moment),
  V: (moment) => need(moment, 'timeZoneId'),
  Z: (moment) => need(moment, 'offset').replace(':', ''),
  x: (moment, width) => offset(moment, width),
  X: (moment, width) => (need(moment, 'offset') === '+00:00' ? 'Z' : offset(moment, width)),
}

export function nanosecondsOf(moment: Moment): number {
  return (
    need(moment, 'millisecond') * 1_000_000 +
    need(moment, 'microsecond') * 1000 +
    need(moment, 'nanosecond')
  )
}

function pad(value: number, width: number): string {
  return value < 0 ? `-${pad(-value, width)}` : String(value).padStart(width, '0')
}

function endOfWeek(moment: Moment): Temporal.PlainDate {
  const date = new Temporal.PlainDate(
    need(moment, 'year'),
    need(moment, 'month'),
    need(moment, 'day'),
  )
  return date.add({ days: (13 - date.dayOfWeek) % 7 })
}

function offset(moment: Moment, width: number): string {
  const text = need(moment, 'offset')
  return width === 1
    ? text.slice(0, 3) + (text.endsWith(':00') ? '' : text.slice(4))
    : width === 2
      ? text.replace(':', '')
      : text
}

function zoneName(moment: Moment): string {
  const timeZone = need(moment, 'timeZoneId')
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'short' })
  return (
    format
      .formatToParts(need(moment, 'epochMilliseconds'))
      .find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
  )
}

/** @throws {ExpressionError} when the text is not of the pattern */
export function parseMoment(parts: readonly PatternPart[], text: string): ParsedFields {
  const scanner = new Scanner(text)
  for (const [index, { letter, text: source }] of parts.entries()) {
    if (letter === '') scanner.skip(source)
    else scanner.read(letter, source.length, (parts[index + 1]?.letter ?? '') !== '')
  }
  return scanner.end()
}

class Scanner {
  readonly #text: string
  readonly #fields: ParsedFields = {}
  #isAfternoon: boolean | undefined
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  skip(literal: string): void {
    if (!this.#text.startsWith(literal, this.#at)) throw this.#mismatch()
    this.#at += literal.length
  }

  /** @param isFixed Another field follows directly: its digits are told apart by the length of this one. */
  read(letter: string, width: number, isFixed: boolean): void {
    const fields = this.#fields
    const field = numberFields[letter]
    if ('ML'.includes(letter) && width > 2) fields.month = this.#month()
    else if (field !== undefined) {
      const value = this.#number(width, isFixed)
      fields[field] = field === 'year' && width === 2 ? 2000 + value : value
    } else if (letter === 'E') this.#take(/[A-Za-z]+/y)
    else if (letter === 'a') this.#isAfternoon = this.#take(/[AaPp][Mm]/y).toLowerCase() === 'pm'
    else if (letter === 'S') fields.nanoseconds = Number(this.#take(/\d{1,9}/y).padEnd(9, '0'))
    else if ('XxZ'.includes(letter)) {
      const found = this.#take(/Z|[+-]\d{2}(?::?\d{2})?/y).replace(':', '')
      fields.offset = found === 'Z' ? '+00:00' : `${found.slice(0, 3)}:${found.slice(3) || '00'}`
    } else if (letter === 'z' && /^(?:UTC|GMT)/.test(this.#text.slice(this.#at))) {
      this.#take(/UTC|GMT/y)
      fields.offset = '+00:00'
    } else throw new ExpressionError(`The letter "${letter}" of a date pattern cannot be parsed.`)
  }

  end(): ParsedFields {
    if (this.#at < this.#text.length) throw this.#mismatch()
    const { hour } = this.#fields
    if (this.#isAfternoon === undefined || hour === undefined) return this.#fields
    return { ...this.#fields, hour: (hour % 12) + (this.#isAfternoon ? 12 : 0) }
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) throw this.#mismatch()
    this.#at += found.length
    return found
  }

  #number(width: number, isFixed: boolean): number {
    const digits = this.#take(/\d{1,9}/y)
    if (!isFixed) return Number(digits)
    if (digits.length < width) throw this.#mismatch()
    this.#at += width - digits.length
    return Number(digits.slice(0, width))
  }

  #month(): number {
    const name = this.#take(/[A-Za-z]+/y).toLowerCase()
    const found = monthNames.findIndex(
      (each) => each.toLowerCase().startsWith(name) && name.length >= 3,
    )
    if (found < 0) throw new ExpressionError(`"${name.slice(0, 40)}" is no month.`)
    return found + 1
  }

  #mismatch(): ExpressionError {
    return new ExpressionError(
      `The text "${this.#text.slice(0, 60)}" does not match the date pattern.`,
    )
  }
}

const numberFields: Readonly<Record<string, NumberField>> = {
  y: 'year',
  u: 'year',
  M: 'month',
  L: 'month',
  d: 'day',
  H: 'hour',
  K: 'hour',
  h: 'hour',
  m: 'minute',
  s: 'second',
}
