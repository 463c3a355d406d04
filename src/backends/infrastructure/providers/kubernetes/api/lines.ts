/** Lines of a stream that arrives in pieces. */

const lineFeed = 0x0a

/** Each piece is looked at once, and joined with others only where a line is complete. */
export class LineSplitter {
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Calls `take` for each line that is complete now, empty ones excepted. @throws {Error} when a line is too long */
  push(piece: Buffer, take: (line: string) => void): void {
    let from = 0
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, from)) {
      const line = this.#complete(piece.subarray(from, end))
      from = end + 1
      if (line !== '') take(line)
    }
    if (from === piece.length) return
    // A copy: the piece may be part of a larger buffer, which would be kept.
    const rest = Buffer.from(piece.subarray(from))
    this.#parts.push(rest)
    this.#bytes += rest.length
    if (this.#bytes > this.#maxBytes) throw new Error(`a line has more than ${this.#maxBytes} bytes`)
  }

  #complete(last: Buffer): string {
    if (this.#parts.length === 0) return last.toString('utf8')
    const line = Buffer.concat([...this.#parts, last]).toString('utf8')
    this.#parts = []
    this.#bytes = 0
    return line
  }
}
