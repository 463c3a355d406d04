/** Connection pools per service, for buffered calls and for streams. */
import { createSecureContext, type SecureContext } from 'node:tls'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { ServiceTls } from '@fairlead/base/services/service-tls.ts'
import type { ServiceAddress, ServiceName } from '@fairlead/base/services/services.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import type { Metrics } from '@fairlead/base/telemetry/metrics.ts'
import type { StartCall } from '@fairlead/base/telemetry/open-tracing.ts'
import { Forward, type Wait } from '@fairlead/proxy/forward.ts'
import { LeastBusy } from '@fairlead/proxy/least-busy.ts'
import { TimeoutSweep } from '@fairlead/proxy/sweep.ts'
import type { UpstreamAnswer } from './answer-form.ts'
import { createTarget, maxRedirects, redirectPath } from './call-target.ts'
import { type CircuitSettings, type CircuitState, usualCircuit } from './circuit.ts'
import { type CallBounds, Endpoint, isUnavailable, shorter } from './endpoint.ts'
import type { IdentityHeaders } from './identity.ts'
import { RetryBudget } from './retry-budget.ts'
import {
  type ServicePlace,
  type ServiceTraits,
  spinnakerTraits,
  toKnownService,
} from './service-traits.ts'
import { createChooser, criteriaOf, type Shard } from './shards.ts'
import type { UpstreamCall } from './upstream-call.ts'
import {
  circuitOpen,
  isMalformed,
  isNoAnswer,
  isUnconnected,
  mayRetry,
  switchedOff,
  toGatewayError,
} from './upstream-errors.ts'
import { askWhole, boundAnswer, readWholeText, type WholeAnswer } from './whole-answer.ts'

interface UpstreamSettings {
  /** Where each enabled service is; a service that is missing here is switched off. */
  services: Partial<Record<ServiceName, ServiceAddress>>
  /** Several instances of one service; they replace its address in `services`. */
  shards?: Partial<Record<ServiceName, readonly Shard[]>>
  bounds: CallBounds | ((service: ServiceName) => CallBounds)
  /** `okHttpClient.propagateSpinnakerHeaders`: whether identity and tracing headers are sent at all. */
  sendIdentity?: boolean
  retry?: boolean
  keepAliveMs: number
  maxAnswerBytes: number
  circuit?: CircuitSettings | false
  tls?: ServiceTls
}

export interface UpstreamSurroundings {
  /** A call is over; `status` is undefined when no answer came. */
  observe?: Metrics['upstreamAnswered']
  startCall?: StartCall
  /** A call is repeated, or would have been if the budget of the service allowed it. */
  onRetry?: ((service: ServiceName, result: 'retried' | 'over-budget') => void) | undefined
  onCircuit?: ((change: CircuitChange) => void) | undefined
  /** Present address of the embedded back ends; undefined while none serves. */
  embeddedUrl?: (() => string | undefined) | undefined
}

export interface CircuitChange {
  readonly service: ServiceName
  readonly address: string
  readonly state: CircuitState
  readonly cause: unknown
  readonly remainingMs: number
}

export interface EndpointState {
  readonly service: ServiceName
  readonly instance: number
  readonly circuit: CircuitState
  readonly remainingMs: number
}

const sweepMs = 250
const maxAttempts = 2
const maxAttemptsElsewhere = 3
const maxRetryDelayMs = 50
/** A service that comes back restarts within two seconds, and its standby takes a lease within twelve. */
const comebackMs = 20_000
const comebackDelayMs = 50
/** Bound of a connection to one that may be elsewhere, too: its machine may be gone. */
const comebackConnectMs = 1000

interface CallFailure {
  readonly error?: unknown
  readonly status?: number
  readonly method: string
  /** From 1; infinite: there cannot be another one. */
  readonly attempt: number
  readonly firstAtMs: number | undefined
}

interface CallAttempt {
  readonly identity: IdentityHeaders
  /** Have failed for this call; others are preferred. */
  readonly failed: readonly Endpoint[]
  /** Ends a wait. */
  readonly signal: () => AbortSignal | undefined
}

export class Upstreams {
  readonly #settings: UpstreamSettings
  readonly #services = new Map<ServiceName, ReturnType<typeof toKnownService>>()
  readonly #secureContext: SecureContext | undefined
  readonly #surroundings: UpstreamSurroundings
  readonly startCall: StartCall | undefined
  readonly sendsIdentity: boolean
  /** By service, or by service and instance where a request decides. */
  readonly #endpoints = new Map<string, readonly Endpoint[]>()
  readonly #budgets = new Map<ServiceName, RetryBudget>()
  readonly #choosers = new Map<ServiceName, ReturnType<typeof createChooser>>()
  readonly #choice = new LeastBusy()
  readonly #sweep = new TimeoutSweep(sweepMs)
  /** Calls that pause before they are repeated, each with what ends it. */
  readonly #pausing = new Map<Forward<Endpoint, unknown>, () => void>()
  #isClosed = false

  constructor(settings: UpstreamSettings, surroundings: UpstreamSurroundings = {}) {
    this.#settings = settings
    const { tls } = settings
    this.#secureContext = tls && createSecureContext(tls)
    this.#surroundings = surroundings
    this.startCall = surroundings.startCall
    this.sendsIdentity = settings.sendIdentity !== false
    for (const [name, address] of Object.entries(settings.services)) {
      const service = name as ServiceName
      this.#services.set(service, toKnownService(service, address))
    }
    for (const [service, shards] of Object.entries(settings.shards ?? {})) {
      if (shards.length > 0) this.#choosers.set(service as ServiceName, createChooser(shards))
    }
  }

  pending(): Iterable<[ServiceName, { pending: number; waiting: number }]> {
    const counts = new Map<ServiceName, { pending: number; waiting: number }>()
    for (const { service, inFlight, waiting } of this.#known()) {
      const known = counts.get(service)
      counts.set(service, {
        pending: inFlight + (known?.pending ?? 0),
        waiting: waiting + (known?.waiting ?? 0),
      })
    }
    return counts
  }

  endpoints(): EndpointState[] {
    const counts = new Map<ServiceName, number>()
    return this.#known().flatMap(({ service, circuit }) => {
      if (circuit === undefined) return []
      const instance = (counts.get(service) ?? 0) + 1
      counts.set(service, instance)
      return [{ service, instance, circuit: circuit.state, remainingMs: circuit.remainingMs }]
    })
  }

  #known(): Endpoint[] {
    return [...new Set([...this.#endpoints.values()].flat())]
  }

  isEnabled(service: ServiceName): boolean {
    return this.#services.has(service)
  }

  enabledServices(): ServiceName[] {
    return [...this.#services.keys()]
  }

  /** One that is off promises nothing. */
  traitsOf(service: ServiceName): ServiceTraits {
    return this.#services.get(service)?.traits ?? spinnakerTraits
  }

  nameOf(service: ServiceName): string {
    return this.#services.get(service)?.name ?? service
  }

  isSharded(service: ServiceName): boolean {
    return this.#choosers.has(service)
  }

  describe(service: ServiceName): string {
    const place = this.#services.get(service)?.place
    if (place === undefined) return 'off'
    return place.socketPath === undefined ? place.baseUrls.join(', ') : 'embedded'
  }

  /**
   * Asks a service and reads its whole answer. Error statuses are answers.
   *
   * @throws {GatewayError} SERVICE_DISABLED, CIRCUIT_OPEN, UPSTREAM_OVERLOADED, UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT,
   * UPSTREAM_UNREADABLE (too large)
   */
  async call(
    service: ServiceName,
    call: UpstreamCall,
    identity: IdentityHeaders,
  ): Promise<UpstreamAnswer> {
    const startedAtMs = performance.now()
    const method = call.method ?? 'GET'
    let status: number | undefined
    let bytes = 0
    const span = this.startCall?.(service, method)
    try {
      const asked =
        span === undefined ? call : { ...call, headers: { ...call.headers, ...span.headers } }
      const answer = await this.#askUntilAnswered(service, asked, identity)
      status = answer.status
      bytes = answer.body.length
      const text = await readWholeText(service, answer, this.#settings.maxAnswerBytes)
      const { speaksForFairlead } = this.traitsOf(service)
      return { status, headers: answer.headers, text, speaksForFairlead }
    } catch (error) {
      throw toGatewayError(error, service)
    } finally {
      span?.end(status)
      this.observe({ service, method, status, durationMs: performance.now() - startedAtMs, bytes })
    }
  }

  #askUntilAnswered(
    service: ServiceName,
    call: UpstreamCall,
    identity: IdentityHeaders,
  ): Promise<WholeAnswer> {
    const { method = 'GET', signal } = call
    const { promise, resolve, reject } = Promise.withResolvers<WholeAnswer>()
    /** Says that the service is unavailable. */
    let refusal: WholeAnswer | undefined
    const forward = new Forward<Endpoint, unknown>({
      choose: ({ tried }) => {
        this.#pausing.delete(forward)
        refusal = undefined
        return this.enter(service, call, { identity, failed: tried, signal: () => signal })
      },
      send: (endpoint) => {
        const answered = (answer: WholeAnswer) => {
          this.noteAnswer(endpoint, answer.status)
          refusal = answer
          if (isUnavailable(answer.status)) return void forward.fail(undefined)
          forward.leave()
          resolve(answer)
        }
        this.#ask(endpoint, call, identity).then(answered, (error: unknown) => forward.fail(error))
      },
      decideRetry: (endpoint, error, { number: attempt, firstFailedMs: firstAtMs }) => {
        const failure = { error, status: refusal?.status, method, attempt, firstAtMs }
        if (refusal !== undefined)
          return { retryMs: this.#retryDelay(endpoint, failure) === undefined ? undefined : 0 }
        const retryMs = signal?.aborted ? undefined : this.noteFailure(endpoint, failure)
        if (retryMs !== undefined) this.#pausing.set(forward, () => reject(error))
        return { retryMs }
      },
      leave: (endpoint) => endpoint.leave(),
      giveUp: (error) =>
        refusal === undefined ? reject(signal?.aborted ? signal.reason : error) : resolve(refusal),
    })
    forward.attempt()
    return promise
  }

  /**
   * The address for a call, with a place there, for which it may have to wait.
   *
   * @throws {GatewayError} SERVICE_DISABLED, CIRCUIT_OPEN, UPSTREAM_OVERLOADED
   */
  enter(
    service: ServiceName,
    call: UpstreamCall,
    { identity, failed, signal }: CallAttempt,
  ): Endpoint | Wait<Endpoint> {
    const endpoint = this.choose(service, call, identity, failed)
    const waiting = endpoint.enter(call, endpoint.isFull ? signal() : undefined)
    if (waiting === undefined) return endpoint
    return (proceed, giveUp) => {
      waiting.then(() => proceed(endpoint), giveUp)
      return () => {}
    }
  }

  /**
   * The address for a call: the least busy of those whose circuit is closed.
   *
   * @param failed Have failed for this call; others are preferred.
   * @throws {GatewayError} SERVICE_DISABLED, CIRCUIT_OPEN
   */
  choose(
    service: ServiceName,
    call: UpstreamCall,
    identity: IdentityHeaders,
    failed: readonly Endpoint[] = [],
  ): Endpoint {
    const endpoints = this.#endpointsOf(service, call, identity)
    if (failed.length === 0) this.#budgetOf(service).count()
    const [only] = endpoints
    if (endpoints.length === 1 && only?.isAvailable) return only
    const embedded = this.#surroundings.embeddedUrl?.()
    const linked = embedded && endpoints.find(({ baseUrl }) => baseUrl === `${embedded}/${service}`)
    if (linked) return linked
    const available = endpoints.filter(({ isAvailable }) => isAvailable)
    const best = this.#choice.pick(available, failed) ?? this.#choice.pick(available, [])
    if (best === undefined)
      throw circuitOpen(
        service,
        Math.min(...endpoints.map(({ circuit }) => circuit?.remainingMs ?? 0)),
      )
    return best
  }

  noteAnswer(endpoint: Endpoint, status: number | undefined): void {
    if (isUnavailable(status) && this.#hasAlternative(endpoint))
      endpoint.circuit?.fail(new Error(`it answered ${status}`), true)
    else endpoint.circuit?.succeed()
  }

  /**
   * A call failed, and that was not the doing of the client.
   *
   * @returns the milliseconds after which it may be repeated; undefined: it may not be
   */
  noteFailure(endpoint: Endpoint, failure: CallFailure): number | undefined {
    const { error } = failure
    const hasAlternative = this.#hasAlternative(endpoint)
    const delayMs = this.#retryDelay(endpoint, failure)
    if (error instanceof GatewayError && error.details.upstream?.status !== undefined) {
      this.noteAnswer(endpoint, error.details.upstream.status)
    } else if (
      (delayMs === undefined && isNoAnswer(error)) ||
      (hasAlternative && (isNoAnswer(error) || isMalformed(error)))
    ) {
      endpoint.circuit?.fail(error instanceof GatewayError ? error.cause : error, hasAlternative)
    }
    return delayMs
  }

  #hasAlternative(endpoint: Endpoint): boolean {
    const siblings = this.#endpoints.get(endpoint.service) ?? []
    return (
      siblings.includes(endpoint) &&
      siblings.some((other) => other !== endpoint && other.isAvailable)
    )
  }

  /**
   * Milliseconds after which a failed call may be repeated; undefined: it may not be. Repeating never does something twice:
   * nothing was sent, or it was a read. A service that comes back is waited for.
   */
  #retryDelay(endpoint: Endpoint, failure: CallFailure): number | undefined {
    const { error, method, attempt, firstAtMs = performance.now() } = failure
    const { service } = endpoint
    if (this.#isClosed) return undefined
    const status = error instanceof GatewayError ? error.details.upstream?.status : failure.status
    const isElsewhere =
      isUnavailable(status) && isReadMethod(method) && this.#hasAlternative(endpoint)
    const { comesBack } = this.traitsOf(service)
    if (!isElsewhere && !mayRetry(error, method) && !(comesBack && isUnconnected(error)))
      return undefined
    if (comesBack && attempt < Number.POSITIVE_INFINITY)
      return performance.now() - firstAtMs < comebackMs ? comebackDelayMs : undefined
    const attempts = this.#hasAlternative(endpoint) ? maxAttemptsElsewhere : maxAttempts
    if (this.#settings.retry === false || attempt >= attempts) return undefined
    const isAllowed = this.#budgetOf(service).take(performance.now())
    this.#surroundings.onRetry?.(service, isAllowed ? 'retried' : 'over-budget')
    return isAllowed ? Math.random() * maxRetryDelayMs : undefined
  }

  observe(call: Parameters<Metrics['upstreamAnswered']>[0]): void {
    this.#surroundings.observe?.(call)
  }

  /** What is under way fails, and is not repeated. */
  close(): void {
    this.#isClosed = true
    for (const [forward, fail] of this.#pausing) {
      forward.abandon()
      fail()
    }
    this.#pausing.clear()
    for (const endpoint of this.#known()) endpoint.close()
    this.#sweep.close()
  }

  #endpointsOf(
    service: ServiceName,
    call: UpstreamCall,
    identity: IdentityHeaders,
  ): readonly Endpoint[] {
    const known = this.#services.get(service)
    if (known === undefined) throw switchedOff(service)
    const instance = this.#choosers.get(service)?.(criteriaOf(identity, call.location))
    const key = instance === undefined ? service : `${service} ${instance}`
    const existing = this.#endpoints.get(key)
    if (existing !== undefined) return existing
    const place = instance === undefined ? known.place : { baseUrls: [instance], comesBack: false }
    const endpoints = place.baseUrls.map((baseUrl) => this.#createEndpoint(service, baseUrl, place))
    this.#endpoints.set(key, endpoints)
    return endpoints
  }

  #createEndpoint(service: ServiceName, baseUrl: string, place: ServicePlace): Endpoint {
    const { comesBack, baseUrls, socketPath, backendKey } = place
    const { bounds: given, circuit = usualCircuit, keepAliveMs } = this.#settings
    const bounds = typeof given === 'function' ? given(service) : given
    return new Endpoint({
      ...bounds,
      ...(comesBack &&
        baseUrls.length > 1 && {
          connectTimeoutMs: shorter(bounds.connectTimeoutMs, comebackConnectMs),
        }),
      keepAliveMs,
      sweep: this.#sweep,
      secureContext: this.#secureContext,
      service,
      baseUrl,
      socketPath,
      backendKey,
      circuit: circuit === false || comesBack ? undefined : circuit,
      changed: (endpoint, state, cause) => {
        const remainingMs = endpoint.circuit?.remainingMs ?? 0
        this.#surroundings.onCircuit?.({
          service,
          address: endpoint.address,
          state,
          cause,
          remainingMs,
        })
      },
    })
  }

  #budgetOf(service: ServiceName): RetryBudget {
    return this.#budgets.getOrInsertComputed(service, () => new RetryBudget())
  }

  async #ask(
    endpoint: Endpoint,
    call: UpstreamCall,
    identity: IdentityHeaders,
  ): Promise<WholeAnswer> {
    for (let redirects = 0, asked = call; ; redirects++) {
      const target = createTarget(endpoint, asked, { identity: this.sendsIdentity ? identity : {} })
      const answer = await askWhole(endpoint.takeConnection(), target, {
        signal: call.signal,
        check: boundAnswer(endpoint.service, {
          maxBytes: this.#settings.maxAnswerBytes,
          timeoutMs: target.timeoutMs,
        }),
      })
      if (answer.status < 300 || answer.status >= 400 || redirects === maxRedirects) return answer
      const path = redirectPath(target, [answer.headers['location']].flat()[0])
      if (path === undefined) return answer
      asked = { ...call, path, query: undefined }
    }
  }
}
