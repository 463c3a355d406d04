/** Which bounds hold for a request body: those of users, or the narrower ones of open paths. */
import type { ServerResponse } from 'node:http'
import { HeldBytes } from './held-bytes.ts'
import type { BodyBounds } from './read-body.ts'

export interface BodySettings {
  /** For logged-in users, and for all clients where no login is required. */
  readonly known: BoundSettings
  /** For requests that need no login. */
  readonly open: BoundSettings
}

interface BoundSettings {
  readonly maxBytes: number
  readonly maxValues: number
  /** Of all bodies together. */
  readonly maxBytesAtOnce: number
  /** Where these settings stand. */
  readonly prefix: 'http' | 'http.openPaths'
}

/** As much of every body is not counted: small ones are read however many large ones are held. */
export const uncountedBytes = 64 * 1024

/** Gives the bounds of one body; what it holds is given back when its answer is over. */
export type BoundsOf = (kind: keyof BodySettings, answer: ServerResponse) => BodyBounds

export function createBodyBounds(settings: BodySettings): BoundsOf {
  const held = { known: createHeld(settings.known), open: createHeld(settings.open) }
  return (kind, answer) => {
    const { maxBytes, maxValues, prefix } = settings[kind]
    return {
      maxBytes,
      maxValues,
      keepsNumerals: true,
      settings: { bytes: `${prefix}.maxBodyBytes`, values: `${prefix}.maxBodyValues` },
      hold: holdUntilClosed(held[kind], answer),
    }
  }
}

function createHeld({ maxBytesAtOnce, prefix }: BoundSettings): HeldBytes {
  return new HeldBytes(maxBytesAtOnce, `${prefix}.maxBodyBytesAtOnce`)
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

declare module 'fastify' {
  interface FastifyInstance {
    boundsOf: BoundsOf
  }
}
