/** Work on long lists in portions: between two of them, other requests have their turn. */
import { setImmediate } from 'node:timers/promises'

/** Entries that are worked on at a time. */
export const portionSize = 100

/**
 * As `flatMap` of a list.
 *
 * @param size Entries that are worked on at a time; 1 where one may take milliseconds.
 */
export async function flatMapInTurns<T, U>(
  all: readonly T[],
  map: (one: T) => readonly U[] | Promise<readonly U[]>,
  size: number = portionSize,
): Promise<U[]> {
  const mapped: U[] = []
  for (const [index, one] of all.entries()) {
    if (index > 0 && index % size === 0) await setImmediate()
    const some = map(one)
    mapped.push(...(some instanceof Promise ? await some : some))
  }
  return mapped
}

/** Calls that are made at a time. */
const callsAtATime = 32

/** Like `Promise.all`, in turns; a user may have written a list of thousands. */
export async function callInTurns<T, U>(
  all: readonly T[],
  call: (one: T) => Promise<U>,
): Promise<U[]> {
  const answers: U[] = []
  for (let at = 0; at < all.length; at += callsAtATime) {
    answers.push(...(await Promise.all(all.slice(at, at + callsAtATime).map(call))))
  }
  return answers
}

/** Runs so many pieces of work at a time, in order; before each further one, other requests have their turn. */
export class ConcurrencyLimit {
  readonly #slots: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(slots: number) {
    this.#slots = slots
  }

  /** @throws what `work` throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#enter()) await this.#wait()
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  /** Gives its slot to others while it waits for something. @throws what `wait` throws */
  async releaseWhile<T>(wait: () => Promise<T>): Promise<T> {
    this.#leave()
    try {
      return await wait()
    } finally {
      if (!this.#enter()) await this.#wait()
    }
  }

  #enter(): boolean {
    const isFree = this.#running < this.#slots
    if (isFree) this.#running++
    return isFree
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running--
    else void setImmediate().then(next)
  }
}
