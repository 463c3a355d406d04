/** Choice of the least busy of several servers; idle ones take turns. */

interface Busy {
  /** Requests that run there, or wait for it. */
  readonly inFlight: number
}

export class LeastBusy {
  /** Where the search starts. */
  #turn = 0

  /**
   * @param tried Not these.
   * @returns undefined when there is none
   */
  pick<T extends Busy>(servers: readonly T[], tried: readonly T[]): T | undefined {
    const count = servers.length
    let best: T | undefined
    if (++this.#turn >= count) this.#turn = 0
    for (
      let offset = 0, at = this.#turn;
      offset < count;
      offset++, at = at + 1 === count ? 0 : at + 1
    ) {
      const server = servers[at] as T
      if (best !== undefined && server.inFlight >= best.inFlight) continue
      if (tried.length > 0 && tried.includes(server)) continue
      best = server
      if (server.inFlight === 0) break
    }
    return best
  }
}
