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

/** How far the clock of whoever made an id may be away, repetitions of a start included. */
const toleranceMs = 3600_000

/**
 * An id that one may be given for an execution, made at about this time: ids tell which run is the newest of its pipeline.
 *
 * @param nowMs Milliseconds since the epoch.
 */
export function isExecutionId(value: unknown, nowMs: number): value is string {
  if (typeof value !== 'string' || !/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(value)) return false
  let madeMs = 0
  for (const character of value.slice(0, 10)) madeMs = madeMs * 32 + alphabet.indexOf(character)
  return Math.abs(madeMs - nowMs) <= toleranceMs
}
