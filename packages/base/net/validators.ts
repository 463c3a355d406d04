/**
 * Validators of responses, and conditional requests.
 *
 * @see RFC 9110, sections 8.8.3 and 13.1.2
 */
import { hash } from 'node:crypto'

/** Replaces the default that forbids storing: the browser may keep a copy, and revalidates it before each use. */
export const keptByBrowser = 'private, no-cache'
/** Request headers that a response may depend on. */
export const varying = 'Accept, Accept-Encoding, Authorization, Cookie'

/** A weak validator: the same for every content coding of these bytes. */
export function entityTagOf(bytes: Buffer): string {
  return `W/"${hash('sha1', bytes, 'base64url')}"`
}

/** For the same content under another coding. */
export function weakened(tag: string): string {
  return tag.startsWith('W/') ? tag : `W/${tag}`
}

const wholeTag = /^(?:W\/)?"[\x21\x23-\x7e]*"$/
const opaqueTags = /"[\x21\x23-\x7e]*"/g

/** The validator of a service; undefined if it is not one. */
export function parseEntityTag(value: string | undefined): string | undefined {
  return value !== undefined && wholeTag.test(value) ? value : undefined
}

/** Whether the client has the content already. The comparison is weak. */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = tag.replace(/^W\//, '')
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.match(opaqueTags)?.some((known) => known === opaque) === true
  )
}

/** Validator of a response that was made of another one: differs wherever that one differs, or what it was made by. */
export function deriveTag(tag: string, by: string): string {
  return `W/"${tag.slice(tag.indexOf('"') + 1, -1)}~${by}"`
}

/** The condition on the other response, as far as the client has responses that were made of it; undefined: it has none. */
export function underlyingCondition(
  ifNoneMatch: string | undefined,
  by: string,
): string | undefined {
  const suffix = `~${by}"`
  const derived = (ifNoneMatch?.match(opaqueTags) ?? []).filter((tag) => tag.endsWith(suffix))
  return derived.length === 0
    ? undefined
    : derived.map((tag) => `W/${tag.slice(0, -suffix.length)}"`).join(', ')
}
