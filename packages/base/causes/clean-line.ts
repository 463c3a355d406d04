/** A line of output without what terminals, collectors and build tools put around its text. */
import type { CauseStream } from './cause.ts'

/** Rules see so much of the beginning and of the end of a long line. */
const headLength = 2_000
const tailLength = 500
const squeezeLength = 8_192

/** Escape sequences and other control characters, but no tabs. */
const escapes = /[^\P{Cc}\t](?:\[[0-?]*[ -/]*[@-~]|\][^\p{Cc}]*(?:[^\P{Cc}\t]\\?)?|[()][\dA-Z])?/gu

/** Characters that rules see of a line. */
export const longLine = headLength + tailLength

/** A line that still grows keeps what rules see. */
export function squeezeBytes(line: Buffer): Buffer {
  return line.length > squeezeLength
    ? Buffer.concat([line.subarray(0, headLength), line.subarray(-tailLength)])
    : line
}

/** Without control characters; of parts between carriage returns, the last one that is not empty. */
export function withoutControls(raw: string): string {
  const line = raw.length > longLine ? raw.slice(0, headLength) + raw.slice(-tailLength) : raw
  const plain = line.includes('\r')
    ? (line.split('\r').findLast((part) => part.replace(escapes, '').trim() !== '') ?? '')
    : line
  return plain.replace(escapes, '')
}

type Level = 'fatal' | 'error' | 'other'

export interface CleanLine {
  /** Without what collectors of output add; the rules of tools look at it. */
  readonly line: string
  /** What a person reads: without the marks of tools, too. */
  readonly text: string
  /** Process, step or host that wrote it, as far as the line says so. */
  readonly lane: string
  readonly level: Level | undefined
}

export interface KeptLine {
  /** From 1, by arrival. */
  readonly number: number
  readonly stream: CauseStream
  /** Without control characters. */
  readonly plain: string
}

export interface Line extends KeptLine, CleanLine {
  readonly at: number
}

/** Times, kernel, syslog; the first group is the step of a build, the second a process. */
const prefix =
  /^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d)?\]?\s|\[?\d\d:\d\d:\d\d[.,\d]*\]?\s|\[\s*\d+\.\d+\]\s|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w.@/-]+(?:\[\d+\])?: |(#\d+) (?:\d+\.\d+ )?|([\w.@/-]+)\s*\| |##\[error\]|::error(?: [^:]*)?::)/
const maxPrefixes = 5
const workflowError = /^(?:##|::)/
const toolMarks = /^(?:\s*[│╷╵╰├─▶×]+ *)+|^E {2,}|^➤ YN\d{4}: (?:[│┌└] *)?|^\[ERROR\] */

/** @param plain Without control characters */
export function cleanLine(plain: string): CleanLine {
  let line = plain
  let lane = ''
  let level: Level | undefined
  for (let count = 0; count < maxPrefixes; count++) {
    const [all, step, process] = prefix.exec(line) ?? []
    if (all === undefined) break
    lane += step ?? process ?? ''
    if (workflowError.test(all)) level = 'error'
    line = line.slice(all.length)
  }
  const mayHaveLevel = line.includes('level') || line.includes('lvl') || line.includes('severity')
  const read = mayHaveLevel ? readStructured(line) : undefined
  if (read !== undefined) return { line: read.text, text: read.text, lane, level: read.level }
  const trimmed = line.trim()
  const text = mayBeMarked(trimmed) ? trimmed.replace(toolMarks, '').trim() : trimmed
  return { line: line.trimEnd(), text, lane, level }
}

/** `E`, `[` and what is beyond ASCII. */
function mayBeMarked(text: string): boolean {
  const first = text.charCodeAt(0)
  return first > 127 || first === 69 || first === 91
}

const structuredStart = /^\s*\{.*"(?:level|severity|lvl)"/
const logfmtStart = /(?:^|\s)(?:level|severity|lvl)=/
const message = /(?:^|\s)(?:msg|message)=(?:"((?:[^"\\]|\\.)*)"|(\S+))/
const error = /(?:^|\s)(?:err|error)=(?:"((?:[^"\\]|\\.)*)"|(\S+))/
const levelField = /(?:^|\s)(?:level|severity|lvl)=(?:"(\w*)"|(\w+))/
const texts = ['msg', 'message', 'error', 'err', 'exception']

/** A line of JSON or logfmt that has a level. */
function readStructured(line: string): { text: string; level: Level } | undefined {
  if (structuredStart.test(line)) {
    try {
      const all = JSON.parse(line) as Record<string, unknown>
      const [text = ''] = texts.flatMap((name) => {
        const value = all[name]
        const inner = value !== null && typeof value === 'object' && 'message' in value
        const found = inner ? value.message : value
        return typeof found === 'string' && found !== '' ? [found] : []
      })
      return { text, level: levelOf(all['level'] ?? all['severity'] ?? all['lvl']) }
    } catch {
      return undefined
    }
  }
  if (!logfmtStart.test(line)) return undefined
  const of = (pattern: RegExp) => {
    const [, quoted, plain] = pattern.exec(line) ?? []
    return (quoted ?? plain)?.replaceAll('\\"', '"')
  }
  const text = [of(message), of(error)].filter(Boolean).join(': ')
  return text === '' ? undefined : { text, level: levelOf(of(levelField)) }
}

/** Numbers are those of pino: 50 is an error, 60 a fatal one. */
function levelOf(value: unknown): Level {
  if (typeof value === 'number') return value >= 60 ? 'fatal' : value >= 50 ? 'error' : 'other'
  const word = String(value).toLowerCase()
  if (/^(?:fatal|panic|critical|crit|emerg|alert)/.test(word)) return 'fatal'
  return /^(?:err|severe)/.test(word) ? 'error' : 'other'
}

const secretForms: readonly (readonly [RegExp, string])[] = [
  [/(\b[a-z][a-z\d+.-]{0,20}:\/\/)[^\s/@'"]{1,300}@/gi, '$1***@'],
  [/\b(authorization:\s{0,9}[\w-]{1,30}) \S+/gi, '$1 ***'],
  [
    /((?:password|passwd|secret|token|api[_-]?key)["']?\s{0,9}[=:]\s{0,9})["']?[^\s"',;&]+/gi,
    '$1***',
  ],
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]+\.[\w-]*/g, '***'],
  [/-----BEGIN [A-Z ]{1,40}-----.*/g, '***'],
]
const pemBody = /^[A-Za-z\d+/]{60,76}={0,2}$/

/** What looks like a secret is masked, whatever its value is. */
export function maskForms(text: string): string {
  if (pemBody.test(text)) return '***'
  return secretForms.reduce((masked, [form, mask]) => masked.replace(form, mask), text)
}
