/** The head of a request to an instance: no hop-by-hop headers, with the forwarding headers. */
import type { IncomingMessage } from 'node:http'

export interface RequestHead {
  readonly method: string
  /** Request line and headers without the empty line, for latin1; the framing of the body is included. */
  readonly text: string
  readonly body: 'none' | 'chunked' | number
  readonly expectsContinue: boolean
}

export interface HeadProblem {
  readonly status: number
  readonly problem: string
}

export interface ClientSide {
  readonly address: string
  /** For an old client that names no host. */
  readonly defaultHost: string
  /** The lines `x-forwarded-proto` and `x-forwarded-port`. */
  readonly forwardedLines: string
}

/** Headers of these lengths may be ones that are not passed on as they are. */
const specialLengths = new Set([2, 4, 6, 7, 9, 10, 14, 15, 16, 17])

/**
 * @param upgrade The client may change the protocol as it asks to.
 * @returns a problem where it is not clear what is asked of whom, or how long the body is
 */
export function toRequestHead(request: IncomingMessage, client: ClientSide, upgrade: boolean): RequestHead | HeadProblem {
  const { rawHeaders, httpVersionMajor, httpVersionMinor } = request
  if (httpVersionMajor !== 1) return { status: 505, problem: 'The only versions that are understood are HTTP/1.0 and HTTP/1.1.' }
  let host: string | undefined
  let forwardedFor = ''
  let connection: string | undefined
  let body: RequestHead['body'] = 'none'
  let expectsContinue = false
  let protocol: string | undefined
  let lines = ''
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    const value = rawHeaders[at + 1] as string
    if (specialLengths.has(name.length)) {
      switch (name.toLowerCase()) {
        case 'host':
          if (host !== undefined) return { status: 400, problem: 'The request has more than one Host header.' }
          host = value
          continue
        case 'x-forwarded-for':
          forwardedFor += `${value}, `
          continue
        case 'connection':
          connection = connection === undefined ? value : `${connection},${value}`
          continue
        case 'content-length':
          body = Number(value)
          continue
        case 'transfer-encoding':
          if (value.toLowerCase() !== 'chunked' || body === 'chunked') {
            return { status: 501, problem: 'The only transfer encoding that is understood is chunked.' }
          }
          // A proxy before this one may have read another end of the body. RFC 9112, section 6.1.
          if (httpVersionMinor === 0) return { status: 400, problem: 'HTTP/1.0 has no transfer encodings.' }
          body = 'chunked'
          continue
        case 'expect':
          expectsContinue = value.toLowerCase() === '100-continue'
          continue
        case 'upgrade':
          protocol = protocol === undefined ? value : `${protocol}, ${value}`
          continue
        case 'te':
          if (/(?:^|,)[\t ]*trailers[\t ]*(?:,|$)/i.test(value)) lines += 'connection: te\r\nte: trailers\r\n'
          continue
        case 'keep-alive':
        case 'proxy-connection':
        case 'forwarded':
        case 'x-forwarded-proto':
        case 'x-forwarded-host':
        case 'x-forwarded-port':
          continue
      }
    }
    lines += `${name}: ${value}\r\n`
  }
  const target = readTarget(request, host)
  if ('problem' in target) return target
  if (connection !== undefined) lines = withoutNamed(lines, connection)
  if (upgrade) lines += `connection: upgrade\r\nupgrade: ${protocol}\r\n`
  if (body === 'chunked') lines += 'transfer-encoding: chunked\r\n'
  else if (body !== 'none') lines += `content-length: ${body}\r\n`
  const authority = target.host ?? client.defaultHost
  return {
    method: request.method ?? 'GET',
    text: `${request.method} ${target.path} HTTP/1.1\r\nhost: ${authority}\r\n${lines}x-forwarded-for: ${forwardedFor}${client.address}\r\nx-forwarded-host: ${authority}\r\n${client.forwardedLines}`,
    body: body === 0 ? 'none' : body,
    expectsContinue,
  }
}

/** @see RFC 9112, section 3.2 */
function readTarget(
  request: IncomingMessage,
  host: string | undefined,
): { path: string; host: string | undefined } | HeadProblem {
  const path = request.url ?? '/'
  if (!/^[\x21-\xff]+$/.test(path)) return { status: 400, problem: 'The path has characters that must be encoded.' }
  if (path.startsWith('/') || (path === '*' && request.method === 'OPTIONS')) return { path, host }
  const [, authority, rest = ''] = /^https?:\/\/([^/?#@]+)([/?].*)?$/i.exec(path) ?? []
  if (authority === undefined) return { status: 400, problem: 'The request does not ask for a path.' }
  // The authority of the address counts, whatever the Host header says.
  return { path: rest.startsWith('/') ? rest : `/${rest}`, host: authority }
}

const ownOptions = new Set(['', 'close', 'keep-alive', 'upgrade', 'te', 'proxy-connection'])

/** The client may name further headers that are for this connection only. */
function withoutNamed(lines: string, connection: string): string {
  const options = connection
    .toLowerCase()
    .split(',')
    .map((option) => option.trim())
    .filter((option) => !ownOptions.has(option))
  if (options.length === 0) return lines
  const named = new Set(options)
  return lines
    .split('\r\n')
    .filter((line) => !named.has(line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase()))
    .join('\r\n')
}
