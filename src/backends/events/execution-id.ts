/** Execution ids: ULIDs, 26 characters that sort by the time at which they were made. */
import { randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** @param nowMs Milliseconds since the epoch. */
export function createExecutionId(nowMs: number): string {
  let time = ''
  for (let rest = Math.floor(nowMs), place = 0; place < 10; place++) {
    time = alphabet[rest % 32] + time
    rest = Math.floor(rest / 32)
  }
  let chance = ''
  for (const byte of randomBytes(16)) chance += alphabet[byte % 32]
  return time + chance
}

/** An id that may be handed to the orchestrator and used in paths. */
export function isExecutionId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value)
}
