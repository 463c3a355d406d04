/** The head of a request to an instance: no hop-by-hop headers, with the forwarding headers. */
import type { IncomingMessage } from 'node:http'
import type { OutgoingHead } from '@fairlead/proxy/connection.ts'
import { isStream } from './client-response.ts'

export interface RequestHead extends Required<OutgoingHead> {
  readonly body: 'none' | 'chunked' | number
}

interface HeadProblem {
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

/** What the headers of a request say to the load balancer, and the lines that are passed on. */
interface ReadHeaders {
  host: string | undefined
  forwardedFor: string
  connection: string | undefined
  body: RequestHead['body']
  expectsContinue: boolean
  protocol: string | undefined
  cookies: string[]
  lines: string
}

/** What a front changes in a request, beside the headers. */
interface SiteRewrite {
  readonly strippedPath: string
}

/**
 * @param upgrades The client may change the protocol as it asks to.
 * @param site The port is a front: what clients say about forwarding is dropped
 * @returns a problem where it is not clear what is asked of whom, or how long the body is
 */
export function toRequestHead(
  request: IncomingMessage,
  client: ClientSide,
  upgrades: boolean,
  site?: SiteRewrite,
): RequestHead | HeadProblem {
  if (request.httpVersionMajor !== 1 && !isStream(request)) {
    return {
      status: 505,
      problem: 'The only versions that are understood are HTTP/1.0 and HTTP/1.1.',
    }
  }
  const read = readHeaders(request, site !== undefined)
  if ('problem' in read) return read
  const { host, connection, expectsContinue, protocol } = read
  const body = isStream(request) ? streamBodyOf(request, read.body) : read.body
  const forwardedFor = site === undefined ? read.forwardedFor : ''
  const target = readTarget(request, host)
  if ('problem' in target) return target
  let lines = connection === undefined ? read.lines : withoutNamed(read.lines, connection)
  if (upgrades) lines += `connection: upgrade\r\nupgrade: ${protocol}\r\n`
  if (body === 'chunked') lines += 'transfer-encoding: chunked\r\n'
  else if (body !== 'none') lines += `content-length: ${body}\r\n`
  const authority = target.host ?? client.defaultHost
  const path = site === undefined ? target.path : withoutPrefix(target.path, site.strippedPath)
  return {
    method: request.method ?? 'GET',
    text: `${request.method} ${path} HTTP/1.1\r\nhost: ${authority}\r\n${lines}x-forwarded-for: ${forwardedFor}${client.address}\r\nx-forwarded-host: ${authority}\r\n${client.forwardedLines}`,
    body: body === 0 ? 'none' : body,
    expectsContinue,
    upgrades,
  }
}

/** Without a length, the body of a stream ends when it ends. */
function streamBodyOf(
  request: IncomingMessage,
  announced: RequestHead['body'],
): RequestHead['body'] {
  if (announced !== 'none') return announced
  const { stream } = request as unknown as { stream: { endAfterHeaders: boolean } }
  return stream.endAfterHeaders ? 'none' : 'chunked'
}

function withoutPrefix(path: string, prefix: string): string {
  if (prefix === '') return path
  const rest = path.slice(prefix.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function readHeaders(
  { rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage,
  isFront: boolean,
): ReadHeaders | HeadProblem {
  const read: ReadHeaders = {
    host: undefined,
    forwardedFor: '',
    connection: undefined,
    body: 'none',
    expectsContinue: false,
    protocol: undefined,
    cookies: [],
    lines: '',
  }
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    const isOld = httpVersionMajor === 1 && httpVersionMinor === 0
    if (isFront && forwardingHeader.test(name)) continue
    const problem = readHeader(read, name, rawHeaders[at + 1] as string, isOld)
    if (problem !== undefined) return problem
  }
  if (read.cookies.length > 0) read.lines += `cookie: ${read.cookies.join('; ')}\r\n`
  return read
}

/** What only a front may say about the client. */
const forwardingHeader = /^(?:x-forwarded-|x-real-ip$|x-client-ip$|true-client-ip$)/i

/** They are for this connection, or replaced by those of the load balancer. */
const dropped = new Set([
  'keep-alive',
  'proxy-connection',
  'forwarded',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
])

function readHeader(
  read: ReadHeaders,
  name: string,
  value: string,
  isOld: boolean,
): HeadProblem | undefined {
  const known = name.toLowerCase()
  switch (known) {
    // HTTP/2 has it in place of a Host header, which is the same where there is one, too.
    case ':authority':
      read.host = value
      break
    case ':method':
    case ':path':
    case ':scheme':
      break
    // HTTP/2 may have several. RFC 9113, section 8.2.3.
    case 'cookie':
      read.cookies.push(value)
      break
    case 'host':
      if (read.host === value) break
      if (read.host !== undefined)
        return { status: 400, problem: 'The request has more than one Host header.' }
      read.host = value
      break
    case 'x-forwarded-for':
      read.forwardedFor += `${value}, `
      break
    case 'connection':
      read.connection = read.connection === undefined ? value : `${read.connection},${value}`
      break
    case 'content-length':
      read.body = Number(value)
      break
    case 'transfer-encoding':
      if (value.toLowerCase() !== 'chunked' || read.body === 'chunked') {
        return { status: 501, problem: 'The only transfer encoding that is understood is chunked.' }
      }
      // A proxy before this one may have read another end of the body. RFC 9112, section 6.1.
      if (isOld) return { status: 400, problem: 'HTTP/1.0 has no transfer encodings.' }
      read.body = 'chunked'
      break
    case 'expect':
      read.expectsContinue = value.toLowerCase() === '100-continue'
      break
    case 'upgrade':
      read.protocol = read.protocol === undefined ? value : `${read.protocol}, ${value}`
      break
    case 'te':
      if (/(?:^|,)[\t ]*trailers[\t ]*(?:,|$)/i.test(value))
        read.lines += 'connection: te\r\nte: trailers\r\n'
      break
    default:
      if (!dropped.has(known)) read.lines += `${name}: ${value}\r\n`
  }
  return undefined
}

/** @see RFC 9112, section 3.2 */
function readTarget(
  request: IncomingMessage,
  host: string | undefined,
): { path: string; host: string | undefined } | HeadProblem {
  const path = request.url ?? '/'
  if (!/^[\x21-\xff]+$/.test(path))
    return { status: 400, problem: 'The path has characters that must be encoded.' }
  if (path.startsWith('/') || (path === '*' && request.method === 'OPTIONS')) return { path, host }
  const [, authority, rest = ''] = /^https?:\/\/([^/?#@]+)([/?].*)?$/i.exec(path) ?? []
  if (authority === undefined)
    return { status: 400, problem: 'The request does not ask for a path.' }
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

/** HTTP itself is no other protocol: requests on such a connection would pass by the load balancer. */
export function mayUpgrade({ headers, method }: IncomingMessage): boolean {
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  const isHttp = /(?:^|,)\s*(?:h2c?|http|tls)\b/i.test(headers.upgrade ?? '')
  return (
    !hasBody &&
    !isHttp &&
    method !== 'CONNECT' &&
    /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(headers.connection ?? '')
  )
}
