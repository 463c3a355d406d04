/** One address of a service: its connections, the bound on calls, and the circuit breaker. */
import type { SecureContext } from 'node:tls'
import type { Client, Dispatcher } from 'undici'
import { GatewayError } from '../errors.ts'
import { isReadMethod } from '../telemetry/methods.ts'
import { Circuit, type CircuitSettings, type CircuitState } from './circuit.ts'
import { type Connection, ServiceConnections } from './connections.ts'
import type { ServiceName } from './services.ts'
import { askWhole } from './whole-answer.ts'

export interface CallBounds {
  connectTimeoutMs: number
  /** Longest wait for the headers of an answer, between two pieces of its body, and for a free connection; 0: without limit. */
  readTimeoutMs: number
  /** Instead of the read timeout, for the answer to a change, and to a list over everything; 0: without limit. */
  changeTimeoutMs?: number | undefined
  listTimeoutMs?: number | undefined
  /** Calls that run at once, each on a connection of its own. */
  maxConnections: number
  /** Calls that wait for one of these connections; more are refused, so that a dead service costs bounded memory. */
  maxWaiting: number
}

interface EndpointOptions extends CallBounds {
  service: ServiceName
  baseUrl: string
  /** The socket of the embedded back ends. */
  socketPath?: string | undefined
  /** What embedded back ends in another process want to see. */
  backendKey?: string | undefined
  keepAliveMs: number
  /** Certificate and authorities for an address with https, instead of those of Node. */
  secureContext?: SecureContext | undefined
  /** Without, every call is sent. */
  circuit?: CircuitSettings | undefined
  /** Called when the circuit opens and closes. */
  changed: (endpoint: Endpoint, state: CircuitState, cause?: unknown) => void
}

const probeTimeoutMs = 5000

/** The statuses of a proxy or a service that cannot serve at the moment. */
export function isUnavailable(status: number | undefined): boolean {
  return status === 502 || status === 503 || status === 504
}

/** Which timeout a call has. */
export interface CallClass {
  readonly method?: Dispatcher.HttpMethod
  /** A list over everything, which takes a service longer than other reads. */
  readonly isList?: boolean
  /** A read for the sake of a change: the change is not to wait longer for it than for its own answer. */
  readonly isForChange?: boolean
  /** Instead of the read timeout of the service, for the few calls that take longer than any other. */
  readonly readTimeoutMs?: number
  /** Bounds each of the above, for what can be done without. */
  readonly maxTimeoutMs?: number
}

export class Endpoint {
  readonly service: ServiceName
  /** As configured, with the path of the service. */
  readonly baseUrl: string
  readonly origin: string
  /** Path of the base URL, without trailing slash. */
  readonly basePath: string
  readonly backendKey: string | undefined
  /** Undefined for embedded back ends, which restart by themselves. */
  readonly circuit: Circuit | undefined
  readonly #bounds: CallBounds
  readonly #connections: ServiceConnections
  /** Each lets a waiting call proceed; the oldest is first. */
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(options: EndpointOptions) {
    const { service, baseUrl, socketPath, circuit } = options
    const url = new URL(baseUrl)
    this.service = service
    this.baseUrl = baseUrl
    this.backendKey = options.backendKey
    this.origin = url.origin
    this.basePath = url.pathname.replace(/(?<!\/)\/+$/, '')
    this.#bounds = options
    const settings: Client.Options = {
      headersTimeout: options.readTimeoutMs,
      bodyTimeout: options.readTimeoutMs,
      keepAliveTimeout: options.keepAliveMs,
      allowH2: false,
      connect: {
        timeout: options.connectTimeoutMs,
        ...(socketPath !== undefined && { socketPath }),
        ...(options.secureContext !== undefined && { secureContext: options.secureContext }),
      },
    }
    this.#connections = new ServiceConnections(url.origin, settings)
    this.circuit =
      circuit &&
      new Circuit(circuit, {
        probe: () => this.#answersProbe(),
        changed: (state, cause) => options.changed(this, state, cause),
      })
  }

  /** The one that connections have unless a call has another. */
  get readTimeoutMs(): number {
    return this.#bounds.readTimeoutMs
  }

  /** Milliseconds; 0: without limit. */
  timeoutOf({ method = 'GET', isList, isForChange, readTimeoutMs: own, maxTimeoutMs }: CallClass): number {
    const { readTimeoutMs, changeTimeoutMs, listTimeoutMs } = this.#bounds
    const isRead = isReadMethod(method)
    let timeoutMs = own ?? (isList === true ? listTimeoutMs : isRead ? undefined : changeTimeoutMs) ?? readTimeoutMs
    if (isForChange === true && isRead && changeTimeoutMs !== undefined) timeoutMs = shorter(timeoutMs, changeTimeoutMs)
    return maxTimeoutMs === undefined ? timeoutMs : shorter(timeoutMs, maxTimeoutMs)
  }

  /** For the log; never for a client. */
  get address(): string {
    return this.origin + this.basePath
  }

  /** Calls that run or wait. */
  get pending(): number {
    return this.#running + this.#waiting.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** The next call has to wait. */
  get isFull(): boolean {
    return this.#running >= this.#bounds.maxConnections
  }

  /** Whether calls are sent to it at present. */
  get isAvailable(): boolean {
    return this.circuit === undefined || this.circuit.isClosed
  }

  /**
   * Counts a call in, which `leave` counts out again. It may then take a connection. Undefined: it may start at once.
   *
   * @param call Waits no longer than its timeout.
   * @param signal Ends the wait.
   * @throws {GatewayError} UPSTREAM_OVERLOADED, also by rejection
   */
  enter(call: CallClass, signal?: AbortSignal): Promise<void> | undefined {
    if (this.#running < this.#bounds.maxConnections) {
      this.#running++
      return undefined
    }
    if (this.#waiting.size >= this.#bounds.maxWaiting) throw this.#overloaded()
    return this.#wait(this.timeoutOf(call), signal)
  }

  get isClosed(): boolean {
    return this.#connections.isClosed
  }

  takeConnection(): Connection {
    return this.#connections.take()
  }

  /** The place of a call goes to the one that waits longest. */
  leave(connection: Connection | undefined): void {
    if (connection !== undefined) this.#connections.giveBack(connection)
    if (this.#waiting.size === 0) this.#running--
    else this.#waiting.values().next().value?.()
  }

  async close(): Promise<void> {
    this.circuit?.stop()
    await this.#connections.destroy()
  }

  #wait(timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = () => {
      this.#waiting.delete(proceed)
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    }
    const proceed = () => {
      stop()
      resolve()
    }
    const giveUp = () => {
      stop()
      reject(this.#overloaded())
    }
    const timer = timeoutMs === 0 ? undefined : setTimeout(giveUp, timeoutMs).unref()
    this.#waiting.add(proceed)
    if (signal?.aborted) giveUp()
    else signal?.addEventListener('abort', giveUp)
    return promise
  }

  #overloaded(): GatewayError {
    const message = (name: string) => `Too many requests are waiting for ${name}. Try again in a moment.`
    const { service } = this
    return new GatewayError('UPSTREAM_OVERLOADED', message, { upstream: { service }, headers: { 'retry-after': '1' } })
  }

  /** Any answer shows that it is there, except those of a proxy before it. */
  async #answersProbe(): Promise<boolean> {
    const timeoutMs = Math.min(probeTimeoutMs, this.#bounds.readTimeoutMs || probeTimeoutMs)
    const request: Dispatcher.DispatchOptions = {
      path: `${this.basePath}/health`,
      method: 'GET',
      headers: { accept: 'application/json', 'x-spinnaker-anonymous': 'anonymous' },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    }
    const connection = this.#connections.take()
    try {
      const { status } = await askWhole(connection, request)
      return status !== 502 && status !== 504
    } catch {
      return false
    } finally {
      this.#connections.giveBack(connection)
    }
  }
}

/** The shorter one of two timeouts, where 0 is without limit. */
export function shorter(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other)
}
