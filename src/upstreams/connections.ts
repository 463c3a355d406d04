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

/** How often connections that idle for too long are looked for. */
const sweepMs = 1000

/**
 * Hands out connections to callers that bound their number themselves, in constant time. The pool of undici looks through all its
 * busy connections for each call.
 */
export class ServiceConnections {
  readonly #origin: string
  readonly #options: Client.Options
  readonly #maxAgeMs: number
  readonly #now: () => number
  #idle: Connection[] = []
  readonly #open = new Set<Connection>()
  #sweep: NodeJS.Timeout | undefined
  #isClosed = false

  /**
   * @param maxAgeMs A connection is replaced at this age, so that changes of DNS are followed.
   * @param now Milliseconds.
   */
  constructor(origin: string, options: Client.Options, maxAgeMs: number, now: () => number = () => performance.now()) {
    this.#origin = origin
    this.#options = options
    this.#maxAgeMs = maxAgeMs
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
    const connection = new Connection(this.#origin, this.#options, nowMs + this.#maxAgeMs)
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
    const stale = this.#idle.filter((connection) => !isFresh(connection, nowMs))
    if (stale.length > 0) this.#idle = this.#idle.filter((connection) => isFresh(connection, nowMs))
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
