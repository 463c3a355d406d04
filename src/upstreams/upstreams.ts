/** Connection pools per service, for buffered calls and for streams. */
import type { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { type Dispatcher, Pool } from 'undici'
import { GatewayError } from '../errors.ts'
import { formatQuery, type QueryValue } from '../http/encode-path.ts'
import { formatJson, parseJson } from '../json/json.ts'
import { isObject } from '../json/values.ts'
import type { StartCall } from '../telemetry/tracing.ts'
import { type AnswerForm, checkForm, noPage, objectOrList } from './answer-form.ts'
import type { IdentityHeaders } from './identity.ts'
import { maxRedirects, redirectPath } from './redirects.ts'
import type { ServiceAddress, ServiceName } from './services.ts'
import { createChooser, criteriaOf, type Shard } from './shards.ts'

interface UpstreamSettings {
  /** Where each enabled service is; a service that is missing here is switched off. */
  services: Partial<Record<ServiceName, ServiceAddress>>
  /** Several instances of one service; they replace its address in `services`. */
  shards?: Partial<Record<ServiceName, readonly Shard[]>>
  connectTimeoutMs: number
  /** Longest wait for the headers of an answer, and between two pieces of its body; 0 waits for ever. */
  readTimeoutMs: number
  /** Timeouts of single services, instead of the two above. */
  timeouts?: Partial<Record<ServiceName, { connectTimeoutMs: number; readTimeoutMs: number }>>
  /** `okHttpClient.propagateSpinnakerHeaders`: whether identity and tracing headers are sent at all. */
  sendIdentity?: boolean
  /** Whether what failed before anything was sent, or while it was read, is asked once more; yes unless given. */
  retry?: boolean
  keepAliveMs: number
  /** Connections per service. */
  maxConnections: number
  /** Calls per service that may wait or run at once; more are refused, so that a dead service costs bounded memory. */
  maxPending: number
  /** Largest answer that is read into memory. */
  maxAnswerBytes: number
}

export interface UpstreamCall {
  method?: Dispatcher.HttpMethod
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
  /** Instead of the read timeout of the service, for the few calls that take longer than any other. */
  readTimeoutMs?: number
}

export interface UpstreamAnswer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The answer as text; empty for 204. */
  text: string
}

/** Told about every call once it is over; `status` is undefined when no answer came. */
export type UpstreamObserver = (call: {
  service: ServiceName
  method: string
  status: number | undefined
  durationMs: number
  bytes: number
}) => void

/** What `dispatch` hands to the code that passes an answer on. */
export interface UpstreamTarget {
  dispatcher: Pool
  options: Dispatcher.DispatchOptions
  /** Path of the base URL, without trailing slash; `options.path` begins with it. */
  basePath: string
}

interface Connection {
  pool: Pool
  origin: string
  basePath: string
}

export class Upstreams {
  readonly #settings: UpstreamSettings
  readonly #observe: UpstreamObserver
  /** Begins the span of a call, where traces are on. */
  readonly startCall: StartCall | undefined
  readonly #connections = new Map<string, Connection>()
  readonly #pending = new Map<ServiceName, number>()
  readonly #choosers = new Map<ServiceName, ReturnType<typeof createChooser>>()

  constructor(settings: UpstreamSettings, observe: UpstreamObserver = () => {}, startCall?: StartCall) {
    this.#settings = settings
    this.#observe = observe
    this.startCall = startCall
    for (const [service, shards] of Object.entries(settings.shards ?? {})) {
      if (shards.length > 0) this.#choosers.set(service as ServiceName, createChooser(shards))
    }
  }

  /** Calls that wait or run, per service. */
  pending(): Iterable<[ServiceName, number]> {
    return this.#pending.entries()
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

  /** The address of a service for the log; never for a client. */
  describe(service: ServiceName): string {
    const address = this.#settings.services[service]
    return address === undefined ? 'off' : address.kind === 'embedded' ? 'embedded' : address.baseUrl
  }

  /**
   * Asks a service and reads its whole answer. Error statuses are answers.
   *
   * @throws {GatewayError} SERVICE_DISABLED, UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT, UPSTREAM_UNREADABLE (too large)
   */
  async call(service: ServiceName, call: UpstreamCall, identity: IdentityHeaders): Promise<UpstreamAnswer> {
    const startedAtMs = performance.now()
    let status: number | undefined
    let bytes = 0
    const release = this.enter(service)
    const span = this.startCall?.(service, call.method ?? 'GET')
    try {
      const asked = span === undefined ? call : { ...call, headers: { ...call.headers, ...span.headers } }
      const answer = await this.#request(service, asked, identity)
      status = answer.statusCode
      const body = await readBounded(answer.body, this.#settings.maxAnswerBytes, service)
      bytes = body.length
      const plain =
        answer.headers['content-encoding'] === 'gzip'
          ? gunzipSync(body, { maxOutputLength: this.#settings.maxAnswerBytes })
          : body
      return { status, headers: answer.headers, text: plain.toString('utf8') }
    } catch (error) {
      throw toGatewayError(error, service)
    } finally {
      release()
      span?.end(status)
      this.#observe({ service, method: call.method ?? 'GET', status, durationMs: performance.now() - startedAtMs, bytes })
    }
  }

  /** Resolves a call to the pool and options that carry it out, for code that streams the answer. */
  target(service: ServiceName, call: UpstreamCall, identity: IdentityHeaders): UpstreamTarget {
    const entry = this.#connection(service, call, identity)
    const headers: Record<string, string> = {
      ...(this.#settings.sendIdentity !== false && identity),
      accept: 'application/json',
      'accept-encoding': 'gzip',
      ...call.headers,
    }
    let body: Dispatcher.DispatchOptions['body'] = call.rawBody
    if (call.body !== undefined) {
      body = formatJson(call.body)
      headers['content-type'] ??= 'application/json; charset=UTF-8'
    }
    return {
      dispatcher: entry.pool,
      basePath: entry.basePath,
      options: {
        origin: entry.origin,
        path: entry.basePath + call.path + formatQuery(call.query ?? {}),
        method: call.method ?? 'GET',
        headers,
        body,
        ...(call.readTimeoutMs !== undefined && { headersTimeout: call.readTimeoutMs, bodyTimeout: call.readTimeoutMs }),
      },
    }
  }

  /** Counts a call in; the result counts it out again. @throws {GatewayError} SERVICE_DISABLED, UPSTREAM_OVERLOADED */
  enter(service: ServiceName): () => void {
    if (!this.isEnabled(service)) throw switchedOff(service)
    const pending = this.#pending.get(service) ?? 0
    if (pending >= this.#settings.maxPending) {
      throw new GatewayError('UPSTREAM_OVERLOADED', `Too many requests are waiting for ${service}. Try again in a moment.`, {
        upstream: { service },
      })
    }
    this.#pending.set(service, pending + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#pending.set(service, (this.#pending.get(service) ?? 1) - 1)
    }
  }

  /** How often a call may be tried: a restarting embedded service is waited for. */
  attempts(service: ServiceName): number {
    if (this.isEmbedded(service)) return 200
    return this.#settings.retry === false ? 1 : 2
  }

  observe(call: Parameters<UpstreamObserver>[0]): void {
    this.#observe(call)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map(({ pool }) => pool.destroy()))
  }

  #connection(service: ServiceName, call: UpstreamCall, identity: IdentityHeaders): Connection {
    const address = this.#settings.services[service]
    if (address === undefined) throw switchedOff(service)
    const chosen = this.#choosers.get(service)?.(criteriaOf(identity, call.location))
    const baseUrl = chosen ?? (address.kind === 'external' ? address.baseUrl : `http://embedded/${address.service}`)
    const key = `${service} ${baseUrl}`
    const existing = this.#connections.get(key)
    if (existing !== undefined) return existing
    const url = new URL(baseUrl)
    const timeouts = this.#settings.timeouts?.[service] ?? this.#settings
    const pool = new Pool(url.origin, {
      connections: this.#settings.maxConnections,
      headersTimeout: timeouts.readTimeoutMs,
      bodyTimeout: timeouts.readTimeoutMs,
      keepAliveTimeout: this.#settings.keepAliveMs,
      allowH2: false,
      connect: {
        timeout: timeouts.connectTimeoutMs,
        ...(address.kind === 'embedded' && chosen === undefined && { socketPath: address.socketPath }),
      },
    })
    const connection = { pool, origin: url.origin, basePath: url.pathname.replace(/(?<!\/)\/+$/, '') }
    this.#connections.set(key, connection)
    return connection
  }

  /** Asks, and asks again where the service sends a read on to. */
  async #request(service: ServiceName, call: UpstreamCall, identity: IdentityHeaders): Promise<Dispatcher.ResponseData> {
    for (let redirects = 0, asked = call; ; redirects++) {
      const { dispatcher, options, basePath } = this.target(service, asked, identity)
      const request = { ...options, signal: call.signal } as Dispatcher.RequestOptions
      const answer = await this.#retry(service, options.method, () => dispatcher.request(request))
      if (answer.statusCode < 300 || answer.statusCode >= 400 || redirects === maxRedirects) return answer
      const path = redirectPath(options, basePath, [answer.headers['location']].flat()[0])
      if (path === undefined) return answer
      await answer.body.dump()
      asked = { ...call, path, query: undefined }
    }
  }

  /** A read whose connection broke before an answer is asked once more; a restarting embedded service is waited for. */
  async #retry<T>(service: ServiceName, method: string, send: () => Promise<T>): Promise<T> {
    const attempts = this.attempts(service)
    for (let attempt = 1; ; attempt++) {
      try {
        return await send()
      } catch (error) {
        if (attempt >= attempts || !mayRetry(error, method)) throw error
        if (this.isEmbedded(service)) await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
}

function switchedOff(service: ServiceName): GatewayError {
  const message = `${service} is switched off. Set services.${service}.enabled or services.${service}.baseUrl to use this.`
  return new GatewayError('SERVICE_DISABLED', message, { upstream: { service } })
}

const notSent = new Set(['ECONNREFUSED', 'ENOENT', 'EAI_AGAIN'])
const brokenOff = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Whether repeating cannot do something twice: nothing was sent, or it is a read. */
export function mayRetry(error: unknown, method: string): boolean {
  const code = codeOf(error)
  return notSent.has(code) || (brokenOff.has(code) && (method === 'GET' || method === 'HEAD'))
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '')
}

const timeouts = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'])

/** Unreachable is 502, too slow is 504; the address stays in the log. */
export function toGatewayError(error: unknown, service: ServiceName): GatewayError {
  if (error instanceof GatewayError) return error
  if (timeouts.has(codeOf(error))) {
    return new GatewayError('UPSTREAM_TIMEOUT', `${service} did not answer in time.`, { upstream: { service }, cause: error })
  }
  return new GatewayError('UPSTREAM_UNREACHABLE', `${service} could not be reached, or broke off before it answered.`, {
    upstream: { service },
    cause: error,
  })
}

async function readBounded(
  body: AsyncIterable<Buffer> & { destroy(): unknown },
  maxBytes: number,
  service: ServiceName,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) {
      body.destroy()
      throw new GatewayError('UPSTREAM_UNREADABLE', `The answer of ${service} is larger than ${maxBytes} bytes.`, {
        upstream: { service },
      })
    }
    chunks.push(chunk)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
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
    throw new GatewayError('UPSTREAM_UNREADABLE', `${service} answered with something that is not JSON.`, {
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

function checkSuccess({ status, text }: UpstreamAnswer, service: ServiceName): void {
  if (status >= 400) throw upstreamFailed(service, status, text)
  if (status >= 300) {
    throw new GatewayError('UPSTREAM_UNREADABLE', `${service} answered with a redirect, which is not followed.`, {
      upstream: { service, status },
    })
  }
}

/** The error of a service as clients of Gate expect it: same status, one line, and what the service said. */
export function upstreamFailed(service: ServiceName, status: number, text: string, prefix = ''): GatewayError {
  const said = parseErrorBody(text)
  const message = typeof said?.['message'] === 'string' ? said['message'] : undefined
  const errors = said?.['errors']
  const lines = Array.isArray(errors) ? errors.filter((line): line is string => typeof line === 'string') : []
  const told = message ?? (lines.length > 0 ? lines.join('; ') : undefined)
  return new GatewayError('UPSTREAM_FAILED', `${prefix}${service} answered ${status}${told === undefined ? '.' : `: ${told}`}`, {
    status,
    upstream: { service, status },
    ...(lines.length > 0 && { fields: { errors: lines } }),
  })
}

function parseErrorBody(text: string): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) ? body : undefined
  } catch {
    return undefined
  }
}
