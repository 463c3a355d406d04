/** Connections to one address of a service: the one used last is used next. */
import type { Client } from 'undici'
import { SingleClient } from '../runtime/undici-client.ts'

export class Connection extends SingleClient {
  /** When it is replaced. */
  readonly untilMs: number
  /** When its last call was over. */
  idleSinceMs = 0

  constructor(origin: string, options: Client.Options, untilMs: number) {
    super(origin, options)
    this.untilMs = untilMs
  }
}

/** A connection is replaced at this age, so that changes of DNS are followed. */
const maxAgeMs = 60_000
/** How often connections that idle for too long are looked for. */
const sweepMs = 1000

/**
 * Hands out connections to callers that bound their number themselves, in constant time. The pool of undici looks through all its
 * busy connections for each call.
 */
export class ServiceConnections {
  readonly #origin: string
  readonly #options: Client.Options
  readonly #now: () => number
  #idle: Connection[] = []
  readonly #open = new Set<Connection>()
  #sweep: NodeJS.Timeout | undefined
  #isClosed = false

  /** @param now Milliseconds. */
  constructor(origin: string, options: Client.Options, now: () => number = () => performance.now()) {
    this.#origin = origin
    this.#options = options
    this.#now = now
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** To be given back once the call is over. */
  take(): Connection {
    const nowMs = this.#now()
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (isFresh(connection, nowMs)) return connection
      this.#end(connection)
    }
    const connection = new Connection(this.#origin, this.#options, nowMs + maxAgeMs)
    this.#open.add(connection)
    if (this.#isClosed) connection.destroy().catch(() => {})
    return connection
  }

  giveBack(connection: Connection): void {
    connection.idleSinceMs = this.#now()
    this.#idle.push(connection)
    if (this.#sweep === undefined && !this.#isClosed) this.#sweep = setInterval(() => this.#endStale(), sweepMs).unref()
  }

  #endStale(): void {
    const nowMs = this.#now()
    const { fresh = [], stale = [] } = Object.groupBy(this.#idle, (each) => (isFresh(each, nowMs) ? 'fresh' : 'stale'))
    this.#idle = fresh
    for (const connection of stale) this.#end(connection)
    if (this.#open.size > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }

  #end(connection: Connection): void {
    this.#open.delete(connection)
    connection.close().catch(() => {})
  }

  async destroy(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweep)
    await Promise.all([...this.#open].map((connection) => connection.destroy()))
  }
}

function isFresh({ untilMs, idleSinceMs, maxIdleMs }: Connection, nowMs: number): boolean {
  return nowMs < untilMs && nowMs - idleSinceMs < maxIdleMs
}
