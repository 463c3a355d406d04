/** Digests of contents: in the forms of registries, of packages and of checksum files. */
import { hash } from 'node:crypto'
import { BackendError } from '../../backend.ts'

export interface Digest {
  readonly algorithm: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  readonly hex: string
}

const algorithmsByLength = { 40: 'sha1', 64: 'sha256', 96: 'sha384', 128: 'sha512' } as const

/**
 * Parses `sha256:HEX`, `sha512-BASE64` as packages have it, and plain hexadecimal digits.
 *
 * @returns undefined for any other text
 */
export function parseDigest(text: string): Digest | undefined {
  const [, base64Algorithm, base64 = ''] = /^(sha1|sha256|sha384|sha512)-([A-Za-z0-9+/]+=*)$/.exec(text) ?? []
  if (base64Algorithm !== undefined) return toDigest(base64Algorithm, Buffer.from(base64, 'base64').toString('hex'))
  const [, algorithm, hex = ''] = /^(?:(sha1|sha256|sha384|sha512):)?([0-9a-f]+)$/.exec(text.toLowerCase()) ?? []
  return toDigest(algorithm, hex)
}

function toDigest(named: string | undefined, hex: string): Digest | undefined {
  const algorithm = algorithmsByLength[hex.length as keyof typeof algorithmsByLength] as Digest['algorithm'] | undefined
  return algorithm === undefined || (named !== undefined && named !== algorithm) ? undefined : { algorithm, hex }
}

export function formatDigest({ algorithm, hex }: Digest): string {
  return `${algorithm}:${hex}`
}

/** @throws {BackendError} 502 when the content has another digest */
export function checkDigest(content: Buffer, expected: Digest, place: string): Buffer {
  const hex = hash(expected.algorithm, content, 'hex')
  if (hex === expected.hex) return content
  const found = formatDigest({ ...expected, hex })
  throw new BackendError(
    502,
    `The artifact is not what was expected: ${place} has the digest ${found}, and not ${formatDigest(expected)}.`,
  )
}
