/** Digests of contents in the forms of registries, packages and checksum files, and a cache of contents by them. */
import { hash } from 'node:crypto'
import { PortError } from '@fairlead/base/port-error.ts'
import { LRUCache } from 'lru-cache'

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
  const [, base64Algorithm, base64 = ''] =
    /^(sha1|sha256|sha384|sha512)-([A-Za-z0-9+/]+=*)$/.exec(text) ?? []
  if (base64Algorithm !== undefined)
    return toDigest(base64Algorithm, Buffer.from(base64, 'base64').toString('hex'))
  const [, algorithm, hex = ''] =
    /^(?:(sha1|sha256|sha384|sha512):)?([0-9a-f]+)$/.exec(text.toLowerCase()) ?? []
  return toDigest(algorithm, hex)
}

function toDigest(named: string | undefined, hex: string): Digest | undefined {
  const algorithm = algorithmsByLength[hex.length as keyof typeof algorithmsByLength] as
    | Digest['algorithm']
    | undefined
  return algorithm === undefined || (named !== undefined && named !== algorithm)
    ? undefined
    : { algorithm, hex }
}

export function formatDigest({ algorithm, hex }: Digest): string {
  return `${algorithm}:${hex}`
}

/** @throws {PortError} 502 when the content has another digest */
export function checkDigest(content: Buffer, expected: Digest, place: string): Buffer {
  const hex = hash(expected.algorithm, content, 'hex')
  if (hex === expected.hex) return content
  const found = formatDigest({ ...expected, hex })
  throw new PortError(
    502,
    `The artifact is not what was expected: ${place} has the digest ${found}, and not ${formatDigest(expected)}.`,
  )
}

const maxKeptBytes = 16 * 1024 * 1024
const maxEntryBytes = 4 * 1024 * 1024

export class ContentCache {
  readonly #contents = new LRUCache<string, Buffer>({
    maxSize: maxKeptBytes,
    maxEntrySize: maxEntryBytes,
    sizeCalculation: ({ length }) => Math.max(1, length),
  })

  /**
   * The content with a digest: as it is kept, or else loaded and checked.
   *
   * @param account Another account gets nothing of it
   * @param place For messages
   * @throws {PortError} 502 when what was loaded has another digest
   */
  async fetch(
    account: string,
    digest: Digest,
    place: string,
    load: () => Promise<Buffer>,
  ): Promise<Buffer> {
    const key = JSON.stringify([account, formatDigest(digest)])
    const kept = this.#contents.get(key)
    if (kept !== undefined) return kept
    const content = checkDigest(await load(), digest, place)
    this.#contents.set(key, content)
    return content
  }
}
