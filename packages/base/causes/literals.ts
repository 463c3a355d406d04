/** Finds which of many literals a line contains, in one pass over its characters, whatever their case. */

/** An automaton of Aho and Corasick over the characters that occur in the literals. */
export class Literals {
  readonly #symbols = new Uint8Array(0x1_00_00)
  readonly #width: number
  readonly #next: Uint16Array
  /** Literals that end in a state, by their places in the list. */
  readonly #ends: (readonly number[])[]
  readonly #seen: Int32Array
  #scan = 0

  /** @param literals In lower case */
  constructor(literals: readonly string[]) {
    const characters = [...new Set(literals.join(''))]
    for (const [at, character] of characters.entries()) {
      this.#symbols[character.charCodeAt(0)] = at + 1
      this.#symbols[character.toUpperCase().charCodeAt(0)] = at + 1
    }
    this.#width = characters.length + 1
    this.#seen = new Int32Array(literals.length)
    const states = literals.reduce((sum, { length }) => sum + length, 1)
    this.#next = new Uint16Array(states * this.#width)
    const ends: number[][] = [[]]
    let count = 1
    for (const [at, literal] of literals.entries()) {
      let state = 0
      for (let place = 0; place < literal.length; place++) {
        const edge = state * this.#width + this.#symbol(literal, place)
        if (this.#next[edge] === 0) {
          this.#next[edge] = count++
          ends.push([])
        }
        state = this.#next[edge] as number
      }
      ends[state]?.push(at)
    }
    this.#ends = ends
    this.#addFallbacks()
  }

  #addFallbacks(): void {
    const fallbacks = new Uint16Array(this.#ends.length)
    const queue = [0]
    for (const state of queue) {
      for (let symbol = 1; symbol < this.#width; symbol++) {
        const edge = state * this.#width + symbol
        const child = this.#next[edge] as number
        const other =
          state === 0
            ? 0
            : (this.#next[(fallbacks[state] as number) * this.#width + symbol] as number)
        if (child === 0) {
          this.#next[edge] = other
          continue
        }
        fallbacks[child] = other
        this.#ends[child] = [...(this.#ends[child] ?? []), ...(this.#ends[other] ?? [])]
        queue.push(child)
      }
    }
  }

  #symbol(text: string, place: number): number {
    return this.#symbols[text.charCodeAt(place)] as number
  }

  /** @returns the places of the literals that the line has, in the order of their first ends */
  scan(line: string): readonly number[] {
    const [next, symbols, width, ends, seen] = [
      this.#next,
      this.#symbols,
      this.#width,
      this.#ends,
      this.#seen,
    ]
    const scan = ++this.#scan
    let places: number[] | undefined
    let state = 0
    for (let at = 0; at < line.length; at++) {
      state = next[state * width + (symbols[line.charCodeAt(at)] as number)] as number
      if (state === 0) continue
      const found = ends[state] as readonly number[]
      for (let each = 0; each < found.length; each++) {
        const place = found[each] as number
        if (seen[place] === scan) continue
        seen[place] = scan
        places ??= []
        places.push(place)
      }
    }
    return places ?? none
  }
}

const none: readonly number[] = []
