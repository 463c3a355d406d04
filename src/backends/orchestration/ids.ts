/** Identifiers of executions and stages: ULIDs, so that their text order is the order in which they were made. */
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
