/** Connections of clients to all load balancers: none takes the places of the others. */

export class ConnectionShares {
  /** Load balancers that share the connections. */
  parties = 1
  readonly #most: number
  readonly #counts = new Map<string, number>()
  #total = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Whether a load balancer may have another one: beyond half of all, each has no more than its share. */
  take(id: string): boolean {
    const own = this.#counts.get(id) ?? 0
    if (this.#total >= this.#most / 2 && own >= this.#most / Math.max(1, this.parties)) return false
    this.#counts.set(id, own + 1)
    this.#total += 1
    return true
  }

  leave(id: string): void {
    const own = this.#counts.get(id) ?? 0
    if (own > 1) this.#counts.set(id, own - 1)
    else this.#counts.delete(id)
    this.#total -= 1
  }
}
