/** Connections to one address of a service: the one used last is used next. */
import { Client } from '../undici-client.ts'

export class Connection extends Client {
  /** When it is replaced, on the clock of `performance.now`. */
  readonly untilMs: number

  constructor(origin: string, options: Client.Options, untilMs: number) {
    super(origin, options)
    this.untilMs = untilMs
  }
}

/**
 * Hands out connections to callers that bound their number themselves, in constant time. The pool of undici looks through all its
 * busy connections for each call.
 */
export class Connections {
  readonly #origin: string
  readonly #options: Client.Options
  readonly #maxAgeMs: number
  readonly #idle: Connection[] = []
  readonly #open = new Set<Connection>()
  #isClosed = false

  /** @param maxAgeMs A connection is replaced at this age, so that changes of DNS are followed. */
  constructor(origin: string, options: Client.Options, maxAgeMs: number) {
    this.#origin = origin
    this.#options = options
    this.#maxAgeMs = maxAgeMs
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** To be given back once the call is over; one that idled too long opens its socket again by itself. */
  take(): Connection {
    const nowMs = performance.now()
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (nowMs < connection.untilMs) return connection
      this.#open.delete(connection)
      connection.close().catch(() => {})
    }
    const connection = new Connection(this.#origin, this.#options, nowMs + this.#maxAgeMs)
    this.#open.add(connection)
    if (this.#isClosed) connection.destroy().catch(() => {})
    return connection
  }

  giveBack(connection: Connection): void {
    this.#idle.push(connection)
  }

  async destroy(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#open].map((connection) => connection.destroy()))
  }
}
