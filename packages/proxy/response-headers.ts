/** Headers and trailers of a response to the client, without the hop-by-hop ones. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ResponseHead } from './response-reader.ts'

/** @param trailers Trailers may follow. @returns names and values in turn */
export function toClientHeaders(
  { status, headers, connectionHeaders }: ResponseHead,
  trailers: boolean,
): string[] {
  const passed: string[] = []
  const hasLength = status >= 200 && status !== 204
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    const known = name.toLowerCase()
    if (isWithheld(known, hasLength, trailers) || connectionHeaders?.includes(known)) continue
    passed.push(name, headers[at + 1] as string)
  }
  return passed
}

/** By lower-case names; a list for what was sent several times. */
export function toHeaderRecord({ headers }: ResponseHead): IncomingHttpHeaders {
  const record: Record<string, string | string[]> = {}
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] as string).toLowerCase()
    const value = headers[at + 1] as string
    const known = record[name]
    record[name] = known === undefined ? value : [known, value].flat()
  }
  return record
}

function isWithheld(name: string, hasLength: boolean, trailers: boolean): boolean {
  switch (name) {
    case 'connection':
    case 'keep-alive':
    case 'transfer-encoding':
    case 'proxy-connection':
    case 'upgrade':
      return true
    // A client may wait for such a body, or take the next response for it. RFC 9110, section 8.6.
    case 'content-length':
      return !hasLength
    case 'trailer':
      return !trailers
    default:
      return false
  }
}

/** Headers that would say something else about the message when they come at its end. @see RFC 9110, section 6.5.1 */
const neverTrailers = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'trailer',
  'te',
  'upgrade',
  'host',
  'content-encoding',
  'content-type',
  'content-range',
  'authorization',
  'cookie',
  'set-cookie',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
])

/** @param raw Names and values in turn. */
export function toTrailers(raw: readonly string[]): [name: string, value: string][] {
  const trailers: [string, string][] = []
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string
    if (!neverTrailers.has(name.toLowerCase())) trailers.push([name, raw[at + 1] as string])
  }
  return trailers
}

export function toTrailerLines(raw: readonly string[]): string {
  if (raw.length === 0) return ''
  return toTrailers(raw)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}
