/** Pieces of a small body in one buffer: as buffers of their own, pieces of one byte would take hundreds each. */
export class KeptBytes {
  #buffer: Buffer | undefined
  #length = 0

  /** @param piece Must stay as it is where it is the first. */
  add(piece: Buffer): void {
    const before = this.#buffer
    const length = this.#length + piece.length
    if (before === undefined) {
      this.#buffer = piece
    } else {
      if (length > before.length) {
        this.#buffer = Buffer.allocUnsafeSlow(Math.max(length, before.length * 2))
        before.copy(this.#buffer, 0, 0, this.#length)
      }
      piece.copy(this.#buffer as Buffer, this.#length)
    }
    this.#length = length
  }

  /** Undefined where nothing was added. */
  get bytes(): Buffer | undefined {
    return this.#buffer?.subarray(0, this.#length)
  }
}
