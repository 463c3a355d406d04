/** One address of a service: its connections, the bound on calls, and the circuit breaker. */
import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import type { Connection, ConnectionTarget } from '@fairlead/proxy/connection.ts'
import { Connections } from '@fairlead/proxy/connections.ts'
import type { TimeoutSweep } from '@fairlead/proxy/sweep.ts'
import { type CalledPlace, createTarget } from './call-target.ts'
import { Circuit, type CircuitSettings, type CircuitState } from './circuit.ts'
import { anonymousIdentity } from './identity.ts'
import type { CallClass } from './upstream-call.ts'
import { askWhole } from './whole-answer.ts'

export interface CallBounds {
  connectTimeoutMs: number
  /** Longest wait for the headers of an answer, between two pieces of its body, and for a free connection; 0: without limit. */
  readTimeoutMs: number
  /** Instead of the read timeout, for the answer to a change, and to a list over everything; 0: without limit. */
  changeTimeoutMs?: number
  listTimeoutMs?: number
  maxConnections: number
  /** Calls that wait for one of these connections; more are refused, so that a dead service costs bounded memory. */
  maxWaiting: number
}

interface EndpointOptions extends CallBounds {
  service: ServiceName
  baseUrl: string
  socketPath?: string
  backendKey?: string
  keepAliveMs: number
  sweep: TimeoutSweep
  /** Certificate and authorities for an address with https, instead of those of Node. */
  secureContext?: SecureContext
  circuit?: CircuitSettings
  changed: (endpoint: Endpoint, state: CircuitState, cause?: unknown) => void
}

const probeTimeoutMs = 5000
/** A connection is replaced at this age, so that changes of DNS are followed. */
const maxAgeMs = 60_000

/** The statuses of a proxy or a service that cannot serve at the moment. */
export function isUnavailable(status: number | undefined): boolean {
  return status === 502 || status === 503 || status === 504
}

export class Endpoint implements CalledPlace {
  readonly service: ServiceName
  readonly baseUrl: string
  readonly origin: string
  readonly host: string
  readonly sweep: TimeoutSweep
  readonly basePath: string
  readonly backendKey: string | undefined
  /** Undefined for services that come back by themselves. */
  readonly circuit: Circuit | undefined
  readonly #bounds: CallBounds
  readonly #connections: Connections
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
    this.host = url.host
    this.sweep = options.sweep
    this.basePath = url.pathname.replace(/(?<!\/)\/+$/, '')
    this.#bounds = options
    this.#connections = new Connections({
      target:
        socketPath === undefined
          ? targetOf(url, options.secureContext)
          : { place: { path: socketPath } },
      bounds: {
        connectMs: options.connectTimeoutMs,
        stallMs: options.readTimeoutMs,
        keepAliveMs: options.keepAliveMs,
        maxAgeMs,
      },
      sweep: options.sweep,
    })
    this.circuit =
      circuit &&
      new Circuit(circuit, {
        probe: () => this.#answersProbe(),
        changed: (state, cause) => options.changed(this, state, cause),
      })
  }

  timeoutOf({
    method = 'GET',
    isList,
    isForChange,
    readTimeoutMs: own,
    maxTimeoutMs,
  }: CallClass): number {
    const { readTimeoutMs, changeTimeoutMs, listTimeoutMs } = this.#bounds
    const isRead = isReadMethod(method)
    let timeoutMs =
      own ??
      (isList === true ? listTimeoutMs : isRead ? undefined : changeTimeoutMs) ??
      readTimeoutMs
    if (isForChange === true && isRead && changeTimeoutMs !== undefined)
      timeoutMs = shorter(timeoutMs, changeTimeoutMs)
    return maxTimeoutMs === undefined ? timeoutMs : shorter(timeoutMs, maxTimeoutMs)
  }

  get address(): string {
    return this.origin + this.basePath
  }

  get inFlight(): number {
    return this.#running + this.#waiting.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  get isFull(): boolean {
    return this.#running >= this.#bounds.maxConnections
  }

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

  leave(): void {
    if (this.#waiting.size === 0) this.#running--
    else this.#waiting.values().next().value?.()
  }

  close(): void {
    this.circuit?.stop()
    this.#connections.close()
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
    const message = (name: string) =>
      `Too many requests are waiting for ${name}. Try again in a moment.`
    const { service } = this
    return new GatewayError('UPSTREAM_OVERLOADED', message, {
      upstream: { service },
      headers: { 'retry-after': '1' },
    })
  }

  /** Any answer shows that it is there, except those of a proxy before it. */
  async #answersProbe(): Promise<boolean> {
    const call = { path: '/health', maxTimeoutMs: probeTimeoutMs }
    try {
      const { status } = await askWhole(
        this.takeConnection(),
        createTarget(this, call, { identity: anonymousIdentity }),
      )
      return status !== 502 && status !== 504
    } catch {
      return false
    }
  }
}

function targetOf(
  { protocol, hostname, port }: URL,
  secureContext: SecureContext | undefined,
): ConnectionTarget {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (protocol !== 'https:') return { place: { host, port: Number(port || 80) } }
  const servername = isIP(host) === 0 ? host : ''
  return {
    place: { host, port: Number(port || 443) },
    secure: {
      servername,
      ALPNProtocols: ['http/1.1'],
      ...(secureContext !== undefined && { secureContext }),
    },
  }
}

export function shorter(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other)
}
