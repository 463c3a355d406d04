/** Request line and the fields that a request has once: path and host of a request. */
import type { IncomingMessage } from 'node:http'

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
export function readTarget({ url = '/', httpVersion, headers, rawHeaders }: IncomingMessage): RequestTarget {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return { problem: 'The request is not in HTTP/1.1. Send it in that version.' }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && httpVersion === '1.0') {
    return { problem: 'An HTTP/1.0 request has no Transfer-Encoding. Send Content-Length, or use HTTP/1.1.' }
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return {
      problem: 'Of the transfer codings, only "Transfer-Encoding: chunked" is understood. Compress with Content-Encoding.',
    }
  }
  const repeated = findRepeated(rawHeaders)
  if (repeated !== undefined) return { problem: `The request has more than one ${repeated} header. Send one.` }
  const { host } = headers
  if (host === undefined && httpVersion === '1.1')
    return { problem: 'The request has no Host header, which HTTP/1.1 requires. Send it.' }
  if (url.length > maxParameters && countParameters(url) > maxParameters) {
    return { problem: `The query has more than ${maxParameters} parameters. Send fewer, such as one list with commas.` }
  }
  if (url.charCodeAt(0) === 0x2f) return { url }
  const [, scheme = '', authority = '', rest = ''] = absoluteForm.exec(url) ?? []
  if (scheme === '') return { url }
  const named = hostIn(scheme, authority)
  if (named === undefined || (host !== undefined && named !== hostIn(scheme, host))) {
    return { problem: 'The address in the request line and the Host header name different hosts. Send the same in both.' }
  }
  return { url: rest.startsWith('/') ? rest : `/${rest}` }
}

/** An upper bound: a path may have some, too. */
function countParameters(url: string): number {
  let count = 1
  for (let at = url.indexOf('&'); at !== -1 && count <= maxParameters; at = url.indexOf('&', at + 1)) count++
  return count
}

const singletons = new Map(['Host', 'Authorization', 'X-SPINNAKER-TOKEN'].map((name) => [name.toLowerCase(), name]))

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
