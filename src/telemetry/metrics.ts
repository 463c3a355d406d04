/** Prometheus metrics of the gateway: per operation and per upstream, and of the process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  requestStarted(): void
  requestAnswered(request: { operation: string; method: string; status: number; seconds: number; bytes: number }): void
  upstreamAnswered(call: { service: string; method: string; status: number | undefined; durationMs: number; bytes: number }): void
  upstreamPending(read: () => Iterable<[service: string, pending: number]>): void
  requestLimited(limited: { kind: string; enforced: boolean }): void
  requestUncounted(): void
  /** Events could not be written to the audit log. */
  auditFailed(events: number): void
  rolesSynchronised(outcome: 'done' | 'failed'): void
  /** Text in the exposition format of Prometheus. */
  print(): Promise<{ contentType: string; text: string }>
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'fairlead_' })
  const registers = [registry]
  const requests = new Counter({
    name: 'fairlead_requests_total',
    help: 'Requests answered.',
    labelNames: ['operation', 'method', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'fairlead_request_duration_seconds',
    help: 'From the request line to the last byte of the answer.',
    labelNames: ['operation'],
    buckets: seconds,
    registers,
  })
  const inFlight = new Gauge({ name: 'fairlead_requests_in_flight', help: 'Requests received and not yet answered.', registers })
  const bytes = new Counter({
    name: 'fairlead_response_bytes_total',
    help: 'Bytes of answers, before compression where streamed.',
    labelNames: ['operation'],
    registers,
  })
  const calls = new Counter({
    name: 'fairlead_upstream_requests_total',
    help: 'Calls to services; status is "none" when no answer came.',
    labelNames: ['service', 'method', 'status'],
    registers,
  })
  const callDurations = new Histogram({
    name: 'fairlead_upstream_duration_seconds',
    help: 'Duration of calls to services.',
    labelNames: ['service'],
    buckets: seconds,
    registers,
  })
  const callBytes = new Counter({
    name: 'fairlead_upstream_response_bytes_total',
    help: 'Bytes received from services.',
    labelNames: ['service'],
    registers,
  })
  const limited = new Counter({
    name: 'fairlead_rate_limited_total',
    help: 'Requests beyond the rate limit of a user, app, address or token; enforced tells whether they were refused.',
    labelNames: ['kind', 'enforced'],
    registers,
  })
  const uncounted = new Counter({
    name: 'fairlead_rate_limit_uncounted_total',
    help: 'Requests that were not counted in Redis for the rate limit, because it did not answer.',
    registers,
  })
  const auditFailures = new Counter({
    name: 'fairlead_audit_failures_total',
    help: 'Events that could not be written to the audit log.',
    registers,
  })
  const synchronisations = new Counter({
    name: 'fairlead_role_synchronisations_total',
    help: 'Synchronisations of roles that have ended, whether or not somebody still waited.',
    labelNames: ['outcome'],
    registers,
  })
  return {
    rolesSynchronised: (outcome) => synchronisations.inc({ outcome }),
    auditFailed: (events) => auditFailures.inc(events),
    requestLimited: ({ kind, enforced }) => limited.inc({ kind, enforced: String(enforced) }),
    requestUncounted: () => uncounted.inc(),
    requestStarted: () => inFlight.inc(),
    requestAnswered: (request) => {
      inFlight.dec()
      requests.inc({ operation: request.operation, method: request.method, status: request.status })
      durations.observe({ operation: request.operation }, request.seconds)
      if (request.bytes > 0) bytes.inc({ operation: request.operation }, request.bytes)
    },
    upstreamAnswered: (call) => {
      calls.inc({ service: call.service, method: call.method, status: call.status ?? 'none' })
      callDurations.observe({ service: call.service }, call.durationMs / 1000)
      if (call.bytes > 0) callBytes.inc({ service: call.service }, call.bytes)
    },
    upstreamPending: (read) => {
      const gauge: Gauge<'service'> = new Gauge({
        name: 'fairlead_upstream_requests_in_flight',
        help: 'Calls to services that wait or run.',
        labelNames: ['service'],
        registers,
        collect: () => {
          for (const [service, pending] of read()) gauge.set({ service }, pending)
        },
      })
    },
    print: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}
