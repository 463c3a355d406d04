/** Random identifiers for requests, in the form of UUIDs. */
import { randomFillSync } from 'node:crypto'

const batch = 128
const bytesEach = 16
const lengthEach = 36
/** Where the two digits of each byte are. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const digits = Buffer.from('0123456789abcdef')
const bytes = Buffer.alloc(batch * bytesEach)
const letters = Buffer.from('00000000-0000-0000-0000-000000000000'.repeat(batch))

let ids = ''
let next = 0

/**
 * A part of a text that many share: an identifier of `randomUUID` is a dozen texts, which are joined when it is first read.
 *
 * @see RFC 9562, section 5.4
 */
export function createRequestId(): string {
  if (next === ids.length) {
    ids = createIds()
    next = 0
  }
  next += lengthEach
  return ids.slice(next - lengthEach, next)
}

function createIds(): string {
  randomFillSync(bytes)
  for (let id = 0; id < batch; id++) {
    const from = id * bytesEach
    bytes[from + 6] = ((bytes[from + 6] as number) & 0x0f) | 0x40
    bytes[from + 8] = ((bytes[from + 8] as number) & 0x3f) | 0x80
    for (let index = 0; index < bytesEach; index++) {
      const byte = bytes[from + index] as number
      const at = id * lengthEach + (places[index] as number)
      letters[at] = digits[byte >> 4] as number
      letters[at + 1] = digits[byte & 0x0f] as number
    }
  }
  return letters.toString('latin1')
}
