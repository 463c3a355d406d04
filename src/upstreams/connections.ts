/** Connections to one address of a service: the one used last is used next. */
import { Client } from 'undici'

/**
 * Hands out connections to callers that bound their number themselves, in constant time. The pool of undici looks through all its
 * busy connections for each call.
 */
export class Connections {
  readonly #origin: string
  readonly #options: Client.Options
  readonly #maxAgeMs: number
  readonly #idle: Client[] = []
  readonly #createdAtMs = new Map<Client, number>()
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
  take(): Client {
    const nowMs = performance.now()
    for (let client = this.#idle.pop(); client !== undefined; client = this.#idle.pop()) {
      if (nowMs - (this.#createdAtMs.get(client) ?? 0) < this.#maxAgeMs) return client
      this.#createdAtMs.delete(client)
      client.close().catch(() => {})
    }
    const client = new Client(this.#origin, this.#options)
    this.#createdAtMs.set(client, nowMs)
    if (this.#isClosed) client.destroy().catch(() => {})
    return client
  }

  giveBack(client: Client): void {
    this.#idle.push(client)
  }

  async destroy(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#createdAtMs.keys()].map((client) => client.destroy()))
  }
}
