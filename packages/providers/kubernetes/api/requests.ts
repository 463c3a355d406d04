/** Requests to an API server with its login, repeated where that is safe. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import { type ApiError, isApiError } from './api-error.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { type LeasedConnections, SharedConnections } from './connections.ts'
import { ClusterCredentials, type Credential } from './credentials.ts'
import { isLost, isUnsent, retryAfterMs, toFault, toResponseError } from './faults.ts'
import { type ApiRequest, type StreamHandler, Transport } from './transport.ts'
import { openUpgrade } from './upgrade.ts'

interface RequestsOptions {
  readonly requestTimeoutMs: number
  readonly retries: RetryLimits
  readonly execCommands: readonly string[]
  readonly now: () => number
  readonly pingMs: number
  readonly shared: SharedConnections
}

export interface RetryLimits {
  readonly maxAttempts: number
  /** Before the second attempt; it doubles. */
  readonly pauseMs: number
}

export interface ApiAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface AskOptions {
  readonly signal?: AbortSignal | undefined
  readonly maxBytes?: number
}

const connectTimeoutMs = 10_000
const longestPauseMs = 10_000
export const maxAnswerBytes = 64 * 1024 * 1024

export class ApiRequests {
  readonly #access: ClusterAccess
  readonly #options: RequestsOptions
  readonly #credentials: ClusterCredentials
  readonly #connections: LeasedConnections
  readonly #transport: Transport
  readonly #closing = new AbortController()
  /** What open connections may have logged in with. */
  #certificate: Credential['certificate']

  constructor(access: ClusterAccess, options: RequestsOptions) {
    this.#access = access
    this.#options = options
    this.#credentials = new ClusterCredentials(access, options)
    this.#certificate = access.clientCertificate
    this.#connections = this.#lease(access)
    this.#transport = new Transport(access.server, this.#connections)
  }

  /** @throws {ApiError} also for each status from 400 on */
  async ask(
    request: ApiRequest,
    { signal, maxBytes = maxAnswerBytes }: AskOptions = {},
  ): Promise<ApiAnswer> {
    const bound = this.#bound(signal)
    const { maxAttempts, pauseMs } = this.#options.retries
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(request, maxBytes, bound)
      } catch (error) {
        const fault = toFault(error, this.#options.requestTimeoutMs)
        if (attempt >= maxAttempts || bound.aborted || !isRepeatable(request, fault)) throw fault
        const wantedMs =
          retryAfterMs(fault) ??
          backOffMs({ firstMs: pauseMs, longestMs: longestPauseMs }, attempt - 1)
        if (wantedMs > this.#options.requestTimeoutMs) throw fault
        // With jitter: of requests that are rejected together, not all come back together.
        await sleep(wantedMs * (1 + Math.random() / 2), undefined, { signal: bound }).catch(() => {
          throw fault
        })
      }
    }
  }

  /**
   * A response without end.
   *
   * @throws {ApiError}
   */
  async stream(request: ApiRequest, handler: StreamHandler, signal: AbortSignal): Promise<void> {
    const start = new AbortController()
    const limit = setTimeout(
      () => start.abort(new DOMException('no response', 'TimeoutError')),
      this.#options.requestTimeoutMs,
    ).unref()
    const whole = AbortSignal.any([start.signal, this.#closing.signal, signal])
    const timed: StreamHandler = {
      start: () => {
        clearTimeout(limit)
        handler.start()
      },
      data: (piece) => handler.data(piece),
    }
    try {
      await this.#withLogin(request, async (full) => {
        const { status, headers, text } = await this.#transport.stream(full, timed, whole)
        if (status >= 400) throw toResponseError(status, headers, text)
      })
    } catch (error) {
      throw toFault(error, this.#options.requestTimeoutMs)
    } finally {
      clearTimeout(limit)
    }
  }

  /** Whether the API server sends anything within so many milliseconds, a refusal included. @throws {CredentialFault} */
  async answers(ms: number): Promise<boolean> {
    // Programs that log in have a time of their own.
    const login = await this.#login()
    const signal = AbortSignal.any([AbortSignal.timeout(ms), this.#closing.signal])
    const request = withHeaders({ method: 'GET', path: '/livez', headers: {} }, login)
    try {
      await this.#transport.send(request, { maxBytes: maxAnswerBytes, signal })
      return true
    } catch {
      return false
    }
  }

  /** A connection of its own, which speaks another protocol from now on. @throws {ApiError} */
  async upgrade(request: ApiRequest): Promise<Duplex> {
    const timeoutMs = Math.min(connectTimeoutMs, this.#options.requestTimeoutMs)
    try {
      return await this.#withLogin(request, (full) =>
        openUpgrade(this.#access, full, { certificate: this.#certificate, timeoutMs }),
      )
    } catch (error) {
      throw toFault(error, timeoutMs)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#connections.release()
  }

  /** Programs give certificates that change: their connections are not shared. */
  #lease(access: ClusterAccess): LeasedConnections {
    const { requestTimeoutMs, pingMs, shared } = this.#options
    const options = {
      cluster: access,
      connectTimeoutMs: Math.min(connectTimeoutMs, requestTimeoutMs),
      pingMs,
    }
    const isFixed = access.login.kind !== 'exec'
    const certificate = async () =>
      isFixed ? access.clientCertificate : (await this.#credentials.get()).certificate
    const connections = isFixed ? shared : new SharedConnections()
    return connections.lease({ ...options, certificate }, access.clientCertificate)
  }

  #bound(signal: AbortSignal | undefined): AbortSignal {
    const limit = AbortSignal.timeout(this.#options.requestTimeoutMs)
    return AbortSignal.any([limit, this.#closing.signal, ...(signal === undefined ? [] : [signal])])
  }

  #attempt(request: ApiRequest, maxBytes: number, signal: AbortSignal): Promise<ApiAnswer> {
    return this.#withLogin(request, async (full) => {
      const { status, headers, body } = await this.#transport.send(full, { maxBytes, signal })
      const text = body.toString('utf8')
      if (status >= 400) throw toResponseError(status, headers, text)
      return { status, headers, text }
    })
  }

  /** Once more after a 401, if there may be another credential. */
  async #withLogin<T>(request: ApiRequest, send: (request: ApiRequest) => Promise<T>): Promise<T> {
    const first = await this.#login()
    try {
      return await send(withHeaders(request, first))
    } catch (error) {
      if (!isApiError(error, 401) || !this.#credentials.reject(first)) throw error
      return await send(withHeaders(request, await this.#login()))
    }
  }

  async #login(): Promise<Credential> {
    const credential = await this.#credentials.get()
    if (credential.certificate !== this.#certificate) {
      this.#certificate = credential.certificate
      this.#connections.renew()
    }
    return credential
  }
}

function withHeaders(request: ApiRequest, { headers }: Credential): ApiRequest {
  return { ...request, headers: { ...request.headers, ...headers } }
}

/** Where the server has done nothing, or where doing it twice changes nothing. */
function isRepeatable({ method }: ApiRequest, fault: ApiError): boolean {
  if (fault.status === 429 || isUnsent(fault)) return true
  if (method !== 'GET') return false
  return isLost(fault) || (fault.status === 503 && retryAfterMs(fault) !== undefined)
}
