/**
 * Validators of responses, and requests under the condition that something has changed.
 *
 * @see RFC 9110, sections 8.8.3 and 13.1.2
 */
import { hash } from 'node:crypto'

/** Instead of the usual header that forbids to keep anything: the browser of the user may, and asks before each use. */
export const keptByBrowser = 'private, no-cache'
/** What an answer may depend on, besides its address. */
export const varying = 'Accept, Authorization, Cookie'

/** A strong validator of these bytes. */
export function entityTagOf(bytes: Buffer): string {
  return `"${hash('sha1', bytes, 'base64url')}"`
}

/** Of the same content under another coding. */
export function weakened(tag: string): string {
  return tag.startsWith('W/') ? tag : `W/${tag}`
}

/** Whether the client has the content already; compared weakly, as the header demands. */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = (text: string) => text.trim().replace(/^W\//, '')
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => opaque(one) === opaque(tag))
}

/** @param vary Of the answer so far. */
export function validatorHeaders(tag: string, vary: string | string[] | number | undefined): Record<string, string> {
  return { etag: tag, 'cache-control': keptByBrowser, vary: vary === undefined ? varying : `${vary}, ${varying}` }
}
