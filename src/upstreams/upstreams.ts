/** Connection pools per service, for buffered calls and for streams. */

import type { LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Client, Dispatcher } from 'undici'
import { GatewayError } from '../errors.ts'
import { formatQuery, type QueryValue } from '../http/encode-path.ts'
import { formatJson, parseJson } from '../json/json.ts'
import { isObject, textsOf } from '../json/values.ts'
import { isReadMethod } from '../telemetry/methods.ts'
import type { StartCall } from '../telemetry/tracing.ts'
import { type AnswerForm, checkForm, noPage, objectOrList } from './answer-form.ts'
import { type CircuitSettings, type CircuitState, usualCircuit } from './circuit.ts'
import { type CallBounds, type CallClass, Endpoint, isUnavailable } from './endpoint.ts'
import type { IdentityHeaders } from './identity.ts'
import { maxRedirects, redirectPath } from './redirects.ts'
import { RetryBudget } from './retry-budget.ts'
import type { ServiceTls } from './service-tls.ts'
import { nameOfService, type ServiceAddress, type ServiceName } from './services.ts'
import { createChooser, criteriaOf, type Shard } from './shards.ts'
import { codingOf, textOfError, tooLarge, unknownTransfer, unpack } from './unpack.ts'
import { type AnswerBounds, askWhole, type WholeAnswer } from './whole-answer.ts'

interface UpstreamSettings {
  /** Where each enabled service is; a service that is missing here is switched off. */
  services: Partial<Record<ServiceName, ServiceAddress>>
  /** Several instances of one service; they replace its address in `services`. */
  shards?: Partial<Record<ServiceName, readonly Shard[]>>
  bounds: CallBounds | ((service: ServiceName) => CallBounds)
  /** `okHttpClient.propagateSpinnakerHeaders`: whether identity and tracing headers are sent at all. */
  sendIdentity?: boolean
  /** Whether what failed before anything was sent, or while it was read, is asked again; yes unless given. */
  retry?: boolean
  keepAliveMs: number
  /** A connection is replaced at this age, so that changes of DNS are followed. */
  maxConnectionAgeMs?: number
  /** Largest answer that is read into memory. */
  maxAnswerBytes: number
  /** Of external services; `false` sends every call. */
  circuit?: CircuitSettings | false
  /** Resolves host names, instead of the system. */
  lookup?: LookupFunction
  /** Of addresses with https. */
  tls?: ServiceTls | undefined
}

/** Told about calls and services; every part may be missing. */
export interface UpstreamSurroundings {
  observe?: UpstreamObserver | undefined
  /** Begins the span of a call, where traces are on. */
  startCall?: StartCall | undefined
  /** A call is repeated, or would have been if the budget of the service allowed it. */
  onRetry?: ((service: ServiceName, result: 'retried' | 'over-budget') => void) | undefined
  onCircuit?: ((change: CircuitChange) => void) | undefined
}

/** A circuit opened, or closed again. */
export interface CircuitChange {
  readonly service: ServiceName
  /** For the log; never for a client. */
  readonly address: string
  readonly state: CircuitState
  /** Of the failure that opened it. */
  readonly cause: unknown
  /** Of the first probe. */
  readonly remainingMs: number
}

/** An address of a service, as metrics and health show it. */
export interface EndpointState {
  readonly service: ServiceName
  /** From 1, in the order of the configuration. */
  readonly instance: number
  readonly circuit: CircuitState
  readonly remainingMs: number
}

export interface UpstreamCall extends CallClass {
  /** Encoded path, relative to the base URL of the service; see `pathTo`. */
  path: string
  query?: Readonly<Record<string, QueryValue>>
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is, instead of `body`. */
  rawBody?: string | Buffer | Readable
  headers?: Readonly<Record<string, string>>
  /** Region, where instances are chosen by it. */
  location?: string
  /** Cancels the call before its response, when no request waits for it. */
  signal?: AbortSignal
}

/** Relative to the base URL of the service. */
export function pathOf({ path, query }: UpstreamCall): string {
  return query === undefined ? path : path + formatQuery(query)
}

export interface UpstreamAnswer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The answer as text; empty for 204. */
  text: string
  /** It comes from this process: users know nothing of a service. */
  isEmbedded?: boolean
}

/** Told about every call once it is over; `status` is undefined when no answer came. */
export type UpstreamObserver = (call: {
  service: ServiceName
  method: string
  status: number | undefined
  durationMs: number
  bytes: number
}) => void

/** A call as its connection takes it. */
export interface UpstreamTarget {
  options: Dispatcher.DispatchOptions & { readonly accept: string | undefined }
  /** Path of the base URL, without trailing slash; `options.path` begins with it. */
  basePath: string
}

interface TargetHeaders {
  readonly encoding?: 'gzip' | 'identity'
  readonly more?: Readonly<Record<string, string>> | undefined
  readonly lines?: string | undefined
}

/** @see RFC 9110, section 5.5 */
const unfitForHeader = /[^\t\x20-\x7e\x80-\xff]/

const usualConnectionAgeMs = 60_000
/** Responses with a status below 200 before the response proper. */
export const maxInformational = 10
const maxAttempts = 2
/** Where a service has several addresses. */
const maxAttemptsElsewhere = 3
/** Retries are spread over this time. */
const maxRetryDelayMs = 50
/** An embedded service restarts within seconds. */
const embeddedAttempts = 200
const embeddedDelayMs = 50
/** An answer that is read may take so many times its timeout altogether, however small its pieces. */
const maxTimeouts = 4

/** An error, or the status of an answer. */
interface CallFailure {
  readonly error?: unknown
  readonly status?: number | undefined
  readonly method: string
  /** From 1. */
  readonly attempt: number
}

export class Upstreams {
  readonly #settings: UpstreamSettings
  readonly #secureContext: SecureContext | undefined
  readonly #surroundings: UpstreamSurroundings
  readonly startCall: StartCall | undefined
  /** By service, or by service and instance where a request decides. */
  readonly #endpoints = new Map<string, readonly Endpoint[]>()
  readonly #budgets = new Map<ServiceName, RetryBudget>()
  readonly #choosers = new Map<ServiceName, ReturnType<typeof createChooser>>()
  #turn = 0

  constructor(settings: UpstreamSettings, surroundings: UpstreamSurroundings = {}) {
    this.#settings = settings
    const { tls } = settings
    this.#secureContext = tls && createSecureContext(tls)
    this.#surroundings = surroundings
    this.startCall = surroundings.startCall
    for (const [service, shards] of Object.entries(settings.shards ?? {})) {
      if (shards.length > 0) this.#choosers.set(service as ServiceName, createChooser(shards))
    }
  }

  /** Calls that wait or run, per service, and how many of them wait. */
  pending(): Iterable<[ServiceName, { pending: number; waiting: number }]> {
    const counts = new Map<ServiceName, { pending: number; waiting: number }>()
    for (const { service, pending, waiting } of this.#known()) {
      const known = counts.get(service)
      counts.set(service, { pending: pending + (known?.pending ?? 0), waiting: waiting + (known?.waiting ?? 0) })
    }
    return counts
  }

  /** The addresses that have been called. */
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
    return this.#settings.services[service] !== undefined
  }

  enabledServices(): ServiceName[] {
    return Object.keys(this.#settings.services) as ServiceName[]
  }

  isEmbedded(service: ServiceName): boolean {
    return this.#settings.services[service]?.kind === 'embedded'
  }

  /** In messages. */
  nameOf(service: ServiceName): string {
    return nameOfService(service, this.isEmbedded(service))
  }

  /** Whether a request decides which instance of the service it is sent to. */
  isSharded(service: ServiceName): boolean {
    return this.#choosers.has(service)
  }

  /** The address of a service for the log; never for a client. */
  describe(service: ServiceName): string {
    const address = this.#settings.services[service]
    return address === undefined ? 'off' : address.kind === 'embedded' ? 'embedded' : baseUrlsOf(address).join(', ')
  }

  /**
   * Asks a service and reads its whole answer. Error statuses are answers.
   *
   * @throws {GatewayError} SERVICE_DISABLED, CIRCUIT_OPEN, UPSTREAM_OVERLOADED, UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT,
   * UPSTREAM_UNREADABLE (too large)
   */
  async call(service: ServiceName, call: UpstreamCall, identity: IdentityHeaders): Promise<UpstreamAnswer> {
    const startedAtMs = performance.now()
    const method = call.method ?? 'GET'
    let status: number | undefined
    let bytes = 0
    const span = this.startCall?.(service, method)
    try {
      const asked = span === undefined ? call : { ...call, headers: { ...call.headers, ...span.headers } }
      for (const failed: Endpoint[] = []; ; ) {
        const attempt = failed.length + 1
        const endpoint = this.choose(service, call, identity, failed)
        try {
          const waiting = endpoint.enter(call, call.signal)
          if (waiting !== undefined) await waiting
        } catch (error) {
          throw call.signal?.aborted ? call.signal.reason : error
        }
        const connection = endpoint.takeConnection()
        try {
          const answer = await this.#ask(endpoint, connection, asked, identity)
          status = answer.status
          bytes = answer.body.length
          this.noteAnswer(endpoint, status)
          if (this.#retryDelay(endpoint, { status, method, attempt }) === undefined) {
            const text = await this.#read(service, answer)
            return { status, headers: answer.headers, text, isEmbedded: this.isEmbedded(service) }
          }
        } catch (error) {
          if (call.signal?.aborted) throw error
          const delayMs = this.noteFailure(endpoint, { error, method, attempt })
          if (delayMs === undefined) throw error
          await pause(delayMs)
        } finally {
          failed.push(endpoint)
          endpoint.leave(connection)
        }
      }
    } catch (error) {
      throw toGatewayError(error, service)
    } finally {
      span?.end(status)
      this.observe({ service, method, status, durationMs: performance.now() - startedAtMs, bytes })
    }
  }

  /**
   * The address for a call: the least busy of those whose circuit is closed.
   *
   * @param failed Have failed for this call; others are preferred.
   * @throws {GatewayError} SERVICE_DISABLED, CIRCUIT_OPEN
   */
  choose(service: ServiceName, call: UpstreamCall, identity: IdentityHeaders, failed: readonly Endpoint[] = []): Endpoint {
    const endpoints = this.#endpointsOf(service, call, identity)
    if (failed.length === 0) this.#budgetOf(service).count()
    const [only] = endpoints
    if (endpoints.length === 1 && only?.isAvailable) return only
    let best: Endpoint | undefined
    const first = this.#turn++
    for (let index = 0; index < endpoints.length; index++) {
      const endpoint = endpoints[(first + index) % endpoints.length] as Endpoint
      if (!endpoint.isAvailable) continue
      const isBetter = best === undefined || failed.includes(best) || endpoint.pending < best.pending
      if (best === undefined || (isBetter && !failed.includes(endpoint))) best = endpoint
    }
    if (best === undefined) throw circuitOpen(service, endpoints)
    return best
  }

  /** An answer came, even if it is an error. */
  noteAnswer(endpoint: Endpoint, status: number | undefined): void {
    if (isUnavailable(status) && this.#hasAlternative(endpoint)) endpoint.circuit?.fail(new Error(`it answered ${status}`), true)
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
    } else if ((delayMs === undefined && isNoAnswer(error)) || (hasAlternative && (isNoAnswer(error) || isMalformed(error)))) {
      endpoint.circuit?.fail(error instanceof GatewayError ? error.cause : error, hasAlternative)
    }
    return delayMs
  }

  /** Whether another address can take its calls. */
  #hasAlternative(endpoint: Endpoint): boolean {
    const siblings = this.#endpoints.get(endpoint.service) ?? []
    return siblings.includes(endpoint) && siblings.some((other) => other !== endpoint && other.isAvailable)
  }

  /**
   * Milliseconds after which a failed call may be repeated; undefined: it may not be. Repeating never does something twice:
   * nothing was sent, or it was a read. An embedded service that restarts is waited for.
   */
  #retryDelay(endpoint: Endpoint, failure: CallFailure): number | undefined {
    const { error, method, attempt } = failure
    const { service } = endpoint
    const status = error instanceof GatewayError ? error.details.upstream?.status : failure.status
    const isElsewhere = isUnavailable(status) && isReadMethod(method) && this.#hasAlternative(endpoint)
    if (!isElsewhere && !mayRetry(error, method)) return undefined
    if (this.isEmbedded(service)) return attempt < embeddedAttempts ? embeddedDelayMs : undefined
    const attempts = this.#hasAlternative(endpoint) ? maxAttemptsElsewhere : maxAttempts
    if (this.#settings.retry === false || attempt >= attempts) return undefined
    const isAllowed = this.#budgetOf(service).take(performance.now())
    this.#surroundings.onRetry?.(service, isAllowed ? 'retried' : 'over-budget')
    return isAllowed ? Math.random() * maxRetryDelayMs : undefined
  }

  /**
   * Resolves a call to the options that carry it out, for code that streams the answer.
   *
   * @param more Headers besides those of the call.
   * @param lines The identity, see `formatIdentity`.
   */
  target(
    endpoint: Endpoint,
    call: UpstreamCall,
    identity: IdentityHeaders,
    { encoding = 'gzip', more, lines }: TargetHeaders = {},
  ): UpstreamTarget {
    const accept = lines !== undefined && more === undefined ? this.#formatHeaders(call, encoding, lines) : undefined
    if (accept !== undefined) return this.#toTarget(endpoint, call, { accept })
    const described: Record<string, string> = {
      accept: 'application/json',
      'accept-encoding': encoding,
      ...call.headers,
      ...more,
    }
    let body: Dispatcher.DispatchOptions['body'] = call.rawBody
    if (call.body !== undefined) {
      body = formatJson(call.body)
      described['content-type'] ??= 'application/json; charset=UTF-8'
    }
    // A list is what undici makes of any object, at length.
    const headers: string[] = []
    if (this.#settings.sendIdentity !== false) {
      for (const name in identity) if (!(name in described)) headers.push(name, identity[name] as string)
    }
    for (const name in described) headers.push(name, described[name] as string)
    return this.#toTarget(endpoint, call, { headers, body })
  }

  /** All header lines of a read after the name of the first, which is `accept`; undefined for calls with other headers or a body. */
  #formatHeaders({ headers, body, rawBody }: UpstreamCall, encoding: 'gzip' | 'identity', identity: string): string | undefined {
    if (body !== undefined || rawBody !== undefined) return undefined
    let lines =
      encoding === 'gzip' ? 'application/json\r\naccept-encoding: gzip' : 'application/json\r\naccept-encoding: identity'
    for (const name in headers) {
      const value = headers[name] as string
      if (name !== 'if-none-match' || unfitForHeader.test(value)) return undefined
      lines += `\r\nif-none-match: ${value}`
    }
    return this.#settings.sendIdentity === false ? lines : lines + identity
  }

  #toTarget(
    endpoint: Endpoint,
    call: UpstreamCall,
    { accept, headers, body }: { accept?: string; headers?: string[]; body?: Dispatcher.DispatchOptions['body'] },
  ): UpstreamTarget {
    const { origin, basePath } = endpoint
    const options = { origin, path: basePath + pathOf(call), method: call.method ?? 'GET', headers, body, accept }
    const timeoutMs = endpoint.timeoutOf(call)
    if (timeoutMs !== endpoint.readTimeoutMs) Object.assign(options, { headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
    return { basePath, options }
  }

  observe(call: Parameters<UpstreamObserver>[0]): void {
    this.#surroundings.observe?.(call)
  }

  async close(): Promise<void> {
    await Promise.all(this.#known().map((endpoint) => endpoint.close()))
  }

  #endpointsOf(service: ServiceName, call: UpstreamCall, identity: IdentityHeaders): readonly Endpoint[] {
    const address = this.#settings.services[service]
    if (address === undefined) throw switchedOff(service)
    const instance = this.#choosers.get(service)?.(criteriaOf(identity, call.location))
    const key = instance === undefined ? service : `${service} ${instance}`
    const existing = this.#endpoints.get(key)
    if (existing !== undefined) return existing
    const baseUrls = instance === undefined ? baseUrlsOf(address) : [instance]
    const socketPath = address.kind === 'embedded' && instance === undefined ? address.socketPath : undefined
    const endpoints = baseUrls.map((baseUrl) => this.#createEndpoint(service, baseUrl, socketPath))
    this.#endpoints.set(key, endpoints)
    return endpoints
  }

  #createEndpoint(service: ServiceName, baseUrl: string, socketPath: string | undefined): Endpoint {
    const { circuit = usualCircuit, keepAliveMs, maxConnectionAgeMs = usualConnectionAgeMs, lookup } = this.#settings
    return new Endpoint({
      ...this.#boundsOf(service),
      keepAliveMs,
      lookup,
      secureContext: this.#secureContext,
      service,
      baseUrl,
      socketPath,
      maxConnectionAgeMs,
      circuit: circuit === false || socketPath !== undefined ? undefined : circuit,
      changed: (endpoint, state, cause) => {
        const remainingMs = endpoint.circuit?.remainingMs ?? 0
        this.#surroundings.onCircuit?.({ service, address: endpoint.address, state, cause, remainingMs })
      },
    })
  }

  #boundsOf(service: ServiceName): CallBounds {
    const { bounds } = this.#settings
    return typeof bounds === 'function' ? bounds(service) : bounds
  }

  #budgetOf(service: ServiceName): RetryBudget {
    const known = this.#budgets.get(service)
    if (known !== undefined) return known
    const budget = new RetryBudget()
    this.#budgets.set(service, budget)
    return budget
  }

  /** Asks, and asks again where the service sends a read on to. */
  async #ask(endpoint: Endpoint, connection: Client, call: UpstreamCall, identity: IdentityHeaders): Promise<WholeAnswer> {
    for (let redirects = 0, asked = call; ; redirects++) {
      const { options, basePath } = this.target(endpoint, asked, identity)
      const answer = await askWhole(connection, options, {
        signal: call.signal,
        check: this.#boundsOfAnswer(endpoint.service, endpoint.timeoutOf(call)),
      })
      if (answer.status < 300 || answer.status >= 400 || redirects === maxRedirects) return answer
      const path = redirectPath(options, basePath, [answer.headers['location']].flat()[0])
      if (path === undefined) return answer
      asked = { ...call, path, query: undefined }
    }
  }

  /** @returns a function that throws a {GatewayError}: UPSTREAM_UNREADABLE, UPSTREAM_TIMEOUT */
  #boundsOfAnswer(service: ServiceName, timeoutMs: number): NonNullable<AnswerBounds['check']> {
    const { maxAnswerBytes } = this.#settings
    const maxMs = timeoutMs * maxTimeouts || Number.POSITIVE_INFINITY
    let informational = 0
    let startedAtMs: number | undefined
    return (progress) => {
      if (progress === 'informational') {
        if (++informational > maxInformational) throw onlyInformational(service)
        return
      }
      if (progress > maxAnswerBytes) throw tooLarge(service, maxAnswerBytes)
      startedAtMs ??= performance.now()
      if (performance.now() - startedAtMs > maxMs) throw tooLate(service, new Error('the answer came too slowly'))
    }
  }

  /** @throws {GatewayError} UPSTREAM_UNREADABLE */
  async #read(service: ServiceName, { status, headers, body }: WholeAnswer): Promise<string> {
    if (status >= 400) return textOfError(headers, body)
    const refused = unknownTransfer(service, headers)
    if (refused !== undefined) throw refused
    if (codingOf(headers) !== 'gzip' || body.length === 0) return body.toString('utf8')
    return (await unpack(service, body, this.#settings.maxAnswerBytes)).toString('utf8')
  }
}

function baseUrlsOf(address: ServiceAddress): readonly string[] {
  return address.kind === 'embedded' ? [`http://embedded/${address.service}`] : (address.baseUrls ?? [address.baseUrl])
}

function circuitOpen(service: ServiceName, endpoints: readonly Endpoint[]): GatewayError {
  const remainingMs = Math.min(...endpoints.map(({ circuit }) => circuit?.remainingMs ?? 0))
  const until = new Date(Date.now() + remainingMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const message = (name: string) =>
    `${name} has failed repeatedly, so Fairlead calls it again only once it answers a probe, at ${until} at the earliest. Try again then.`
  return new GatewayError('CIRCUIT_OPEN', message, {
    upstream: { service },
    headers: { 'retry-after': String(Math.max(1, Math.ceil(remainingMs / 1000))) },
  })
}

function switchedOff(service: ServiceName): GatewayError {
  const message = (name: string) =>
    `${name} is switched off. Set services.${service}.enabled or services.${service}.baseUrl to use this.`
  return new GatewayError('SERVICE_DISABLED', message, { upstream: { service } })
}

/** Of this process or machine: descriptors, ports and buffers are exhausted. */
const ownFaults = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'])
const notSent = new Set(['ECONNREFUSED', 'ENOENT', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])
const brokenOff = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Whether repeating cannot do something twice: nothing was sent, or it is a read. */
function mayRetry(error: unknown, method: string): boolean {
  const code = codeOf(error instanceof GatewayError ? error.cause : error)
  return notSent.has(code) || (brokenOff.has(code) && isReadMethod(method))
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '')
}

const timeouts = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'])

/** The service did not answer. What is wrong with this process or with an answer says nothing about that. */
function isNoAnswer(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return !ownFaults.has(codeOf(error)) && !isMalformed(error)
  if (error.code !== 'UPSTREAM_TIMEOUT' && error.code !== 'UPSTREAM_UNREACHABLE') return false
  return !ownFaults.has(codeOf(error.cause))
}

const malformed = new Set(['UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'])

/** Something answered, and not in HTTP: one operation of a service may do so while the others are well. */
function isMalformed(error: unknown): boolean {
  const cause = error instanceof GatewayError ? error.cause : error
  return malformed.has(codeOf(cause)) || (cause instanceof Error && cause.name === 'HTTPParserError')
}

/** Unreachable is 502, too slow is 504; the address stays in the log. */
export function toGatewayError(error: unknown, service: ServiceName): GatewayError {
  if (error instanceof GatewayError) return error
  if (timeouts.has(codeOf(error))) return tooLate(service, error)
  if (isMalformed(error)) {
    const message = (name: string) => `${name} sent a response that is not valid HTTP, or has headers that are too large.`
    return new GatewayError('UPSTREAM_UNREADABLE', message, { upstream: { service }, cause: error })
  }
  return new GatewayError('UPSTREAM_UNREACHABLE', (name) => `${name} could not be reached, or broke off before it answered.`, {
    upstream: { service },
    cause: error,
  })
}

function tooLate(service: ServiceName, cause: unknown): GatewayError {
  return new GatewayError('UPSTREAM_TIMEOUT', (name) => `${name} did not answer in time.`, { upstream: { service }, cause })
}

export function onlyInformational(service: ServiceName): GatewayError {
  const message = (name: string) => `${name} sent more than ${maxInformational} informational responses instead of an answer.`
  return new GatewayError('UPSTREAM_UNREADABLE', message, { upstream: { service } })
}

/**
 * The JSON of a successful answer; undefined when it is empty.
 *
 * @param form Required form of an answer that is not parsed.
 * @throws {GatewayError} UPSTREAM_FAILED with the status of the service, UPSTREAM_UNREADABLE
 */
export function readJson(answer: UpstreamAnswer, service: ServiceName, form?: AnswerForm): unknown {
  checkSuccess(answer, service)
  if (form !== undefined && !isEmptyByStatus(answer.status)) checkForm(form, service, answer.text)
  if (answer.text.trim() === '') return undefined
  try {
    return parseJson(answer.text)
  } catch (cause) {
    checkForm(objectOrList, service, answer.text)
    throw new GatewayError('UPSTREAM_UNREADABLE', (name) => `${name} answered with something that is not JSON.`, {
      upstream: { service, status: answer.status },
      cause,
    })
  }
}

/**
 * For a call whose answer Fairlead ignores or reads as text: a page for people comes from something else than the service.
 *
 * @throws {GatewayError} UPSTREAM_FAILED with the status of the service, UPSTREAM_UNREADABLE
 */
export function checkDone(answer: UpstreamAnswer, service: ServiceName): void {
  checkSuccess(answer, service)
  checkForm(noPage, service, answer.text)
}

/** Whether the status says that there is no body. */
export function isEmptyByStatus(status: number): boolean {
  return status === 204 || status === 205
}

function checkSuccess(answer: UpstreamAnswer, service: ServiceName): void {
  const { status } = answer
  if (status >= 400) throw upstreamFailed(service, answer)
  if (status >= 300) {
    throw new GatewayError('UPSTREAM_UNREADABLE', (name) => `${name} answered with a redirect, which is not followed.`, {
      upstream: { service, status },
    })
  }
}

/**
 * The error of a service as clients of Gate expect it: same status, one line, and what the service said, also when to try again. The message names an external
 * service; an embedded one speaks for Fairlead.
 */
export function upstreamFailed(
  service: ServiceName,
  { status, text, isEmbedded = false, headers = {} }: Omit<UpstreamAnswer, 'headers'> & Partial<UpstreamAnswer>,
): GatewayError {
  if (status >= 600) {
    const message = (name: string) => `${name} answered with the status ${status}, which HTTP does not have.`
    return new GatewayError('UPSTREAM_UNREADABLE', message, { upstream: { service } })
  }
  if (status === 407) {
    const advice = (name: string) => (name === service ? ` Check services.${service}.baseUrl.` : '')
    const message = (name: string) => `A proxy on the way to ${name} demands a login of its own.${advice(name)}`
    return new GatewayError('UPSTREAM_UNREADABLE', message, { upstream: { service } })
  }
  const said = parseErrorBody(text)
  const message = typeof said?.['message'] === 'string' ? said['message'] : undefined
  const lines = textsOf(said?.['errors'])
  const told = message ?? (lines.length > 0 ? lines.join('; ') : undefined)
  return new GatewayError(
    'UPSTREAM_FAILED',
    isEmbedded ? (told ?? describeStatus(status)) : `${service} answered ${status}${told === undefined ? '.' : `: ${told}`}`,
    {
      status,
      upstream: { service, status },
      ...(typeof headers['retry-after'] === 'string' && { headers: { 'retry-after': headers['retry-after'] } }),
      ...(lines.length > 0 && { fields: { errors: lines } }),
    },
  )
}

function describeStatus(status: number): string {
  return `The request failed with status ${status}${status < 500 ? '.' : '; the log has the reason.'}`
}

function parseErrorBody(text: string): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) ? body : undefined
  } catch {
    return undefined
  }
}
