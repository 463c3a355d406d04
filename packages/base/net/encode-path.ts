/** Encoded paths and queries for calls to services. */
import { GatewayError } from '../errors.ts'

export type QueryValue = string | number | boolean | readonly string[] | undefined

/** Everything is encoded but letters, digits, dot, hyphen, underscore and star (docs/contracts/http.md#content). */
export function encodeSegment(value: string): string {
  if (value === '.' || value === '..') {
    throw new GatewayError('BAD_ARGUMENT', `"${value}" cannot be used as a name in a path.`)
  }
  return encodeValue(value)
}

/** The text itself where it is not well encoded. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

const needsNoCode = /^[\w.*-]*$/

/** The same for what is only shown, or stands in a query: `.` and `..` are kept. Lone surrogates are replaced. */
export function encodeValue(value: string): string {
  if (needsNoCode.test(value)) return value
  return encodeURIComponent(value.toWellFormed()).replace(
    /[!~'()]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Tag for paths: pathTo`/tasks/${id}/cancel` encodes every value as one segment. */
export function pathTo(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce(
    (path, part, index) => path + encodeSegment(values[index - 1] as string) + part,
  )
}

/** Encodes each segment of a path whose slashes are meant, such as the name of a nested build job. */
export function encodeSegments(path: string): string {
  return path.split('/').map(encodeSegment).join('/')
}

/** `?a=1&b=x`, or an empty string. Undefined values are left out; a list becomes one pair per element. */
export function formatQuery(query: Readonly<Record<string, QueryValue>>): string {
  const pairs: string[] = []
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value])
      pairs.push(`${encodeValue(name)}=${encodeValue(String(one))}`)
  }
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
