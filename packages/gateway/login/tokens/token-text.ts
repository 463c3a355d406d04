/** Format of an API token: prefix, random text, checksum. */
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const checksumLength = 6
const maxLength = 512

/** A new secret: the prefix, `size` random bytes in base62, and six characters that are the CRC-32 of those. */
export function createTokenText(prefix: string, size: number): string {
  const random = toBase62(
    BigInt(`0x${randomBytes(size).toString('hex')}`),
    Math.ceil((size * 8) / Math.log2(62)),
  )
  return prefix + random + checksumOf(random)
}

/**
 * Whether a text can be a token at all, which is known without asking the store. Tokens that Gate has given out have no
 * checksum: they are written in hexadecimal.
 */
export function isTokenText(text: string, prefix: string): boolean {
  if (!text.startsWith(prefix) || text.length > maxLength) return false
  const rest = text.slice(prefix.length)
  if (/^(?:[0-9a-f]{2}){16,}$/.test(rest)) return true
  if (!/^[0-9A-Za-z]{20,}$/.test(rest)) return false
  const random = rest.slice(0, -checksumLength)
  return checksumOf(random) === rest.slice(-checksumLength)
}

/** What the store keeps instead of the token. A fast hash is enough: 240 random bits cannot be guessed. */
export function hashToken(text: string): string {
  return hash('sha256', text)
}

function checksumOf(random: string): string {
  return toBase62(BigInt(crc32(random)), checksumLength)
}

function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n)
    text = alphabet[Number(rest % 62n)] + text
  return text
}
