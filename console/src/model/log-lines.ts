/** Output as lines: numbered, with their places in bytes, and in groups as build servers mark them. */
import { esc } from './ansi.ts'

export interface LogGroup {
  /** Number of its first line, its title. */
  readonly from: number
  readonly outer: LogGroup | undefined
  /** It is over, and nothing in it is an error: its title is enough at first. */
  isFolded: boolean
  /** Whether it will be folded then. */
  folds: boolean
  readonly startMs: number | undefined
  endMs: number | undefined
}

export interface LogLine {
  readonly number: number
  /** The first of its bytes in the whole output: its address. */
  readonly byte: number
  /** Has the styles of terminals, without marks of groups and the time. */
  readonly text: string
  readonly time: string
  readonly opens: LogGroup | undefined
  readonly within: LogGroup | undefined
}

export interface LogText {
  readonly text: string
  readonly startByte: number
  readonly firstLine: number
  readonly lines: readonly LogLine[]
  /** Where the last line begins, which may go on: the open group, bytes, characters and lines before it. */
  readonly rest: {
    readonly group: LogGroup | undefined
    readonly byte: number
    readonly at: number
    readonly number: number
  }
}

const encoder = new TextEncoder()
// Most text has one byte for each character, and is not encoded to be counted.
const simple = new RegExp(`^[\\t\\r -~${esc}]*$`)

export function byteLength(text: string): number {
  return simple.test(text) ? text.length : encoder.encode(text).length
}

/** The beginning of a text. @param bytes Up to the end of a character */
export function toTextOfBytes(text: string, bytes: number): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    encoder.encode(text).subarray(0, bytes),
  )
}

/** Output as it is read: its first byte, and that of the next part. */
interface OutputPart {
  readonly text: string
  readonly startByte: number
  readonly nextByte: number | undefined
}

/** Appends the next part; of one that overlaps, only the rest. Undefined where the output has begun anew. */
export function withNext<Output extends OutputPart>(
  before: Output,
  { text, startByte, nextByte = 0 }: OutputPart,
) {
  const end = before.nextByte ?? 0
  if (nextByte < end) return undefined
  const known = startByte < end ? toTextOfBytes(text, end - startByte) : ''
  return { ...before, text: before.text + text.slice(known.length), nextByte }
}

/** @param before The last answer for the same output: while it only grows, its lines are taken over. */
export function toLogText(text: string, startByte = 0, firstLine = 1, before?: LogText): LogText {
  const goesOn =
    before?.startByte === startByte &&
    before.firstLine === firstLine &&
    text.startsWith(before.text)
  let { group, byte, at, number } = goesOn
    ? before.rest
    : { group: undefined, byte: startByte, at: 0, number: firstLine }
  // The last line may have been incomplete.
  const lines = goesOn ? before.lines.filter((line) => line.number < number) : []
  for (let end = text.indexOf('\n', at); end !== -1; end = text.indexOf('\n', at)) {
    // Engines keep the whole output for as long as a part that was cut out of it is in use; a copy lets go of it.
    const raw = ` ${text.slice(at, end)}`.slice(1)
    group = addLine(lines, raw, { number, byte, group })
    byte += byteLength(raw) + 1
    at = end + 1
    number++
  }
  if (at < text.length) addLine(lines, text.slice(at), { number, byte, group })
  return { text, startByte, firstLine, lines, rest: { group, byte, at, number } }
}

const style = `(?:${esc}\\[[\\d;]{0,20}m)?`
const timestamp = new RegExp(
  `^${style}(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})?(?:Z|[+-]\\d\\d:?\\d\\d))${style} ?`,
)
const isError = /^(?:##\[error\]|::error)/

/** @returns the group that is open after it */
function addLine(
  lines: LogLine[],
  raw: string,
  { number, byte, group: before }: Omit<LogText['rest'], 'at'>,
) {
  const [stamp = '', time = ''] = timestamp.exec(raw) ?? []
  const atMs = time === '' ? undefined : Date.parse(time)
  const { text, start, end } = marksIn(raw.slice(stamp.length).replace(/\r$/, ''))
  if (before !== undefined && atMs !== undefined) before.endMs = atMs
  if (isError.test(text)) for (const group of groupsFrom(before)) group.folds = false
  let within = before
  if (end !== undefined && before !== undefined) {
    before.endMs = end.atMs ?? before.endMs
    before.isFolded = before.folds
    within = before.outer
    if (start === undefined && text === '') return within
  }
  const opens = start && {
    from: number,
    outer: within,
    isFolded: false,
    folds: start.folds,
    startMs: start.atMs ?? atMs,
    endMs: undefined,
  }
  // What a terminal shows of a line that was written again and again.
  lines.push({ number, byte, text: text.slice(text.lastIndexOf('\r') + 1), time, opens, within })
  return opens ?? within
}

/** Marks of GitHub and Azure, which fold, and of GitLab, which have times. */
const mark = new RegExp(
  `^(?:##\\[|::)(end)?group(?:\\]|::)|section_(?:start|(end)):(\\d{1,12}):[\\w.-]{1,200}(\\[[^\\]]{0,200}\\])?\\r(?:${esc}\\[0K)?`,
  'g',
)

/** A line without its marks, and those. */
function marksIn(line: string) {
  if (!/^(?:##|::)|section_/.test(line)) return { text: line }
  const found = Array.from(line.matchAll(mark), ([, end, sectionEnd, seconds, options]) => ({
    isEnd: (end ?? sectionEnd) !== undefined,
    atMs: seconds === undefined ? undefined : Number(seconds) * 1000,
    folds: seconds === undefined || options?.includes('collapsed=true') === true,
  }))
  return {
    text: line.replace(mark, ''),
    start: found.findLast(({ isEnd }) => !isEnd),
    end: found.findLast(({ isEnd }) => isEnd),
  }
}

/** A group and those around it, from the inside out. */
export function groupsFrom(group: LogGroup | undefined): readonly LogGroup[] {
  return group === undefined ? [] : [group, ...groupsFrom(group.outer)]
}

/** The line to which a byte belongs. */
export function lineAtByte(
  { lines, startByte, rest, text }: LogText,
  byte: number,
): LogLine | undefined {
  const end = rest.byte + byteLength(text.slice(rest.at))
  return byte < startByte || byte >= end ? undefined : lines.findLast((line) => line.byte <= byte)
}

/** Text and hits in turns: what is at an odd place is a hit. Letters of either case are alike. */
export function splitByHits(text: string, query: string): readonly string[] {
  return query === ''
    ? [text]
    : text.split(new RegExp(`(${query.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')})`, 'giu'))
}
