/** Bounds of request bodies, for users and for open paths. */
import type { ServerResponse } from 'node:http'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { BodyBounds } from '@fairlead/base/json/bodies/json-checker.ts'

export interface BodySettings {
  /** For logged-in users, and for all clients where no login is required. */
  readonly known: BoundSettings
  /** For requests that need no login. */
  readonly open: BoundSettings
}

interface BoundSettings {
  readonly maxBytes: number
  readonly maxValues: number
  readonly maxTextBytes: number
  readonly maxBytesAtOnce: number
  readonly prefix: 'http' | 'http.openPaths'
}

/** Bytes of each body that do not count: small ones are read however many large ones are held. */
export const uncountedBytes = 64 * 1024

/** Gives the bounds of one body; what it holds is given back when its answer is over. */
export type BoundsOf = (kind: keyof BodySettings, answer: ServerResponse) => BodyBounds

export function createBodyBounds(settings: BodySettings): BoundsOf {
  const held = { known: 0, open: 0 }
  return (kind, answer) => {
    const { maxBytes, maxValues, maxTextBytes, maxBytesAtOnce, prefix } = settings[kind]
    let read = 0
    let taken = 0
    const release = () => {
      held[kind] -= taken
    }
    const hold = (bytes: number) => {
      read += bytes
      const counted = Math.min(bytes, read - uncountedBytes)
      // When the client has left, nothing of the body is kept.
      if (counted <= 0 || answer.destroyed) return
      if (held[kind] + counted > maxBytesAtOnce)
        throw tooManyBodies(maxBytesAtOnce, `${prefix}.maxBodyBytesAtOnce`)
      held[kind] += counted
      if (taken === 0) answer.once('close', release)
      taken += counted
    }
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
      hold,
    }
  }
}

/** The rest of the body is not worth reading: the connection ends with this answer. */
function tooManyBodies(maxBytes: number, setting: string): GatewayError {
  const message = `Request bodies of more than ${maxBytes} bytes are being read. Try again in a moment, or raise ${setting}.`
  return new GatewayError('TOO_MANY_BODIES', message, {
    headers: { connection: 'close', 'retry-after': '1' },
  })
}

declare module 'fastify' {
  interface FastifyInstance {
    boundsOf: BoundsOf
  }
}
