/** First loads of lists that answers have found missing. */

export class ReadsUnderWay {
  #misses = 0
  readonly #loading = new Set<Promise<void>>()

  /** A read needs what is still loading. @param loaded Never rejects */
  miss(loaded: Promise<void>): void {
    this.#misses++
    if (this.#loading.has(loaded)) return
    this.#loading.add(loaded)
    void loaded.then(() => this.#loading.delete(loaded))
  }

  /** @returns what reads made from now on still lack; undefined: nothing */
  track(): () => Promise<void> | undefined {
    const before = this.#misses
    return () => {
      if (this.#misses === before || this.#loading.size === 0) return undefined
      return Promise.all(this.#loading).then(() => {})
    }
  }
}
