/** Queue of executions by due time. An execution that has had its turn is behind all others that are due. */

interface Entry {
  id: string
  due: number
  /** Tells apart what is due at the same time. */
  number: number
}

export class DueQueue {
  readonly #due = new Map<string, Entry>()
  #heap: Entry[] = []
  #lastNumber = 0

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
    const entry = { id, due: place, number: ++this.#lastNumber }
    this.#due.set(id, entry)
    this.#push(entry)
  }

  /** Takes out one execution whose time has come. */
  take(now: number): string | undefined {
    this.#dropStale()
    const first = this.#heap[0]
    if (first === undefined || first.due > now) return undefined
    this.#pop()
    this.#due.delete(first.id)
    return first.id
  }

  /** The earliest due time, milliseconds since the epoch. */
  next(): number | undefined {
    this.#dropStale()
    return this.#heap[0]?.due
  }

  clear(): void {
    this.#due.clear()
    this.#heap = []
  }

  /** Entries that `set` has replaced stay in the heap until they surface. */
  #dropStale(): void {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#due.get(first.id) === first) return
      this.#pop()
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (isBefore(heap[parent]!, entry)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (isBefore(last, heap[child]!)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.due < other.due || (one.due === other.due && one.number < other.number)
}
