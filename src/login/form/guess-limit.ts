/** Slows down guessing of passwords: how many wrong ones an address may send, for one user and altogether. */
import { networkOf } from '../../http/network.ts'

/** An address that has failed this often has to wait until the window is over. */
const limits = { pair: 10, address: 100 } as const
const windowMs = 15 * 60_000
/** Beyond that the oldest counters are forgotten, so that a crowd of addresses costs bounded memory. */
const maxCounters = 50_000

interface Counter {
  failures: number
  untilMs: number
}

export class GuessLimit {
  readonly #now: () => number
  readonly #counters = new Map<string, Counter>()

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Counts an attempt as failed until `succeed` says otherwise, so that attempts sent at once do not slip through.
   *
   * @returns milliseconds to wait before the next attempt; 0 when this one may go on
   */
  begin(username: string, address: string): number {
    const pair = this.#counter(pairKey(username, address))
    const network = this.#counter(addressKey(address))
    if (pair.failures >= limits.pair) return pair.untilMs - this.#now()
    if (network.failures >= limits.address) return network.untilMs - this.#now()
    pair.failures++
    network.failures++
    return 0
  }

  succeed(username: string, address: string): void {
    this.#counters.delete(pairKey(username, address))
    const network = this.#counter(addressKey(address))
    network.failures = Math.max(0, network.failures - 1)
  }

  /** An attempt that nobody judged does not count. */
  withdraw(username: string, address: string): void {
    for (const key of [pairKey(username, address), addressKey(address)]) {
      const counter = this.#counter(key)
      counter.failures = Math.max(0, counter.failures - 1)
    }
  }

  #counter(key: string): Counter {
    const known = this.#counters.get(key)
    if (known !== undefined && known.untilMs > this.#now()) return known
    const counter = { failures: 0, untilMs: this.#now() + windowMs }
    this.#counters.delete(key)
    this.#counters.set(key, counter)
    if (this.#counters.size > maxCounters) {
      const [oldest] = this.#counters.keys()
      if (oldest !== undefined) this.#counters.delete(oldest)
    }
    return counter
  }
}

function pairKey(username: string, address: string): string {
  return `${networkOf(address)} ${username.toLowerCase().slice(0, 200)}`
}

function addressKey(address: string): string {
  return networkOf(address)
}
