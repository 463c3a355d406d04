/** Finds which of many literals a line contains, in one pass over its bytes in UTF-8, whatever the case of its letters. */

/** Symbols of a row of edges. */
const rowBits = 7

/** An automaton of Aho and Corasick over the bytes that occur in the literals. */
export class Literals {
  /** Symbol of each byte; 0: it occurs in no literal. */
  readonly #symbols = new Uint8Array(256)
  /** The next state, by state and symbol. */
  readonly #edges: Uint16Array
  /** States from here on end literals. */
  readonly #firstEnd: number
  /** Literals that end in such a state, by their places in the list. */
  readonly #ends: readonly (readonly number[])[]
  readonly #seen: Int32Array
  #scan = 0

  /** @param literals In lower case; at most 127 bytes occur in them */
  constructor(literals: readonly string[]) {
    // Letters beyond ASCII have no one byte for both cases.
    const forms = literals.map((literal) =>
      [...new Set([literal, literal.toUpperCase()])].map((form) => Buffer.from(form)),
    )
    this.#number(forms.flat())
    this.#seen = new Int32Array(literals.length)
    const states = forms.flat().reduce((sum, { length }) => sum + length, 1)
    const next = new Uint16Array(states << rowBits)
    const ends: Set<number>[] = [new Set()]
    for (const [at, form] of forms.entries())
      for (const bytes of form) {
        let state = 0
        for (const byte of bytes) {
          const edge = (state << rowBits) | (this.#symbols[byte] as number)
          if (next[edge] === 0) next[edge] = ends.push(new Set()) - 1
          state = next[edge] as number
        }
        ends[state]?.add(at)
      }
    addFallbacks(next, ends)
    // What ends literals has the highest numbers.
    const old = [...ends.keys()].sort(
      (one, other) => Number(isEnd(ends, one)) - Number(isEnd(ends, other)) || one - other,
    )
    const places = new Uint16Array(old.length)
    for (const [place, state] of old.entries()) places[state] = place
    this.#edges = new Uint16Array(old.length << rowBits)
    for (const [place, state] of old.entries())
      for (let symbol = 0; symbol < 1 << rowBits; symbol++)
        this.#edges[(place << rowBits) | symbol] = places[
          next[(state << rowBits) | symbol] as number
        ] as number
    this.#firstEnd = old.findIndex((state) => isEnd(ends, state))
    this.#ends = old.slice(this.#firstEnd).map((state) => [...(ends[state] ?? [])])
  }

  #number(forms: readonly Buffer[]): void {
    let count = 0
    for (const byte of new Set(forms.flatMap((bytes) => [...bytes]))) {
      if (this.#symbols[byte] !== 0) continue
      const other = /[a-z]/i.test(String.fromCharCode(byte)) ? byte ^ 32 : byte
      this.#symbols[byte] = this.#symbols[other] = ++count
    }
    if (count >= 1 << rowBits) throw new Error('the literals have too many different bytes')
  }

  /** @returns the places of the literals that the bytes have, in the order of their first ends */
  scan(bytes: Uint8Array, from = 0, to = bytes.length): readonly number[] {
    const [edges, symbols, firstEnd] = [this.#edges, this.#symbols, this.#firstEnd]
    let places: number[] | undefined
    let state = 0
    for (let at = from; at < to; at++) {
      state = edges[(state << rowBits) | (symbols[bytes[at] as number] as number)] as number
      if (state >= firstEnd) places = this.#note(state, places)
    }
    return places ?? none
  }

  #note(state: number, known: number[] | undefined): number[] {
    const places = known ?? []
    if (known === undefined) this.#scan++
    for (const place of this.#ends[state - this.#firstEnd] as readonly number[]) {
      if (this.#seen[place] === this.#scan) continue
      this.#seen[place] = this.#scan
      places.push(place)
    }
    return places
  }
}

const none: readonly number[] = []

function isEnd(ends: readonly ReadonlySet<number>[], state: number): boolean {
  return (ends[state]?.size ?? 0) > 0
}

function addFallbacks(next: Uint16Array, ends: readonly Set<number>[]): void {
  const fallbacks = new Uint16Array(ends.length)
  const queue = [0]
  for (const state of queue) {
    for (let symbol = 1; symbol < 1 << rowBits; symbol++) {
      const edge = (state << rowBits) | symbol
      const child = next[edge] as number
      const other =
        state === 0 ? 0 : (next[((fallbacks[state] as number) << rowBits) | symbol] as number)
      if (child === 0) {
        next[edge] = other
        continue
      }
      fallbacks[child] = other
      for (const place of ends[other] ?? []) ends[child]?.add(place)
      queue.push(child)
    }
  }
}
