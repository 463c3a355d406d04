/** The log on standard output, without secrets, as JSON or short lines. */
import { styleText } from 'node:util'
import type { FastifyRequest } from 'fastify'
import pino, { type Logger } from 'pino'
import type { GatewayError } from '../errors.ts'
import { concealSecrets } from './conceal-secrets.ts'
import { formatLine, type Paint } from './format-line.ts'
import { LineBudget } from './line-budget.ts'
import { LogOutput } from './log-output.ts'
import type { LogFormat } from './settings.ts'

export interface RequestOutcome {
  /** 499 when the client went away before there was an answer. */
  status: number
  bytes: number
  complete: boolean
}

interface OpenLog {
  readonly log: Logger
  missing(): Readonly<Record<'output' | 'repeated', number>>
}

/** Lines a minute with the same message, for example of an outage, or of refusals. Access lines have no such limit. */
const maxAlike = 600
const accessMessage = 'request'
const infoLevel = pino.levels.values['info'] ?? 0

/**
 * Lines that wait are written when the process ends, also by an error.
 *
 * @param format JSON unless given
 * @param fields Of every line
 */
export function openLog(
  level: string,
  format: LogFormat = 'json',
  fields?: Readonly<Record<string, unknown>>,
): OpenLog {
  const output = new LogOutput((lines) =>
    log.warn(
      { lines },
      'lines of the log were dropped: standard output was not read or could not be written',
    ),
  )
  const repeated = new LineBudget({
    perCause: maxAlike,
    total: 0,
    onWithheld: (like, lines) =>
      log.warn({ like, lines }, 'lines of the log were not written, because too many were alike'),
  })
  const log = pino(
    {
      level,
      base: fields,
      timestamp: createClock(),
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        logMethod(given, method, level) {
          const message = String(typeof given[0] === 'string' ? given[0] : given[1])
          if (level < infoLevel || message === accessMessage || repeated.allows(message))
            method.apply(this, given)
        },
      },
    },
    {
      write: isForPeople(format)
        ? (line) => output.write(`${formatLine(line, paint)}\n`)
        : (line) => output.write(line),
    },
  )
  process.on('exit', () => {
    repeated.close()
    output.end()
  })
  return {
    log,
    missing: () => ({ output: output.dropped, repeated: repeated.withheld }),
  }
}

function createClock(): () => string {
  let textOfMs = Number.NaN
  let text = ''
  return () => {
    const nowMs = Date.now()
    if (nowMs !== textOfMs) text = `,"time":"${new Date(nowMs).toISOString()}"`
    textOfMs = nowMs
    return text
  }
}

function isForPeople(format: LogFormat): boolean {
  return format === 'text' || (format === 'auto' && process.stdout.isTTY)
}

const paint: Paint = (format, text) => styleText(format, text, { stream: process.stdout })

/** One line per request, once its answer is over. The query is left out: it may contain a secret of a script. */
export function logAccess(
  log: Logger,
  { method, state }: FastifyRequest,
  { status, bytes, complete }: RequestOutcome,
  { durationMs, level }: { durationMs: number; level: 'debug' | 'info' },
): void {
  const { requestId, span, path, operation, user, token, clientAddress, upstreamCalls } = state
  const fields = {
    requestId,
    traceId: span?.traceId,
    method,
    path: concealSecrets(path),
    status,
    bytes,
    durationMs: Math.round(durationMs * 10) / 10,
    operation,
    user: user?.username,
    token: token?.id,
    address: clientAddress,
    brokenOff: complete ? undefined : true,
    upstream: upstreamCalls.length === 0 ? undefined : upstreamCalls.map(formatCall),
  }
  log[level](fields, accessMessage)
}

function formatCall({
  service,
  status,
  durationMs,
}: FastifyRequest['state']['upstreamCalls'][number]): string {
  return `${service} ${status ?? 'none'} ${durationMs}ms`
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
