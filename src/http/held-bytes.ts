/** Bytes of request bodies that are in memory at once, counted so that many bodies together stay within a bound. */
import { GatewayError } from '../errors.ts'

export class HeldBytes {
  readonly #maxBytes: number
  readonly #setting: string
  #bytes = 0

  /** @param setting The key that raises the bound, for the error. */
  constructor(maxBytes: number, setting: string) {
    this.#maxBytes = maxBytes
    this.#setting = setting
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes
  }

  /** @throws {GatewayError} TOO_MANY_BODIES; then nothing is counted */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) {
      const message = `Request bodies of more than ${this.#maxBytes} bytes are being read. Try again in a moment, or raise ${this.#setting}.`
      // The rest of the body is not worth reading: the connection ends with this answer.
      throw new GatewayError('TOO_MANY_BODIES', message, { headers: { connection: 'close', 'retry-after': '1' } })
    }
    this.#bytes += bytes
  }

  release(bytes: number): void {
    this.#bytes -= bytes
  }
}
