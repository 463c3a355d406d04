/** The log on standard output, without secrets, as JSON or short lines. */
import { styleText } from 'node:util'
import type { FastifyRequest } from 'fastify'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { GatewayError } from '../errors.ts'
import { concealSecrets } from './conceal-secrets.ts'
import { formatLine, type Paint } from './format-line.ts'
import { LineBudget } from './line-budget.ts'
import { LogOutput } from './log-output.ts'
import type { LogFormat } from './settings.ts'

/** How a request ended. */
export interface Outcome {
  /** 499 when the client went away before there was an answer. */
  status: number
  /** Of the body; of a streamed one before compression. */
  bytes: number
  /** Whether the client got everything. */
  complete: boolean
}

interface OpenLog {
  readonly log: Logger
  /** Lines that are missing since the start, by reason: standard output was not read or could not be written, or too many were alike. */
  missing(): Readonly<Record<'output' | 'repeated', number>>
  /** Writes lines of the log of another process. @param lines With their ends */
  passOn(lines: string): void
}

/** Lines a minute with the same message, for example of an outage, or of refusals. Access lines have no such limit. */
const maxAlike = 600

/**
 * Lines that wait are written when the process ends, also by an error.
 *
 * @param format JSON unless given
 * @param fields Of every line
 */
export function openLog(level: string, format: LogFormat = 'json', fields?: Readonly<Record<string, unknown>>): OpenLog {
  const output = new LogOutput((lines) =>
    log.warn({ lines }, 'lines of the log were dropped: standard output was not read or could not be written'),
  )
  const repeated = new LineBudget({
    perCause: maxAlike,
    total: 0,
    onWithheld: (like, lines) => log.warn({ like, lines }, 'lines of the log were not written, because too many were alike'),
  })
  const log = pino(
    {
      level,
      base: fields,
      timestamp: () => `,"time":"${formatNow()}"`,
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        logMethod(given, method, level) {
          if (level < levels.info || repeated.allows(String(given.find((part) => typeof part === 'string'))))
            method.apply(this, given)
        },
      },
    },
    { write: isForPeople(format) ? (line) => output.write(`${formatLine(line, paint)}\n`) : (line) => output.write(line) },
  )
  process.on('exit', () => {
    repeated.close()
    output.end()
  })
  return {
    log,
    missing: () => ({ output: output.dropped, repeated: repeated.withheld }),
    passOn: (lines) => output.write(lines, lines.split('\n').length - 1),
  }
}

function isForPeople(format: LogFormat): boolean {
  return format === 'text' || (format === 'auto' && process.stdout.isTTY)
}

/** As NO_COLOR, FORCE_COLOR and the terminal say. */
const paint: Paint = (format, text) => styleText(format, text, { stream: process.stdout })

/**
 * One line per request, once its answer is over. The query is left out: it may contain a secret of a script. The line is that of
 * pino, formatted here: its fields are known, and most of them need no escaping.
 */
export function logAccess(
  log: Logger,
  { method, state }: FastifyRequest,
  { status, bytes, complete }: Outcome,
  { durationMs, level }: { durationMs: number; level: 'debug' | 'info' },
): void {
  const number = levels[level]
  if (number < log.levelVal) return
  const logger = log as Logger & Inside
  const { span, operation, user, token, clientAddress } = state
  // As few pieces as possible: each one is an object until the line is written.
  const trace = span === undefined ? '' : `,"traceId":"${span.traceId}"`
  const named = operation === undefined ? '' : `,"operation":"${operation}"`
  const by = user === undefined ? '' : `,"user":${quote(user.username)}`
  const presented = token === undefined ? '' : `,"token":${quote(token.id)}`
  const end = complete ? '' : ',"brokenOff":true'
  const line = `${beginLine(logger, number)}${quote(state.requestId)}${trace},"method":"${method}","path":${quote(concealSecrets(state.path))},"status":${status},"bytes":${bytes},"durationMs":${Math.round(durationMs * 10) / 10}${named}${by}${presented},"address":${quote(clientAddress)}${end}${formatCalls(state.upstreamCalls)},"msg":"request"}\n`
  logger[pino.symbols.streamSym].write(line)
}

/** The same text for all lines of a millisecond. */
function beginLine(logger: Inside, level: number): string {
  const time = logger[pino.symbols.timeSym]()
  if (time !== begun.time || level !== begun.level || logger !== begun.logger) {
    const text = `${logger[pino.symbols.lsCacheSym][level]}${time}${logger[pino.symbols.chindingsSym]},"requestId":`
    begun = { logger, level, time, text }
  }
  return begun.text
}

let begun: { logger: Inside | undefined; level: number; time: string; text: string } = {
  logger: undefined,
  level: 0,
  time: '',
  text: '',
}

function formatCalls(calls: FastifyRequest['state']['upstreamCalls']): string {
  const [first] = calls
  if (first === undefined) return ''
  return `,"upstream":[${calls.length === 1 ? formatCall(first) : calls.map(formatCall).join(',')}]`
}

function formatCall({ service, status, durationMs }: FastifyRequest['state']['upstreamCalls'][number]): string {
  return `"${service} ${status ?? 'none'} ${durationMs}ms"`
}

/** What pino writes around the fields of a line. */
interface Inside {
  /** The beginning of a line, by level. */
  readonly [pino.symbols.lsCacheSym]: Readonly<Record<number, string>>
  readonly [pino.symbols.timeSym]: () => string
  /** Fields of the logger itself. */
  readonly [pino.symbols.chindingsSym]: string
  readonly [pino.symbols.streamSym]: DestinationStream
}

const levels = pino.levels.values as Readonly<Record<'debug' | 'info', number>>
const needsNoEscape = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

function quote(text: string): string {
  return needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text)
}

let lastMs = Number.NaN
let lastTime = ''

/** The same text for all lines of a millisecond. */
function formatNow(): string {
  const nowMs = Date.now()
  if (nowMs === lastMs) return lastTime
  lastMs = nowMs
  lastTime = new Date(nowMs).toISOString()
  return lastTime
}

/** Errors of clients are in the access line; what an operator can mend gets a line with its cause. */
export function logError(log: Logger, request: FastifyRequest, error: GatewayError): void {
  if (error.status < 500) return
  const fields = {
    requestId: request.state.requestId,
    code: error.code,
    upstream: error.details.upstream,
    err: error.cause ?? error,
  }
  if (error.code === 'UNEXPECTED') log.error(fields, error.message)
  else log.warn(fields, error.message)
}
