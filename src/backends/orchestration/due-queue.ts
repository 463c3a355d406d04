/** Which execution has to be looked at next: a heap of due times, each execution at most once. */

export class DueQueue {
  readonly #due = new Map<string, number>()
  #heap: { id: string; due: number }[] = []

  /** `undefined` takes the execution out. */
  set(id: string, due: number | undefined): void {
    if (due === undefined) this.#due.delete(id)
    else if (this.#due.get(id) !== due) {
      this.#due.set(id, due)
      this.#push({ id, due })
    }
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
      if (this.#due.get(first.id) === first.due) return
      this.#pop()
    }
  }

  #push(entry: { id: string; due: number }): void {
    const heap = this.#heap
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]!.due <= entry.due) break
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
      if (child + 1 < heap.length && heap[child + 1]!.due < heap[child]!.due) child++
      if (heap[child]!.due >= last.due) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}
