/**
 * Slows down guessing of passwords: by user and network, by network, and by user. Strangers cannot use the last two against
 * users who have logged in from the same network, or in the same browser, before.
 */
import { hash } from 'node:crypto'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { networkOf } from '../../http/forwarded.ts'

export interface Guess {
  readonly username: string
  readonly address: string
  /** Names a browser in which this user has logged in before. */
  readonly browser: string | undefined
}

/** `counted`: an attempt counts as a failure until `succeed` or `withdraw`, so that attempts sent at once do not slip through. */
export type GuessDecision =
  | { readonly kind: 'wait'; readonly waitMs: number }
  | {
      readonly kind: 'counted'
      succeed(): void
      withdraw(): void
    }

export interface Guesses {
  /** @param unlockedAtMs When an administrator has unlocked the user, if that was within the window */
  begin(guess: Guess, unlockedAtMs?: number): GuessDecision | Promise<GuessDecision>
}

export const guessWindowMs = 15 * 60_000
/** Failures within the window; from then on, one more each time that the share of one of them has passed. */
export const limits = { pair: 10, browser: 10, network: 100, user: 50 } as const
/** Counters of each kind that are kept, and users remembered with a network. */
const maxKept = 50_000
/** Time after a login for which a network counts as one of the user. */
export const knownForMs = 30 * 86_400_000

export interface CounterName {
  readonly kind: keyof typeof limits
  readonly key: string
}

/**
 * Counters in which an attempt counts. The first is that of the user's own mistakes. After an unlock, what others did in the
 * network does not count against the user.
 */
export function countersOf(
  { username, address, browser }: Guess,
  { isKnown, isUnlocked }: { readonly isKnown: boolean; readonly isUnlocked: boolean },
): [CounterName, ...CounterName[]] {
  const name = toUserKey(username)
  const own: CounterName =
    browser === undefined
      ? { kind: 'pair', key: toPairKey({ username, address }) }
      : { kind: 'browser', key: shorten(`${browser} ${name}`) }
  if (isKnown) return [own]
  const user: CounterName = { kind: 'user', key: shorten(name) }
  return isUnlocked ? [own, user] : [own, { kind: 'network', key: networkOf(address) }, user]
}

export class GuessLimit implements Guesses {
  readonly #now: () => number
  readonly #failures: Readonly<Record<CounterName['kind'], Failures>>
  /** Pairs of user and network that have logged in, the one that did so longest ago first; the value is when. */
  readonly #loggedIn = new BoundedMap<string, number>(maxKept)

  /** @param now Milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
    const { pair, browser, network, user } = limits
    this.#failures = {
      pair: new Failures(pair, now),
      browser: new Failures(browser, now),
      network: new Failures(network, now),
      user: new Failures(user, now),
    }
  }

  begin(guess: Guess, unlockedAtMs?: number): GuessDecision {
    const pair = toPairKey(guess)
    const counters = this.#countersFor(guess, pair, unlockedAtMs)
    const waitMs = Math.max(...counters.map(([failures, key]) => failures.waitMs(key)))
    // A refused attempt leaves no trace, so that a flood of them neither fills nor prolongs anything.
    if (waitMs > 0) return { kind: 'wait', waitMs }
    for (const [failures, key] of counters) failures.add(key)
    const withdraw = () => {
      for (const [failures, key] of counters) failures.takeBack(key)
    }
    return {
      kind: 'counted',
      withdraw,
      succeed: () => {
        withdraw()
        counters[0][0].forget(counters[0][1])
        this.#loggedIn.set(pair, this.#now())
      },
    }
  }

  #countersFor(
    guess: Guess,
    pair: string,
    unlockedAtMs: number | undefined,
  ): [Counter, ...Counter[]] {
    const since = this.#loggedIn.get(pair)
    const isKnown =
      guess.browser !== undefined || (since !== undefined && this.#now() - since < knownForMs)
    const [own, ...others] = countersOf(guess, { isKnown, isUnlocked: unlockedAtMs !== undefined })
    const toCounter = ({ kind, key }: CounterName): Counter => [this.#failures[kind], key]
    const counters: [Counter, ...Counter[]] = [toCounter(own), ...others.map(toCounter)]
    if (unlockedAtMs !== undefined)
      for (const [failures, key] of counters) failures.forgetUntil(key, unlockedAtMs)
    return counters
  }
}

type Counter = readonly [failures: Failures, key: string]

interface FailureCount {
  readonly emptyAtMs: number
  readonly sinceMs: number
}

/** Counters that fill with failures and empty with time. Full ones are never evicted. */
class Failures {
  readonly #shareMs: number
  readonly #now: () => number
  /** The one that was changed longest ago first. */
  readonly #filling = new Map<string, FailureCount>()
  readonly #full = new Map<string, FailureCount>()

  constructor(limit: number, now: () => number) {
    this.#shareMs = guessWindowMs / limit
    this.#now = now
  }

  /** Time until there is room for a failure; 0 when there is. */
  waitMs(key: string): number {
    const emptyAtMs = this.#emptyAtMs(key)
    if (emptyAtMs === undefined) return this.#hasRoom() ? 0 : this.#shareMs
    return Math.max(0, emptyAtMs - this.#fullFromMs())
  }

  add(key: string): void {
    this.#set(key, (this.#emptyAtMs(key) ?? this.#now()) + this.#shareMs)
  }

  takeBack(key: string): void {
    const emptyAtMs = this.#emptyAtMs(key)
    if (emptyAtMs !== undefined) this.#set(key, emptyAtMs - this.#shareMs)
  }

  forget(key: string): void {
    this.#filling.delete(key)
    this.#full.delete(key)
  }

  /** Forgets a counter unless all its failures are later. */
  forgetUntil(key: string, timeMs: number): void {
    const filling = this.#full.get(key) ?? this.#filling.get(key)
    if (filling !== undefined && filling.sinceMs <= timeMs) this.forget(key)
  }

  /** Undefined: it is empty. A step of the clock backwards leaves no counter that stays full for longer than the window. */
  #emptyAtMs(key: string): number | undefined {
    const { emptyAtMs: storedMs } = this.#full.get(key) ??
      this.#filling.get(key) ?? { emptyAtMs: 0 }
    const emptyAtMs = Math.min(storedMs, this.#now() + guessWindowMs)
    return emptyAtMs > this.#now() ? emptyAtMs : undefined
  }

  /** A counter that will be empty later than that has no room. */
  #fullFromMs(): number {
    return this.#now() + guessWindowMs - this.#shareMs
  }

  #set(key: string, emptyAtMs: number): void {
    const nowMs = this.#now()
    const previous = this.#full.get(key) ?? this.#filling.get(key)
    const sinceMs = previous !== undefined && previous.emptyAtMs > nowMs ? previous.sinceMs : nowMs
    this.forget(key)
    if (emptyAtMs <= nowMs) return
    const counters = emptyAtMs > this.#fullFromMs() ? this.#full : this.#filling
    counters.set(key, { emptyAtMs, sinceMs })
    if (this.#size > maxKept) this.#removeEmpty()
    const [oldest] = this.#filling.keys()
    if (this.#size > maxKept && oldest !== undefined) this.#filling.delete(oldest)
  }

  get #size(): number {
    return this.#filling.size + this.#full.size
  }

  #hasRoom(): boolean {
    if (this.#full.size >= maxKept) this.#removeEmpty()
    return this.#full.size < maxKept
  }

  /** Removes from the front, where those are that are empty first, or nearly so. */
  #removeEmpty(): void {
    for (const counters of [this.#full, this.#filling]) {
      for (const [key, { emptyAtMs }] of counters) {
        if (emptyAtMs > this.#now()) break
        counters.delete(key)
      }
    }
  }
}

export function toPairKey({ username, address }: Pick<Guess, 'username' | 'address'>): string {
  return shorten(`${networkOf(address)} ${toUserKey(username)}`)
}

function shorten(key: string): string {
  return key.length <= 64 ? key : hash('sha256', key, 'base64url')
}
