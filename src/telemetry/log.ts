/** The log on standard output, without secrets, as JSON or short lines. */
import { styleText } from 'node:util'
import type { FastifyRequest } from 'fastify'
import pino, { type Logger } from 'pino'
import type { GatewayError } from '../errors.ts'
import { concealSecrets } from './conceal-secrets.ts'
import { formatLine, type Paint } from './format-line.ts'
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

/** Lines are written together, so that a busy gateway does not wait for its log; a quiet one shows them at once. */
const bufferBytes = 8 * 1024
const flushMs = 200

/** What waits at the end of the process is written then. @param format JSON unless given */
export function createLog(level: string, format: LogFormat = 'json'): Logger {
  const destination = pino.destination({ fd: 1, sync: false, minLength: bufferBytes })
  setInterval(() => destination.flush(), flushMs).unref()
  const log = pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    isForPeople(format) ? { write: (line) => void destination.write(`${formatLine(line, paint)}\n`) } : destination,
  )
  process.on('exit', () => destination.flushSync())
  return log
}

function isForPeople(format: LogFormat): boolean {
  return format === 'text' || (format === 'auto' && process.stdout.isTTY)
}

/** As NO_COLOR, FORCE_COLOR and the terminal say. */
const paint: Paint = (format, text) => styleText(format, text, { stream: process.stdout })

/** One line per request, once its answer is over. The query is left out: it may contain a secret of a script. */
export function logAccess(
  log: Logger,
  request: FastifyRequest,
  { status, bytes, complete }: Outcome,
  { durationMs, level }: { durationMs: number; level: 'debug' | 'info' },
): void {
  const { state } = request
  const calls = state.upstreamCalls
  log[level](
    {
      requestId: state.requestId,
      ...(state.span !== undefined && { traceId: state.span.traceId }),
      method: request.method,
      path: concealSecrets(state.path),
      status,
      bytes,
      durationMs: Math.round(durationMs * 10) / 10,
      ...(state.operation !== undefined && { operation: state.operation }),
      ...(state.user !== undefined && { user: state.user.username }),
      ...(state.token !== undefined && { token: state.token.id }),
      address: state.clientAddress,
      ...(!complete && { brokenOff: true }),
      ...(calls.length > 0 && { upstream: calls.map((call) => `${call.service} ${call.status ?? 'none'} ${call.durationMs}ms`) }),
    },
    'request',
  )
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
