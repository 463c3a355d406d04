/** Identifiers of executions and stages: ULIDs, whose text order is their order of creation. */
import { randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const randomBits = 80n
const randomRange = 1n << randomBits

/**
 * Returns a maker of 26-character ULIDs. Each is greater than the one before, also within one millisecond and when
 * the clock goes back.
 */
export function createUlids(now: () => number): () => string {
  let last = 0n
  return () => {
    const fresh = (BigInt(now()) << randomBits) | randomPart()
    const sameMoment = fresh >> randomBits <= last >> randomBits
    last = sameMoment ? last + 1n : fresh
    return formatUlid(last)
  }
}

function randomPart(): bigint {
  // The upper half stays free so that counting up within one millisecond does not spill into the time.
  return BigInt(`0x${randomBytes(10).toString('hex')}`) % (randomRange / 2n)
}

function formatUlid(value: bigint): string {
  let rest = value
  let text = ''
  for (let place = 0; place < 26; place++) {
    text = alphabet[Number(rest & 31n)] + text
    rest >>= 5n
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
