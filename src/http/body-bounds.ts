/** Bounds of request bodies, for users and for open paths. */
import type { ServerResponse } from 'node:http'
import { GatewayError } from '../errors.ts'
import type { BodyBounds } from './json-judge.ts'

export interface BodySettings {
  /** For logged-in users, and for all clients where no login is required. */
  readonly known: BoundSettings
  /** For requests that need no login. */
  readonly open: BoundSettings
}

interface BoundSettings {
  readonly maxBytes: number
  readonly maxValues: number
  /** Bound of one text in a document. */
  readonly maxTextBytes: number
  /** Bound of all bodies together. */
  readonly maxBytesAtOnce: number
  /** Where these settings stand. */
  readonly prefix: 'http' | 'http.openPaths'
}

/** As much of every body is not counted: small ones are read however many large ones are held. */
export const uncountedBytes = 64 * 1024

/** Gives the bounds of one body; what it holds is given back when its answer is over. */
export type BoundsOf = (kind: keyof BodySettings, answer: ServerResponse) => BodyBounds

export function createBodyBounds(settings: BodySettings): BoundsOf {
  const held = { known: new HeldBytes(settings.known), open: new HeldBytes(settings.open) }
  return (kind, answer) => {
    const { maxBytes, maxValues, maxTextBytes, prefix } = settings[kind]
    return {
      maxBytes,
      maxValues,
      maxTextBytes,
      keepsNumerals: true,
      settings: {
        bytes: `${prefix}.maxBodyBytes`,
        values: `${prefix}.maxBodyValues`,
        textBytes: 'http.maxBodyTextBytes',
      },
      hold: holdUntilClosed(held[kind], answer),
    }
  }
}

function holdUntilClosed(held: HeldBytes, answer: ServerResponse): (bytes: number) => void {
  let read = 0
  let taken = 0
  return (bytes) => {
    read += bytes
    const counted = Math.min(bytes, read - uncountedBytes)
    // When the client has left, nothing of the body is kept.
    if (counted <= 0 || answer.destroyed) return
    held.take(counted)
    if (taken === 0) answer.once('close', () => held.release(taken))
    taken += counted
  }
}

/** Bytes of request bodies that are in memory at once. */
class HeldBytes {
  readonly #settings: BoundSettings
  #bytes = 0

  constructor(settings: BoundSettings) {
    this.#settings = settings
  }

  /** @throws {GatewayError} TOO_MANY_BODIES; then nothing is counted */
  take(bytes: number): void {
    const { maxBytesAtOnce, prefix } = this.#settings
    if (this.#bytes + bytes > maxBytesAtOnce) {
      const message = `Request bodies of more than ${maxBytesAtOnce} bytes are being read. Try again in a moment, or raise ${prefix}.maxBodyBytesAtOnce.`
      // The rest of the body is not worth reading: the connection ends with this answer.
      throw new GatewayError('TOO_MANY_BODIES', message, { headers: { connection: 'close', 'retry-after': '1' } })
    }
    this.#bytes += bytes
  }

  release(bytes: number): void {
    this.#bytes -= bytes
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    boundsOf: BoundsOf
  }
}
