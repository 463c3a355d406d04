/** Prometheus metrics: of requests, services, logins, sessions, Redis, the embedded engine and the process. */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type BoundHistogram, CounterFamily, HistogramFamily, type MetricSnapshot, type PrintedMetric } from './bound-metrics.ts'
import { methodLabel } from './methods.ts'

/** A metric as the reference describes it. */
interface MetricDescription {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

/** State that is asked for at each scrape. */
interface MetricSources {
  upstreams: {
    pending(): Iterable<[service: string, calls: { pending: number; waiting: number }]>
    endpoints(): Iterable<{ service: string; instance: number; circuit: keyof typeof circuitStates }>
  }
  /** Undefined when they cannot be counted at present. */
  liveSessions?: (() => number | undefined) | undefined
  redis?: { isReachable(): boolean } | undefined
  /** Lines that are missing since the start, by reason. */
  missingLogLines?: (() => Readonly<Record<string, number>>) | undefined
  /** Those that are open. */
  eventStreams?: (() => number) | undefined
  embedded?: { isListening(): boolean; observe(): Promise<EngineState | undefined> } | undefined
  /** Worker processes that serve. */
  workers?: (() => number) | undefined
}

/** A text in the exposition format of Prometheus. */
export interface PrintedMetrics {
  readonly contentType: string
  readonly text: string
}

export interface EngineState {
  /** Executions that have not ended, by status. */
  readonly executions: Readonly<Record<string, number>>
  /** Age of the oldest entry of each queue; 0 when it is empty. */
  readonly queueAgesMs: Readonly<Record<string, number>>
}

type LoginResult = 'success' | 'refused' | 'error'

export interface Metrics {
  requestStarted(): void
  requestAnswered(request: { operation: string; method: string; status: number; seconds: number; bytes: number }): void
  upstreamAnswered(call: { service: string; method: string; status: number | undefined; durationMs: number; bytes: number }): void
  callRetried(service: string, result: 'retried' | 'over-budget'): void
  circuitOpened(service: string): void
  /** A read was answered by the call of another one. */
  readShared(service: string): void
  requestShed(reason: 'delay' | 'concurrency'): void
  requestLimited(limited: { kind: string; enforced: boolean }): void
  requestUncounted(): void
  loginEnded(login: { method: string; result: LoginResult }): void
  loggedOut(method: string): void
  sessionStarted(): void
  redisAnswered(command: { command: string; ok: boolean; durationMs: number }): void
  redisReconnected(): void
  /** Events could not be written to the audit log. */
  auditFailed(events: number): void
  /** An event was counted with others like it, instead of recorded by itself. */
  auditCounted(): void
  rolesSynchronised(outcome: 'done' | 'failed'): void
  /** A worker process has ended although it was not told to. */
  workerDied(): void
  /** Has each scrape ask these. Called once. */
  watch(sources: Partial<MetricSources>): void
  /** Scrapes at the same time share one. */
  print(): Promise<PrintedMetrics>
  /** The same as plain data, to be added to those of other processes. */
  snapshot(): Promise<MetricSnapshot[]>
  /** Those of this gateway; the process and the runtime have the usual ones of prom-client. */
  readonly descriptions: readonly MetricDescription[]
}

const circuitStates = { closed: 0, 'half-open': 1, open: 2 } as const
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const redisBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Gauges that end in `_total`, a suffix of counters; each is the sum of the gauge without it. */
const misnamedGauges = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total']

/** Gauges that are no sum where several processes serve. */
const aggregators: Readonly<Record<string, 'first' | 'min' | 'max'>> = {
  fairlead_build_info: 'first',
  fairlead_sessions: 'max',
  fairlead_redis_up: 'min',
  fairlead_upstream_circuit_state: 'max',
}

/** Shown even when there is none, so that an alert finds them. */
const commonStatuses = ['NOT_STARTED', 'RUNNING', 'PAUSED']

/** @param version Of the package. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamedGauges) registry.removeSingleMetric(name)
  const descriptions: MetricDescription[] = []
  const printed: PrintedMetric[] = []
  const registers = [registry]
  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) => {
    descriptions.push({ name, type: 'counter', labels: labelNames, help })
    return new Counter({ name, help, labelNames, registers })
  }
  const gauge = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) => {
    descriptions.push({ name, type: 'gauge', labels: labelNames, help })
    return new Gauge({ name, help, labelNames, registers, aggregator: aggregators[name] ?? 'sum' })
  }
  const histogram = <Label extends string = never>(name: string, help: string, buckets: number[], ...labelNames: Label[]) => {
    descriptions.push({ name, type: 'histogram', labels: labelNames, help })
    return new Histogram({ name, help, labelNames, buckets, registers })
  }

  const boundCounter = (name: string, help: string, ...labels: string[]) => {
    descriptions.push({ name, type: 'counter', labels, help })
    const family = new CounterFamily(name, help)
    printed.push(family)
    return family
  }
  const boundHistogram = (name: string, help: string, bounds: number[], ...labels: string[]) => {
    descriptions.push({ name, type: 'histogram', labels, help })
    const family = new HistogramFamily(name, help, bounds)
    printed.push(family)
    return family
  }

  gauge('fairlead_build_info', 'Always 1; the label has the version.', 'version').set({ version }, 1)
  const requests = boundCounter('fairlead_requests_total', 'Requests answered.', 'operation', 'method', 'status')
  const durations = boundHistogram(
    'fairlead_request_duration_seconds',
    'From the request line to the last byte of the response.',
    secondsBuckets,
    'operation',
  )
  const inFlight = gauge('fairlead_requests_in_flight', 'Requests received and not yet answered.')
  const bytes = boundCounter(
    'fairlead_response_bytes_total',
    'Bytes of responses, before compression where streamed.',
    'operation',
  )
  const calls = boundCounter(
    'fairlead_upstream_requests_total',
    'Calls to services; status is "none" without a response.',
    'service',
    'method',
    'status',
  )
  const callDurations = boundHistogram(
    'fairlead_upstream_duration_seconds',
    'Duration of calls to services.',
    secondsBuckets,
    'service',
  )
  const callBytes = boundCounter('fairlead_upstream_response_bytes_total', 'Bytes received from services.', 'service')
  const retries = counter(
    'fairlead_upstream_retries_total',
    'Calls to services that failed and were retried, or were not because the budget was spent (over-budget).',
    'service',
    'result',
  )
  const sharedReads = boundCounter(
    'fairlead_shared_reads_total',
    'Reads that were answered by the call of an identical read at the same moment, by service.',
    'service',
  )
  const circuitsOpened = counter('fairlead_upstream_circuit_opened_total', 'Circuits that opened, by service.', 'service')
  const shed = counter(
    'fairlead_requests_shed_total',
    'Requests rejected because of overload: they waited too long for a turn (delay), or too many are running (concurrency).',
    'reason',
  )
  const limited = counter(
    'fairlead_rate_limited_total',
    'Requests beyond the rate limit of a user, app, address or token; enforced is true if they were rejected.',
    'kind',
    'enforced',
  )
  const uncounted = counter(
    'fairlead_rate_limit_uncounted_total',
    'Requests not counted for the rate limit, because Redis did not answer.',
  )
  const logins = counter(
    'fairlead_logins_total',
    'Successful browser logins, and credentials that were refused or could not be checked (error), by login method.',
    'method',
    'result',
  )
  const logouts = counter('fairlead_logouts_total', 'Logouts, by login method.', 'method')
  const sessionsStarted = counter('fairlead_sessions_started_total', 'Sessions that this instance has started.')
  const auditFailures = counter('fairlead_audit_failures_total', 'Events that could not be written to the audit log.')
  const auditCounted = counter(
    'fairlead_audit_counted_total',
    'Events of clients without login that are in the audit log as a number, because others like them were recorded.',
  )
  const synchronisations = counter(
    'fairlead_role_synchronisations_total',
    'Completed synchronisations of roles, also after their request has ended.',
    'outcome',
  )
  const redisCommands = counter(
    'fairlead_redis_commands_total',
    'Commands sent to Redis; result is ok or error.',
    'command',
    'result',
  )
  const redisDurations = histogram(
    'fairlead_redis_command_duration_seconds',
    'Duration of commands to Redis, failed ones included.',
    redisBuckets,
  )
  const redisReconnects = counter('fairlead_redis_reconnects_total', 'Connections to Redis opened after one was lost.')

  const workerDeaths = counter('fairlead_worker_deaths_total', 'Worker processes that ended unexpectedly and were started again.')

  const sharedReadsOf = new Map<string, { value: number }>()
  let requestsInFlight = 0
  const samplers: (() => void | Promise<void>)[] = [() => inFlight.set(requestsInFlight)]
  const answered = new Tallies('operation', { total: requests, durations, bytes })
  const called = new Tallies('service', { total: calls, durations: callDurations, bytes: callBytes })

  function watchEmbedded(embedded: NonNullable<MetricSources['embedded']>): void {
    const up = gauge('fairlead_embedded_up', 'Whether the worker of the embedded back ends listens: 1 or 0.')
    const executions = gauge(
      'fairlead_executions',
      'Executions of the embedded engine that have not ended, by status. Missing while the worker does not answer.',
      'status',
    )
    const ages = gauge(
      'fairlead_engine_queue_age_seconds',
      'Age of the oldest entry: steps that are due (due), executions that wait for others of their pipeline (parked).',
      'queue',
    )
    samplers.push(async () => {
      up.set(embedded.isListening() ? 1 : 0)
      const state = await embedded.observe()
      executions.reset()
      ages.reset()
      if (state === undefined) return
      for (const status of commonStatuses) executions.set({ status }, 0)
      for (const [status, count] of Object.entries(state.executions)) executions.set({ status }, count)
      for (const [queue, ageMs] of Object.entries(state.queueAgesMs)) ages.set({ queue }, ageMs / 1000)
    })
  }

  function watchUpstreams(upstreams: MetricSources['upstreams']): void {
    const pending = gauge('fairlead_upstream_requests_in_flight', 'Calls to services that wait or run.', 'service')
    const waiting = gauge('fairlead_upstream_requests_waiting', 'Calls to services that wait for a connection.', 'service')
    const circuits = gauge(
      'fairlead_upstream_circuit_state',
      'Circuit of each external address that was called: 0 closed, 1 half-open, 2 open. Instances are numbered as configured.',
      'service',
      'instance',
    )
    samplers.push(() => {
      for (const [service, calls] of upstreams.pending()) {
        pending.set({ service }, calls.pending)
        waiting.set({ service }, calls.waiting)
      }
      for (const { service, instance, circuit } of upstreams.endpoints())
        circuits.set({ service, instance }, circuitStates[circuit])
    })
  }

  function watchOthers({
    liveSessions,
    redis,
    embedded,
    eventStreams,
    missingLogLines,
    workers,
  }: Omit<MetricSources, 'upstreams'>): void {
    if (liveSessions !== undefined) {
      const sessions = gauge('fairlead_sessions', 'Live sessions in the data directory. Missing if sessions are in Redis.')
      samplers.push(() => sessions.set(liveSessions() ?? Number.NaN))
    }
    if (redis !== undefined) {
      const up = gauge('fairlead_redis_up', 'Whether Redis answered the last command: 1 or 0. Missing without Redis.')
      samplers.push(() => up.set(redis.isReachable() ? 1 : 0))
    }
    if (eventStreams !== undefined) {
      const streams = gauge('fairlead_event_streams', 'Event streams that are open.')
      samplers.push(() => streams.set(eventStreams()))
    }
    if (embedded !== undefined) watchEmbedded(embedded)
    if (missingLogLines !== undefined) {
      const missing = counter(
        'fairlead_log_lines_missing_total',
        'Lines that the log lacks: standard output was not read (output), too many were alike (repeated), or requests without login too many (without-login).',
        'reason',
      )
      samplers.push(() => {
        missing.reset()
        for (const [reason, lines] of Object.entries(missingLogLines())) missing.inc({ reason }, lines)
      })
    }
    if (workers !== undefined) {
      const serving = gauge('fairlead_workers', 'Worker processes that serve. Missing with `server.workers: 1`.')
      samplers.push(() => serving.set(workers()))
    }
  }

  async function snapshot(): Promise<MetricSnapshot[]> {
    await Promise.all(samplers.map((sample) => sample()))
    return [...(await registry.getMetricsAsJSON()).map(toSnapshot), ...printed.map((metric) => metric.snapshot())]
  }

  async function print(): Promise<PrintedMetrics> {
    await Promise.all(samplers.map((sample) => sample()))
    return {
      contentType: registry.contentType,
      text: (await registry.metrics()) + printed.map((metric) => metric.print()).join(''),
    }
  }
  let printing: Promise<PrintedMetrics> | undefined

  return {
    descriptions,
    rolesSynchronised: (outcome) => synchronisations.inc({ outcome }),
    workerDied: () => workerDeaths.inc(),
    auditFailed: (events) => auditFailures.inc(events),
    auditCounted: () => auditCounted.inc(),
    callRetried: (service, result) => retries.inc({ service, result }),
    circuitOpened: (service) => circuitsOpened.inc({ service }),
    readShared: (service) => {
      sharedReadsOf.getOrInsertComputed(service, () => sharedReads.bind({ service })).value++
    },
    requestShed: (reason) => shed.inc({ reason }),
    requestLimited: ({ kind, enforced }) => limited.inc({ kind, enforced: String(enforced) }),
    requestUncounted: () => uncounted.inc(),
    loginEnded: (login) => logins.inc(login),
    loggedOut: (method) => logouts.inc({ method }),
    sessionStarted: () => sessionsStarted.inc(),
    redisAnswered: ({ command, ok, durationMs }) => {
      redisCommands.inc({ command, result: ok ? 'ok' : 'error' })
      redisDurations.observe(durationMs / 1000)
    },
    redisReconnected: () => redisReconnects.inc(),
    requestStarted: () => {
      requestsInFlight++
    },
    requestAnswered: ({ operation, method, status, seconds, bytes: size }) => {
      requestsInFlight--
      answered.of(operation).count(method, status, seconds, size)
    },
    upstreamAnswered: ({ service, method, status, durationMs, bytes: size }) => {
      called.of(service).count(method, status ?? 'none', durationMs / 1000, size)
    },
    watch: ({ upstreams, ...others }) => {
      if (upstreams !== undefined) watchUpstreams(upstreams)
      watchOthers(others)
    },
    snapshot,
    print: () => {
      printing ??= print().finally(() => {
        printing = undefined
      })
      return printing
    },
  }
}

/**
 * One exposition for several processes. What each `aggregator` says becomes one value; a counter is the sum.
 *
 * @param snapshots Of processes of one version
 */
export async function printTotals(snapshots: readonly (readonly MetricSnapshot[])[]): Promise<PrintedMetrics> {
  const totals = AggregatorRegistry.aggregate([...snapshots] as object[])
  return { contentType: totals.contentType, text: await totals.metrics() }
}

/** Counters and histograms of a process that has ended, added to those of the ones before it: totals never fall. */
export async function addEnded(
  ended: readonly MetricSnapshot[],
  last: readonly MetricSnapshot[],
): Promise<readonly MetricSnapshot[]> {
  const lasting = last.filter(({ type }) => type === 'counter' || type === 'histogram')
  const totals = AggregatorRegistry.aggregate([ended, lasting] as object[])
  return (await totals.getMetricsAsJSON()).map(toSnapshot)
}

/** Values that are no numbers have no form in JSON, and say nothing. */
function toSnapshot(metric: object): MetricSnapshot {
  const { name, help, type, aggregator, values } = metric as MetricSnapshot
  return { name, help, type, aggregator, values: values.filter(({ value }) => Number.isFinite(value)) }
}

interface TallyFamilies {
  readonly total: CounterFamily
  readonly durations: HistogramFamily
  readonly bytes: CounterFamily
}

/** What is counted about answers, by operation or by service. */
class Tallies {
  readonly #label: string
  readonly #families: TallyFamilies
  readonly #known = new Map<string, Tally>()

  constructor(label: string, families: TallyFamilies) {
    this.#label = label
    this.#families = families
  }

  /** @param name One of few: an operation that exists, or a service. */
  of(name: string): Tally {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const tally = new Tally({ [this.#label]: name }, this.#families)
    this.#known.set(name, tally)
    return tally
  }
}

class Tally {
  readonly #labels: Readonly<Record<string, string>>
  readonly #families: TallyFamilies
  readonly #duration: BoundHistogram
  readonly #totals = new Map<string, Map<number | 'none', { value: number }>>()
  /** From the first answer with a body on. */
  #bytes: { value: number } | undefined

  constructor(labels: Readonly<Record<string, string>>, families: TallyFamilies) {
    this.#labels = labels
    this.#families = families
    this.#duration = families.durations.bind(labels)
  }

  count(method: string, status: number | 'none', seconds: number, bytes: number): void {
    const total = this.#totals.get(method)?.get(status) ?? this.#totalOf(methodLabel(method), status)
    total.value++
    this.#duration.observe(seconds)
    if (bytes === 0) return
    this.#bytes ??= this.#families.bytes.bind(this.#labels)
    this.#bytes.value += bytes
  }

  #totalOf(method: string, status: number | 'none'): { value: number } {
    const byStatus = this.#totals.getOrInsertComputed(method, () => new Map())
    return byStatus.getOrInsertComputed(status, () =>
      this.#families.total.bind({ ...this.#labels, method, status: String(status) }),
    )
  }
}
