/** Prometheus metrics: of requests, services, logins, sessions, Redis, the embedded engine and the process. */
import { readFileSync } from 'node:fs'
import { methodLabel } from './methods.ts'
import { MetricSet } from './metric-set.ts'

interface MetricSources {
  upstreams: {
    pending(): Iterable<[service: string, calls: { pending: number; waiting: number }]>
    endpoints(): Iterable<{
      service: string
      instance: number
      circuit: keyof typeof circuitStates
    }>
  }
  liveSessions?: (() => number | undefined) | undefined
  redis?: { isReachable(): boolean } | undefined
  missingLogLines?: (() => Readonly<Record<string, number>>) | undefined
  eventStreams?: (() => number) | undefined
  embedded?: { isListening(): boolean; observe(): Promise<BackendState | undefined> } | undefined
  delivery?: (() => ReadonlyMap<string, DeliveryState>) | undefined
}

export interface BackendState {
  readonly executions?: Readonly<Record<string, number>>
  readonly queueAgesMs?: Readonly<Record<string, number>>
  readonly ended?: readonly EndedCount[]
  /** Bytes of what is kept, by kind; missing until they are measured. */
  readonly storedBytes?: Readonly<Record<string, number>> | undefined
  readonly accounts?: readonly AccountState[]
  /** Certificates of the fronts, by host. */
  readonly certificates?: readonly CertificateCondition[]
  /** Lease that lets the engine write. Missing where the lock of its directory decides alone. */
  readonly lease?: LeaseState
  /** Until when, in milliseconds since the epoch, the copy of the database has everything. Missing without a complete copy. */
  readonly copiedUntil?: number
}

export interface LeaseState {
  readonly holder: string
  readonly term: number
}

export interface EndedCount {
  readonly level: 'execution' | 'stage'
  readonly type: string
  readonly status: string
  readonly count: number
}

export interface AccountState {
  readonly provider: string
  readonly account: string
  readonly isReachable: boolean
}

export interface CertificateCondition {
  readonly host: string
  readonly state: string
  /** Milliseconds since the epoch; undefined: there is no certificate yet. */
  readonly times: { readonly notBeforeMs: number; readonly notAfterMs: number } | undefined
}

interface DeliveryState {
  readonly deploymentFrequency: { readonly deployments: number }
  readonly leadTime: { readonly medianMs: number | null }
  readonly changeFailureRate: { readonly share: number | null }
  readonly timeToRestore: { readonly medianMs: number | null }
}

const circuitStates = { closed: 0, 'half-open': 1, open: 2 } as const
const secondsBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
]
const redisBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Shown even when there is none, so that an alert finds them. */
const commonStatuses = ['NOT_STARTED', 'RUNNING', 'PAUSED']

export class Metrics extends MetricSet {
  readonly #build = this.gauge(
    'fairlead_build_info',
    'Always 1; the label has the version.',
    'version',
  )

  readonly #requests = this.counter(
    'fairlead_requests_total',
    'Requests answered.',
    'operation',
    'method',
    'status',
  )
  readonly #durations = this.histogram(
    'fairlead_request_duration_seconds',
    'From the request line to the last byte of the response.',
    secondsBuckets,
    'operation',
  )
  readonly #inFlight = this.gauge(
    'fairlead_requests_in_flight',
    'Requests received and not yet answered.',
  )
  readonly #sizes = this.counter(
    'fairlead_response_bytes_total',
    'Bytes of responses, before compression where streamed.',
    'operation',
  )
  #running = 0

  readonly requestStarted = (): void => {
    this.#running++
  }

  readonly requestAnswered = (request: {
    operation: string
    method: string
    status: number
    seconds: number
    bytes: number
  }): void => {
    const { operation, bytes } = request
    this.#running--
    this.#requests.inc({ operation, method: methodLabel(request.method), status: request.status })
    this.#durations.observe({ operation }, request.seconds)
    if (bytes > 0) this.#sizes.inc({ operation }, bytes)
  }

  readonly #calls = this.counter(
    'fairlead_upstream_requests_total',
    'Calls to services; status is "none" without a response.',
    'service',
    'method',
    'status',
  )
  readonly #callDurations = this.histogram(
    'fairlead_upstream_duration_seconds',
    'Duration of calls to services.',
    secondsBuckets,
    'service',
  )
  readonly #callSizes = this.counter(
    'fairlead_upstream_response_bytes_total',
    'Bytes received from services.',
    'service',
  )

  readonly upstreamAnswered = (call: {
    service: string
    method: string
    status: number | undefined
    durationMs: number
    bytes: number
  }): void => {
    const { service, bytes } = call
    this.#calls.inc({ service, method: methodLabel(call.method), status: call.status ?? 'none' })
    this.#callDurations.observe({ service }, call.durationMs / 1000)
    if (bytes > 0) this.#callSizes.inc({ service }, bytes)
  }

  readonly #retries = this.counter(
    'fairlead_upstream_retries_total',
    'Calls to services that failed and were retried, or were not because the budget was spent (over-budget).',
    'service',
    'result',
  )
  readonly callRetried = (service: string, result: 'retried' | 'over-budget'): void =>
    this.#retries.inc({ service, result })

  readonly #sharedReads = this.counter(
    'fairlead_shared_reads_total',
    'Reads that were answered by the call of an identical read at the same moment, by service.',
    'service',
  )
  readonly readShared = (service: string): void => this.#sharedReads.inc({ service })

  readonly #circuits = this.counter(
    'fairlead_upstream_circuit_opened_total',
    'Circuits that opened, by service.',
    'service',
  )
  readonly circuitOpened = (service: string): void => this.#circuits.inc({ service })

  readonly #shed = this.counter(
    'fairlead_requests_shed_total',
    'Requests rejected because of overload: they waited too long for a turn (delay), or too many are running (concurrency).',
    'reason',
  )
  readonly requestShed = (reason: 'delay' | 'concurrency'): void => this.#shed.inc({ reason })

  readonly #limited = this.counter(
    'fairlead_rate_limited_total',
    'Requests beyond the rate limit of a user, app, address or token; enforced is true if they were rejected.',
    'kind',
    'enforced',
  )
  readonly requestLimited = ({ kind, enforced }: { kind: string; enforced: boolean }): void =>
    this.#limited.inc({ kind, enforced: String(enforced) })

  readonly #uncounted = this.counter(
    'fairlead_rate_limit_uncounted_total',
    'Requests not counted for the rate limit, because Redis did not answer.',
  )
  readonly requestUncounted = (): void => this.#uncounted.inc()

  readonly #logins = this.counter(
    'fairlead_logins_total',
    'Successful browser logins, and credentials that were refused or could not be checked (error), by login method.',
    'method',
    'result',
  )
  readonly loginEnded = (login: {
    method: string
    result: 'success' | 'refused' | 'error'
  }): void => this.#logins.inc(login)

  readonly #logouts = this.counter('fairlead_logouts_total', 'Logouts, by login method.', 'method')
  readonly loggedOut = (method: string): void => this.#logouts.inc({ method })

  readonly #sessions = this.counter(
    'fairlead_sessions_started_total',
    'Sessions that this instance has started.',
  )
  readonly sessionStarted = (): void => this.#sessions.inc()

  readonly #auditFailures = this.counter(
    'fairlead_audit_failures_total',
    'Events that could not be written to the audit log.',
  )
  readonly auditFailed = (events: number): void => this.#auditFailures.inc(events)

  readonly #auditCounts = this.counter(
    'fairlead_audit_counted_total',
    'Events of clients without login that are in the audit log as a number, because others like them were recorded.',
  )
  readonly auditCounted = (): void => this.#auditCounts.inc()

  readonly #synchronisations = this.counter(
    'fairlead_role_synchronisations_total',
    'Completed synchronisations of roles, also after their request has ended.',
    'outcome',
  )
  readonly rolesSynchronised = (outcome: 'done' | 'failed'): void =>
    this.#synchronisations.inc({ outcome })

  readonly #commands = this.counter(
    'fairlead_redis_commands_total',
    'Commands sent to Redis; result is ok or error.',
    'command',
    'result',
  )
  readonly #commandDurations = this.histogram(
    'fairlead_redis_command_duration_seconds',
    'Duration of commands to Redis, failed ones included.',
    redisBuckets,
  )

  readonly redisAnswered = ({
    command,
    ok,
    durationMs,
  }: {
    command: string
    ok: boolean
    durationMs: number
  }): void => {
    this.#commands.inc({ command, result: ok ? 'ok' : 'error' })
    this.#commandDurations.observe(durationMs / 1000)
  }

  readonly #reconnects = this.counter(
    'fairlead_redis_reconnects_total',
    'Connections to Redis opened after one was lost.',
  )
  readonly redisReconnected = (): void => this.#reconnects.inc()

  constructor(version: string) {
    super()
    this.#build.set({ version }, 1)
    this.sample(() => this.#inFlight.set(this.#running))
  }

  watch({ upstreams, embedded, ...others }: Partial<MetricSources>): void {
    if (upstreams !== undefined) watchUpstreams(this, upstreams)
    watchStores(this, others)
    if (others.delivery !== undefined) watchDelivery(this, others.delivery)
    if (embedded !== undefined) watchEmbedded(this, embedded)
    watchProcess(this, others)
  }
}

function watchUpstreams(set: MetricSet, upstreams: MetricSources['upstreams']): void {
  const pending = set.gauge(
    'fairlead_upstream_requests_in_flight',
    'Calls to services that wait or run.',
    'service',
  )
  const waiting = set.gauge(
    'fairlead_upstream_requests_waiting',
    'Calls to services that wait for a connection.',
    'service',
  )
  const circuits = set.gauge(
    'fairlead_upstream_circuit_state',
    'Circuit of each external address that was called: 0 closed, 1 half-open, 2 open. Instances are numbered as configured.',
    'service',
    'instance',
  )
  set.sample(() => {
    for (const [service, calls] of upstreams.pending()) {
      pending.set({ service }, calls.pending)
      waiting.set({ service }, calls.waiting)
    }
    for (const { service, instance, circuit } of upstreams.endpoints())
      circuits.set({ service, instance }, circuitStates[circuit])
  })
}

function watchStores(
  set: MetricSet,
  { liveSessions, redis, eventStreams }: Partial<MetricSources>,
): void {
  if (liveSessions !== undefined) {
    const sessions = set.gauge(
      'fairlead_sessions',
      'Live sessions in the data directory. Missing if sessions are in Redis.',
    )
    set.sample(() => sessions.set(liveSessions() ?? Number.NaN))
  }
  if (redis !== undefined) {
    const up = set.gauge(
      'fairlead_redis_up',
      'Whether Redis answered the last command: 1 or 0. Missing without Redis.',
    )
    set.sample(() => up.set(redis.isReachable() ? 1 : 0))
  }
  if (eventStreams !== undefined) {
    const streams = set.gauge('fairlead_event_streams', 'Event streams that are open.')
    set.sample(() => streams.set(eventStreams()))
  }
}

function watchDelivery(set: MetricSet, delivery: NonNullable<MetricSources['delivery']>): void {
  const gauge = (name: string, help: string) => set.gauge(name, help, 'application')
  const deployments = gauge(
    'fairlead_delivery_deployments',
    'Deployments to production in the last 30 days, of the applications with the most runs. Of the embedded engine only, as all of these.',
  )
  const leadTime = gauge(
    'fairlead_delivery_lead_time_seconds',
    'From a commit to the end of its first deployment to production, in the median.',
  )
  const failed = gauge(
    'fairlead_delivery_failed_ratio',
    'Share of these deployments that were rolled back or failed after they had deployed.',
  )
  const restore = gauge(
    'fairlead_delivery_restore_seconds',
    'From a failed deployment to the next rollback or good one, in the median.',
  )
  set.sample(() => {
    for (const one of [deployments, leadTime, failed, restore]) one.reset()
    for (const [application, figures] of delivery()) {
      const { leadTime: lead, timeToRestore, changeFailureRate } = figures
      deployments.set({ application }, figures.deploymentFrequency.deployments)
      if (lead.medianMs !== null) leadTime.set({ application }, lead.medianMs / 1000)
      if (changeFailureRate.share !== null) failed.set({ application }, changeFailureRate.share)
      if (timeToRestore.medianMs !== null)
        restore.set({ application }, timeToRestore.medianMs / 1000)
    }
  })
}

/** @returns what shows the state of the back ends, with what to reset before */
function certificateGauges(set: MetricSet) {
  const expiry = set.gauge(
    'fairlead_certificate_expiry_seconds',
    'Seconds until the certificate of a host of the front ends; negative after that. Of ACME certificates only.',
    'host',
  )
  const life = set.gauge(
    'fairlead_certificate_life_seconds',
    'Seconds from the beginning to the end of that certificate.',
    'host',
  )
  const states = set.gauge(
    'fairlead_certificate_state',
    'Always 1; what is being done for the certificate of a host: waiting-dns, ordering, valid, failing, limited or expired.',
    'host',
    'state',
  )
  const show = (certificates: readonly CertificateCondition[], now: number): void => {
    for (const { host, state, times } of certificates) {
      states.set({ host, state }, 1)
      if (times === undefined) continue
      expiry.set({ host }, (times.notAfterMs - now) / 1000)
      life.set({ host }, (times.notAfterMs - times.notBeforeMs) / 1000)
    }
  }
  return { all: [expiry, life, states], show }
}

function watchEmbedded(set: MetricSet, embedded: NonNullable<MetricSources['embedded']>): void {
  const up = set.gauge(
    'fairlead_embedded_up',
    'Whether the worker of the embedded back ends listens: 1 or 0.',
  )
  const executions = set.gauge(
    'fairlead_executions',
    'Executions of the embedded engine that have not ended, by status. Missing while the worker does not answer.',
    'status',
  )
  const ages = set.gauge(
    'fairlead_engine_queue_age_seconds',
    'Age of the oldest entry: steps that are due (due), executions that wait for others of their pipeline (parked).',
    'queue',
  )
  const ended = countersOfEnds(set)
  const accounts = set.gauge(
    'fairlead_account_up',
    'Whether the API of an account of the embedded infrastructure answers: 1 or 0.',
    'provider',
    'account',
  )
  const stored = set.gauge(
    'fairlead_stored_bytes',
    'Size of what the data directory keeps, by kind, as of the last sweep of retention. `free`: pages of the database that are reused.',
    'kind',
  )
  const term = set.gauge(
    'fairlead_lease_term',
    'Term of the lease of the back ends, which rises with each holder.',
    'holder',
  )
  const copy = set.gauge(
    'fairlead_copy_age_seconds',
    'Seconds since the copy of the database was found complete.',
  )
  const certificates = certificateGauges(set)
  const all = [
    ...[executions, ages, ended.execution, ended.stage, accounts, stored, term],
    ...certificates.all,
  ]
  set.sample(async () => {
    up.set(embedded.isListening() ? 1 : 0)
    const state = await embedded.observe()
    for (const one of all) one.reset()
    if (state?.executions !== undefined)
      for (const status of commonStatuses) executions.set({ status }, 0)
    for (const [status, count] of Object.entries(state?.executions ?? {}))
      executions.set({ status }, count)
    for (const [queue, ageMs] of Object.entries(state?.queueAgesMs ?? {}))
      ages.set({ queue }, ageMs / 1000)
    if (state?.executions !== undefined)
      for (const { level, ...labels } of awaitedEnds) ended[level].inc(labels, 0)
    for (const { level, type, status, count } of state?.ended ?? [])
      ended[level].inc({ type, status }, count)
    for (const { provider, account, isReachable } of state?.accounts ?? [])
      accounts.set({ provider, account }, isReachable ? 1 : 0)
    certificates.show(state?.certificates ?? [], Date.now())
    for (const [kind, bytes] of Object.entries(state?.storedBytes ?? {}))
      stored.set({ kind }, bytes)
    if (state?.lease !== undefined) term.set({ holder: state.lease.holder }, state.lease.term)
    copy.set(
      state?.copiedUntil === undefined ? Number.NaN : (Date.now() - state.copiedUntil) / 1000,
    )
  })
}

const awaitedTypes = {
  execution: ['PIPELINE', 'ORCHESTRATION'],
  stage: [
    'deploy',
    'createServerGroup',
    'cloneServerGroup',
    'deployManifest',
    'rollbackCluster',
    'rollbackServerGroup',
    'undoRolloutManifest',
  ],
} as const

/** Shown from the start: a counter that appears with its first event hides that one from `increase`. */
const awaitedEnds = (['execution', 'stage'] as const).flatMap((level) =>
  awaitedTypes[level].flatMap((type) =>
    ['SUCCEEDED', 'TERMINAL'].map((status) => ({ level, type, status })),
  ),
)

function countersOfEnds(set: MetricSet) {
  return {
    execution: set.counter(
      'fairlead_executions_ended_total',
      'Executions that have ended since the embedded engine was started, by type (PIPELINE, ORCHESTRATION) and status.',
      'type',
      'status',
    ),
    stage: set.counter(
      'fairlead_stages_ended_total',
      'Stages that have ended since the embedded engine was started, by type and status, those within others included.',
      'type',
      'status',
    ),
  }
}

function watchProcess(set: MetricSet, { missingLogLines }: Partial<MetricSources>): void {
  const own = set.gauge(
    'fairlead_own_memory_bytes',
    'Resident memory without pages of files (RssAnon), which the system could take back. Not a number where the system does not report it.',
  )
  set.sample(() => own.set(ownMemoryBytes()))
  if (missingLogLines !== undefined) {
    const missing = set.counter(
      'fairlead_log_lines_missing_total',
      'Lines that the log lacks: standard output was not read (output), too many were alike (repeated), or requests without login too many (without-login).',
      'reason',
    )
    set.sample(() => {
      missing.reset()
      for (const [reason, lines] of Object.entries(missingLogLines()))
        missing.inc({ reason }, lines)
    })
  }
}

function ownMemoryBytes(): number {
  try {
    return (
      1024 * Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1])
    )
  } catch {
    return Number.NaN
  }
}
