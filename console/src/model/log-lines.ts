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
  startMs: number | undefined
  endMs: number | undefined
}

export interface LogLine {
  readonly number: number
  /** The first of its bytes in the whole output: its address. */
  readonly byte: number
  /** With the styles of terminals, without marks of groups and the time. */
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
  /** Before the last line, which may go on: the open group, bytes, characters and lines. */
  readonly rest: { readonly group: LogGroup | undefined; readonly byte: number; readonly at: number; readonly number: number }
}

export interface Found {
  /** First bytes of the lines that have a text, in their order. */
  readonly bytes: readonly number[]
  /** There are more. */
  readonly isCut: boolean
}

const encoder = new TextEncoder()
// Most text has one byte for each character, and is not encoded to be counted.
const simple = new RegExp(`^[\\t\\r -~${esc}]*$`)

export function byteLength(text: string): number {
  return simple.test(text) ? text.length : encoder.encode(text).length
}

/** The beginning of a text. @param bytes Up to the end of a character */
export function toTextOfBytes(text: string, bytes: number): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoder.encode(text).subarray(0, bytes))
}

/** @param before The last answer for the same output: while it only grows, its lines are taken over. */
export function toLogText(text: string, startByte = 0, firstLine = 1, before?: LogText): LogText {
  const goesOn =
    before !== undefined && before.startByte === startByte && before.firstLine === firstLine && text.startsWith(before.text)
  const rest = goesOn ? before.rest : { group: undefined, byte: startByte, at: 0, number: firstLine }
  // The last line may have been incomplete.
  const lines = goesOn ? before.lines.filter(({ byte }) => byte < rest.byte) : []
  let { group, byte, at, number } = rest
  for (let end = text.indexOf('\n', at); end !== -1; end = text.indexOf('\n', at)) {
    const raw = copied(text.slice(at, end))
    group = addLine(lines, raw, { number, byte, group })
    byte += byteLength(raw) + 1
    at = end + 1
    number++
  }
  const all = lines.slice()
  if (at < text.length) addLine(all, text.slice(at), { number, byte, group })
  return { text, startByte, firstLine, lines: all, rest: { group, byte, at, number } }
}

/** Engines keep the whole output for as long as a part that was cut out of it is in use; a copy lets go of it. */
function copied(text: string): string {
  return ` ${text}`.slice(1)
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
): LogGroup | undefined {
  const [stamp = '', time = ''] = timestamp.exec(raw) ?? []
  const atMs = time === '' ? undefined : Date.parse(time)
  const { rest, opens: opening, endMs } = marksIn(raw.slice(stamp.length).replace(/\r$/, ''), atMs)
  if (before !== undefined && atMs !== undefined) before.endMs = atMs
  if (isError.test(rest)) for (const group of groupsFrom(before)) group.folds = false
  let group = before
  if (endMs !== false && group !== undefined) {
    group.endMs = endMs ?? group.endMs
    group.isFolded = group.folds
    group = group.outer
    if (opening === undefined && rest === '') return group
  }
  const opens = opening && { ...opening, from: number, outer: group, isFolded: false, endMs: undefined }
  // What a terminal shows of a line that was written again and again.
  lines.push({ number, byte, text: rest.slice(rest.lastIndexOf('\r') + 1), time, opens, within: group })
  return opens ?? group
}

interface Marks {
  /** The line without them. */
  readonly rest: string
  /** The group that it opens. */
  readonly opens?: Pick<LogGroup, 'startMs' | 'folds'> | undefined
  /** When the group ended that it closes, as far as known; false: it closes none. */
  readonly endMs: number | undefined | false
}

const opening = /^(?:##\[group\]|::group::)/
const closing = /^(?:##\[endgroup\]|::endgroup::)/
const section = new RegExp(`section_(start|end):(\\d{1,12}):[\\w.-]{1,200}(\\[[^\\]]{0,200}\\])?\\r(?:${esc}\\[0K)?`, 'g')

/** Marks of GitHub, Azure and GitLab. */
function marksIn(text: string, atMs: number | undefined): Marks {
  if (opening.test(text)) return { rest: text.replace(opening, ''), opens: { startMs: atMs, folds: true }, endMs: false }
  if (closing.test(text)) return { rest: '', endMs: atMs }
  const marks = text.includes('section_') ? [...text.matchAll(section)] : []
  const [start, end] = ['start', 'end'].map((kind) => marks.findLast((mark) => mark[1] === kind))
  return {
    rest: marks.length === 0 ? text : text.replace(section, ''),
    opens: start && { startMs: Number(start[2]) * 1000, folds: start[3]?.includes('collapsed=true') === true },
    endMs: end === undefined ? false : Number(end[2]) * 1000,
  }
}

/** A group and those around it, from the inside out. */
export function groupsFrom(group: LogGroup | undefined): readonly LogGroup[] {
  return group === undefined ? [] : [group, ...groupsFrom(group.outer)]
}

/** The line to which a byte belongs. */
export function lineAtByte({ lines, startByte, rest, text }: LogText, byte: number): LogLine | undefined {
  const end = rest.byte + byteLength(text.slice(rest.at))
  return byte < startByte || byte >= end ? undefined : lines.findLast((line) => line.byte <= byte)
}

/** Text and hits in turns: what is at an odd place is a hit. Letters of either case are alike. */
export function splitByHits(text: string, query: string): readonly string[] {
  return query === '' ? [text] : text.split(new RegExp(`(${query.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')})`, 'giu'))
}
