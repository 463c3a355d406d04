/** Records an answered request: metrics, span, access log. */

import type { LineBudget } from '@fairlead/base/telemetry/line-budget.ts'
import { logAccess, type RequestOutcome } from '@fairlead/base/telemetry/log.ts'
import type { Metrics } from '@fairlead/base/telemetry/metrics.ts'
import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { noteThatCounts } from './audited-answers.ts'
import { networkOf } from './forwarded.ts'
import { noteProven } from './overload.ts'

interface AnswerRecords {
  readonly log: Logger
  readonly metrics: Metrics
  /** Paths whose successful answers stay out of the log: probes ask every few seconds. */
  readonly quietPaths: ReadonlySet<string>
  readonly linesWithoutLogin: LineBudget
}

export function recordAnswer(
  { log, metrics, quietPaths, linesWithoutLogin }: AnswerRecords,
  request: FastifyRequest,
  outcome: RequestOutcome,
): void {
  const { receivedAtMs, streamBeganAtMs, user, clientAddress } = request.state
  const durationMs = performance.now() - receivedAtMs
  metrics.requestAnswered({
    operation: request.state.operation ?? 'none',
    method: request.method,
    status: outcome.status,
    seconds: (streamBeganAtMs === undefined ? durationMs : streamBeganAtMs - receivedAtMs) / 1000,
    bytes: outcome.bytes,
  })
  recordLogin(metrics, request)
  endSpan(request, outcome)
  const isQuiet = outcome.status === 200 && quietPaths.has(request.state.route?.url ?? '')
  if (user !== undefined) noteProven(request.raw.socket)
  if (!isQuiet && user === undefined && !linesWithoutLogin.allows(networkOf(clientAddress))) return
  logAccess(log, request, outcome, { durationMs, level: isQuiet ? 'debug' : 'info' })
}

function endSpan({ state }: FastifyRequest, { status }: RequestOutcome): void {
  if (state.span === undefined) return
  // A request that is rejected before its route, such as one outside of the context path, has none.
  const route =
    state.operation === undefined && status === 404
      ? undefined
      : state.route?.url.replaceAll(/:(\w+)/g, '{$1}')
  const { operation, scheme, requestId, errorCode } = state
  state.span.end({ route, operation, status, scheme, requestId, errorCode })
}

function recordLogin(metrics: Metrics, request: FastifyRequest): void {
  const note = noteThatCounts(request)
  if (note === undefined) return
  const { method } = note
  if (note.kind === 'refused')
    metrics.loginEnded({ method, result: note.failed === true ? 'error' : 'refused' })
  else if (note.kind === 'login') metrics.loginEnded({ method, result: 'success' })
  else metrics.loggedOut(method)
}
