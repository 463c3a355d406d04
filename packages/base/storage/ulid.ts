/** Identifiers of executions and stages: ULIDs, whose text order is their order of creation. */
import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const randomBits = 80n
const randomRange = 1n << randomBits
const partBits = 50n
const partMask = (1n << partBits) - 1n
/** Bytes. */
const randomLength = 10

/**
 * Returns a maker of 26-character ULIDs. Each is greater than the one before, also within one millisecond and when
 * the clock goes back.
 */
export function createUlids(now: () => number): () => string {
  let last = 0n
  return () => {
    const moment = BigInt(now())
    const sameMoment = moment <= last >> randomBits
    last = sameMoment ? last + 1n : (moment << randomBits) | randomPart()
    return formatUlid(last)
  }
}

/** Random bytes are drawn for many at once: each call of the generator costs more than all else. */
const pool = Buffer.alloc(randomLength * 256)
let taken = pool.length

function randomPart(): bigint {
  if (taken === pool.length) {
    randomFillSync(pool)
    taken = 0
  }
  const high = pool.readUInt16BE(taken)
  const low = pool.readBigUInt64BE(taken + 2)
  taken += randomLength
  // The upper half stays free so that counting up within one millisecond does not spill into the time.
  return ((BigInt(high) << 64n) | low) & (randomRange / 2n - 1n)
}

function formatUlid(value: bigint): string {
  // Of numbers that fit into a double, each with a whole count of characters.
  const [low, middle, high] = [
    value & partMask,
    (value >> partBits) & partMask,
    value >> (2n * partBits),
  ]
  return formatPart(Number(high), 6) + formatPart(Number(middle), 10) + formatPart(Number(low), 10)
}

function formatPart(value: number, length: number): string {
  let rest = value
  let text = ''
  for (let place = 0; place < length; place++) {
    text = alphabet[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** A single one, where nothing depends on the order within a millisecond. @param nowMs Milliseconds since the epoch. */
export function createUlid(nowMs: number): string {
  return createUlids(() => nowMs)()
}

/** Longer than the event router tries to record a start that failed, and than clocks differ. */
const idToleranceMs = 25 * 3600_000

/**
 * Whether an execution may have an id that was handed out before the engine has seen the start. Ids tell which run is the newest of
 * its pipeline, so one of another time does not count.
 */
export function isExecutionId(value: unknown, nowMs: number): value is string {
  const madeAt = typeof value === 'string' ? timeOfUlid(value) : undefined
  return madeAt !== undefined && Math.abs(madeAt - nowMs) <= idToleranceMs
}

/** Milliseconds since the epoch at which a ULID was made; undefined when the text is none. */
export function timeOfUlid(text: string): number | undefined {
  if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)) return undefined
  let time = 0
  for (const character of text.slice(0, 10)) time = time * 32 + alphabet.indexOf(character)
  return time
}
