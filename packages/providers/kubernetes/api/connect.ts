/** Connections to an API server: TLS with its authorities and certificates, perhaps through a proxy. */
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from 'node:tls'
import { within } from '@fairlead/base/concurrency/within.ts'
import type { ClientCertificate, ClusterAccess } from './cluster-access.ts'

/** A proxy answers CONNECT with a few lines. */
const maxProxyAnswerBytes = 16 * 1024
/** First probe on a silent connection; further ones follow each second, ten until the system gives up. */
const keepAliveMs = 15_000

export type ConnectableCluster = Pick<
  ClusterAccess,
  | 'server'
  | 'certificateAuthority'
  | 'tlsServerName'
  | 'skipsTlsVerification'
  | 'proxyUrl'
  | 'impersonation'
> & {
  /** For protocols that a connection of HTTP/2 does not carry. */
  readonly onlyHttp1?: boolean
}

/** Once for each certificate: it takes some milliseconds, and memory. */
export function createTlsContext(
  { certificateAuthority }: ConnectableCluster,
  client?: ClientCertificate,
): SecureContext {
  return createSecureContext({
    ...(certificateAuthority !== undefined && { ca: certificateAuthority }),
    ...(client !== undefined && { cert: client.certificate, key: client.key }),
  })
}

/**
 * A connection that is ready for requests; its `alpnProtocol` says which ones.
 *
 * @throws {Error} that the system, TLS or the proxy reports
 */
export async function openSocket(
  cluster: ConnectableCluster,
  context: SecureContext | undefined,
  timeoutMs: number,
): Promise<Socket | TLSSocket> {
  const opened: Socket[] = []
  const opening = open(cluster, context, opened)
  try {
    return await within(timeoutMs, opening, () => {
      throw Object.assign(new Error(`no connection within ${timeoutMs / 1000} s`), {
        code: 'ETIMEDOUT',
      })
    })
  } catch (error) {
    opening.catch(() => {})
    for (const socket of opened) socket.destroy()
    throw error
  }
}

async function open(
  cluster: ConnectableCluster,
  context: SecureContext | undefined,
  opened: Socket[],
): Promise<Socket> {
  const { hostname, port, protocol } = new URL(cluster.server)
  const host = withoutBrackets(hostname)
  const target = { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
  const tunnel =
    cluster.proxyUrl === undefined
      ? undefined
      : await openTunnel(new URL(cluster.proxyUrl), target, opened)
  const tcp = tunnel ?? (await openTcp(target, opened))
  if (protocol !== 'https:') return tcp
  const servername = cluster.tlsServerName ?? (isAddress(host) ? undefined : host)
  const socket = connectTls({
    socket: tcp,
    host,
    ...(servername !== undefined && { servername }),
    ...(context !== undefined && { secureContext: context }),
    ALPNProtocols:
      cluster.onlyHttp1 === true || repeatsHeaders(cluster) ? ['http/1.1'] : ['h2', 'http/1.1'],
    rejectUnauthorized: cluster.skipsTlsVerification !== true,
  })
  opened.push(socket.on('error', noop))
  await once(socket, 'secureConnect')
  return socket
}

/** Over HTTP/2 undici joins the values of a header: two groups would become one with a comma in its name. */
function repeatsHeaders({ impersonation }: ConnectableCluster): boolean {
  if (impersonation === undefined) return false
  return [impersonation.groups, ...Object.values(impersonation.extra)].some(
    (values) => values.length > 1,
  )
}

async function openTcp(
  target: { readonly host: string; readonly port: number },
  opened: Socket[],
): Promise<Socket> {
  const socket = connectTcp({
    ...target,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
  })
  opened.push(socket.on('error', noop))
  await once(socket, 'connect')
  return socket
}

/** A socket between two users has no other listener, and its error would end the process. */
function noop(): void {}

/** @see RFC 9110, section 9.3.6 */
async function openTunnel(
  proxy: URL,
  target: { readonly host: string; readonly port: number },
  opened: Socket[],
): Promise<Socket> {
  const host = withoutBrackets(proxy.hostname)
  const isSecure = proxy.protocol === 'https:'
  let socket = await openTcp({ host, port: Number(proxy.port) || (isSecure ? 443 : 80) }, opened)
  if (isSecure) {
    socket = connectTls({ socket, host, ...(!isAddress(host) && { servername: host }) })
    opened.push(socket.on('error', noop))
    await once(socket, 'secureConnect')
  }
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  const authorization =
    login === ':' ? '' : `Proxy-Authorization: Basic ${Buffer.from(login).toString('base64')}\r\n`
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`)
  const head = await readHead(socket)
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]
  if (status?.startsWith('2') === true) return socket
  throw new Error(`the proxy answered ${status ?? 'without a status'} to CONNECT`)
}

/** Up to the empty line; what follows it is left in the socket. */
async function readHead(socket: Socket): Promise<string> {
  let head = Buffer.alloc(0)
  for (;;) {
    const chunk: unknown = socket.read()
    if (chunk === null) {
      if (socket.readableEnded || socket.destroyed)
        throw new Error('the proxy closed the connection')
      await Promise.race([once(socket, 'readable'), once(socket, 'end'), once(socket, 'close')])
      continue
    }
    head = Buffer.concat([head, chunk as Buffer])
    const end = head.indexOf('\r\n\r\n')
    if (end >= 0) {
      if (head.length > end + 4) socket.unshift(head.subarray(end + 4))
      return head.subarray(0, end).toString('latin1')
    }
    if (head.length > maxProxyAnswerBytes)
      throw new Error('the proxy answered CONNECT with too many headers')
  }
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function isAddress(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host)
}
