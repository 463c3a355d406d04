/** Request line and the fields that a request has once: path and host of a request. */
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@fairlead/base/errors.ts'

/** `url` is the path with its query; `problem` says why the request is refused. */
type RequestTarget = { readonly url: string } | { readonly problem: string }

/** Each costs some microseconds wherever the query is read. Tomcat has the same limit. */
const maxParameters = 1000

const absoluteForm = /^(https?):\/\/([^/?#]*)(.*)$/is

/**
 * Reads the absolute form as the path in it. Its authority has to be that of the Host header: two readings of one request would
 * let a client choose one for a proxy and the other for the gateway.
 *
 * @see RFC 9112, sections 3.2 and 3.2.2
 */
export function readTarget({
  url = '/',
  httpVersion,
  headers,
  rawHeaders,
}: IncomingMessage): RequestTarget {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return { problem: 'The request is not in HTTP/1.1. Send it in that version.' }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && httpVersion === '1.0') {
    return {
      problem:
        'An HTTP/1.0 request has no Transfer-Encoding. Send Content-Length, or use HTTP/1.1.',
    }
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return {
      problem:
        'Of the transfer codings, only "Transfer-Encoding: chunked" is understood. Compress with Content-Encoding.',
    }
  }
  const repeated = findRepeated(rawHeaders)
  if (repeated !== undefined)
    return { problem: `The request has more than one ${repeated} header. Send one.` }
  const { host } = headers
  if (host === undefined && httpVersion === '1.1')
    return { problem: 'The request has no Host header, which HTTP/1.1 requires. Send it.' }
  if (url.length > maxParameters && countParameters(url) > maxParameters) {
    return {
      problem: `The query has more than ${maxParameters} parameters. Send fewer, such as one list with commas.`,
    }
  }
  if (url.charCodeAt(0) === 0x2f) return { url }
  const [, scheme = '', authority = '', rest = ''] = absoluteForm.exec(url) ?? []
  if (scheme === '') return { url }
  const named = hostIn(scheme, authority)
  if (named === undefined || (host !== undefined && named !== hostIn(scheme, host))) {
    return {
      problem:
        'The address in the request line and the Host header name different hosts. Send the same in both.',
    }
  }
  return { url: rest.startsWith('/') ? rest : `/${rest}` }
}

/** An upper bound: a path may have some, too. */
function countParameters(url: string): number {
  let count = 1
  for (
    let at = url.indexOf('&');
    at !== -1 && count <= maxParameters;
    at = url.indexOf('&', at + 1)
  )
    count++
  return count
}

const singletons = new Map(
  ['Host', 'Authorization', 'X-SPINNAKER-TOKEN'].map((name) => [name.toLowerCase(), name]),
)

function findRepeated(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = singletons.get((rawHeaders[at] as string).toLowerCase())
    if (name === undefined) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** Host and port, in lower case and without the default port; undefined where there is none, or more than that. */
function hostIn(scheme: string, authority: string): string | undefined {
  if (!/^[^@\\\s/?#]+$/.test(authority)) return undefined
  return URL.parse(`${scheme}://${authority}`)?.host
}

const encodedForms = /%(?:2f|5c|2e|3b|25|[01][0-9a-f]|7f)/i
/** What a URL path may not contain unencoded, plus `;`, which some servers read as the start of parameters. */
const rawForms = /[^\x21-\x7e]|[;\\"<>[\]^`{|}#]/
/** What nearly every path consists of: none of the above, and no segment that begins with a dot. */
const plain = /^(?:\/[\w-][\w.-]*)+$/
const dotSegments = /(?:^|\/)\.{1,2}(?:\/|$)/

/**
 * @param path The path of the request line, without the query.
 * @throws {GatewayError} PATH_REFUSED
 * @see docs/contracts/authentication.md#rejected-paths
 */
export function checkPath(path: string): void {
  if (plain.test(path)) return
  if (!path.startsWith('/')) throw refused('it does not start with a slash')
  if (path.includes('//')) throw refused('it has two slashes in a row')
  if (rawForms.test(path))
    throw refused('it has a character that must be percent-encoded, or ";" or "\\"')
  if (encodedForms.test(path)) {
    throw refused(
      'it has an encoded slash, dot, semicolon, backslash, percent or control character, or is not percent-encoded UTF-8',
      unfitName,
    )
  }
  if (dotSegments.test(path)) throw refused('it has a "." or ".." segment')
  if (path.includes('%') && !isDecodable(path))
    throw refused('its percent-encoding is not valid UTF-8')
}

const encodeNames = 'Send each name as one percent-encoded segment.'
const unfitName = 'What has such a name is reached by its id.'

function refused(reason: string, advice = encodeNames): GatewayError {
  return new GatewayError('PATH_REFUSED', `The path is refused because ${reason}. ${advice}`)
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

export function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?')
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark))
}
