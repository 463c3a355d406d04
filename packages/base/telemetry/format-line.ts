/** Log records as short lines for terminals, without control characters. */
import type { styleText } from 'node:util'
import { shorten } from '../names/edit-distance.ts'

type Format = Parameters<typeof styleText>[0]

export type Paint = (format: Format, text: string) => string

const maxPath = 100
const maxValue = 200

const levelColours: Readonly<Record<string, Format>> = {
  trace: 'gray',
  debug: 'gray',
  warn: 'yellow',
  error: 'red',
  fatal: ['red', 'bold'],
}

/** What stands elsewhere in the line, or helps programs only. */
const left = new Set(['level', 'time', 'msg', 'err', 'requestId', 'pid', 'hostname'])

/** @param json A line of the log, as programs get it. @returns the line without its end; several for an error with its stack */
export function formatLine(json: string, paint: Paint): string {
  const record = JSON.parse(json) as Record<string, unknown>
  const time = paint('dim', clockTime(String(record['time'])))
  return `${time} ${record['msg'] === 'request' ? formatRequest(record, paint) : formatMessage(record, paint)}`
}

/** `GET /applications 200 3 ms kim` */
function formatRequest(
  { method, path, status, durationMs, user, brokenOff }: Record<string, unknown>,
  paint: Paint,
): string {
  return [
    String(method).padEnd(4),
    shorten(printable(String(path)), maxPath),
    paint(statusColour(Number(status)), String(status)),
    paint('dim', `${Math.round(Number(durationMs))} ms`),
    ...(user === undefined ? [] : [printable(String(user))]),
    ...(brokenOff ? [paint('yellow', 'broken off')] : []),
  ].join(' ')
}

function statusColour(status: number): Format {
  return status >= 500 ? 'red' : status >= 400 ? 'yellow' : status >= 300 ? 'cyan' : 'green'
}

function formatMessage(record: Record<string, unknown>, paint: Paint): string {
  const level = String(record['level'])
  const fields = Object.entries(record).filter(([name]) => !left.has(name))
  return (
    [
      ...(level === 'info' ? [] : [paint(levelColours[level] ?? 'bold', level.toUpperCase())]),
      printable(String(record['msg'] ?? '').replace(/^Warning: /, '')),
      ...fields.map(([name, value]) =>
        paint('dim', printable(`${name}=${shorten(toText(value), maxValue)}`)),
      ),
    ].join(' ') + formatError(record['err'], record['code'])
  )
}

const defects = new Set([
  'TypeError',
  'ReferenceError',
  'RangeError',
  'SyntaxError',
  'AssertionError',
])

/** The stack helps where the program is at fault. */
function formatError(error: unknown, code: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { message = '', stack, type } = error as Record<string, unknown>
  const isDefect = code === 'UNEXPECTED' || defects.has(String(type))
  // The message of an error and those of its causes are joined by colons; ours are sentences.
  if (!isDefect || typeof stack !== 'string')
    return ` (${printable(String(message).replaceAll('.: ', ': '))})`
  return stack
    .split('\n')
    .map((line) => `\n    ${printable(line.trim())}`)
    .join('')
}

function clockTime(iso: string): string {
  const time = new Date(iso)
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What clients send must not write elsewhere on the screen, nor hide what it writes. */
function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
