import { createHash } from 'node:crypto'

/** The UUID of a text: of version 8, which is free for digests. */
export function digestUuid(text: string): string {
  const digest = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join('-')
}
