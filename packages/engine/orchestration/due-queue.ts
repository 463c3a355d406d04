/** Queue of executions by due time. An execution that has had its turn is behind all others that are due. */

interface Entry {
  id: string
  due: number
}

export class DueQueue {
  readonly #due = new Map<string, Entry>()
  /** The first one is at the end, where it is cheap to take. */
  #row: Entry[] = []

  /**
   * `undefined` takes the execution out. One that waits for its turn keeps its place.
   *
   * @param now What is due earlier counts as due now.
   */
  set(id: string, due: number | undefined, now = -Infinity): void {
    if (due === undefined) {
      this.#due.delete(id)
      return
    }
    const known = this.#due.get(id)
    const place = Math.max(due, now)
    if (known !== undefined && (known.due === place || (known.due <= now && place === now))) return
    const entry = { id, due: place }
    this.#due.set(id, entry)
    this.#row.splice(this.#placeOf(entry), 0, entry)
  }

  /** Takes out one execution whose time has come. */
  take(now: number): string | undefined {
    this.#dropStale()
    const first = this.#row.at(-1)
    if (first === undefined || first.due > now) return undefined
    this.#row.pop()
    this.#due.delete(first.id)
    return first.id
  }

  /** The earliest due time, milliseconds since the epoch. */
  next(): number | undefined {
    this.#dropStale()
    return this.#row.at(-1)?.due
  }

  clear(): void {
    this.#due.clear()
    this.#row = []
  }

  /** Entries that `set` has replaced stay in the row until their turn. */
  #dropStale(): void {
    for (let first = this.#row.at(-1); first !== undefined; first = this.#row.at(-1)) {
      if (this.#due.get(first.id) === first) return
      this.#row.pop()
    }
  }

  /** Behind all that come later, found by halving. */
  #placeOf({ due }: Entry): number {
    let [low, high] = [0, this.#row.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#row[middle]?.due ?? 0) > due) low = middle + 1
      else high = middle
    }
    return low
  }
}
