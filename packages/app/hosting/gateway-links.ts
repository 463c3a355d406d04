/** The embedded back ends for gateways in other processes: a listener that serves only who shows the key or a certificate. */
import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import http, {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { within } from '@fairlead/base/concurrency/within.ts'
import { Channel } from '@fairlead/base/net/channel.ts'
import { stopAccepting } from '@fairlead/base/runtime/sockets.ts'
import { type BackendListener, backendKeyHeader } from '@fairlead/base/services/backend-place.ts'
import type { BackendState, Metrics } from '@fairlead/base/telemetry/metrics.ts'
import type { FastifyInstance } from 'fastify'

/** What a gateway asks over its link. */
export interface BackendDuties {
  observe(value: null): BackendState | undefined
  ping(value: null): void
}

/** What the back ends tell a gateway over its link. */
export interface GatewayDuties {
  begin(state: LinkBegin): void
  /** Rights may have changed; answered when no decision of before is used any more. */
  permissions(value: null): void
}

export interface LinkBegin {
  readonly version: string
  /** Whether the back ends check permissions. */
  readonly authorization: boolean
}

/** The protocol that a link changes to. */
export const linkProtocol = 'fairlead-link'

/** A gateway that does not answer within this time uses what it knows until its link breaks. */
const noteMs = 2000
/** How long requests may go on when the back ends stop. */
const stopMs = 8000
/** A request that was sent before the gateway knew of the stop has come by then. */
const onItsWayMs = 250
const stopPauseMs = 10
/** A gateway or the way to it is gone when this has passed in silence. */
const silenceMs = 20_000
const refusalPauseMs = 10_000
const maxHeaderSize = 128 * 1024
const refusal = JSON.stringify({
  status: 401,
  message: 'Fairlead serves its back ends to gateways that show backends.key alone.',
})

type GatewayLink = Channel<BackendDuties, GatewayDuties>

interface LinkOptions {
  readonly listener: BackendListener
  readonly begin: LinkBegin
  readonly observe: () => BackendState
  /** When the lease ends unless it is renewed, in milliseconds since the epoch. */
  readonly leaseEnd?: Float64Array
}

export interface GatewayLinks {
  /** Where it listens. */
  readonly address: string
  /** Resolves when every gateway knows that rights may have changed. Never fails. */
  notePermissions(): Promise<void>
  /** Accepts no more connections, and resolves when requests on open ones are over or have had their time. */
  close(): Promise<void>
}

/** @param server Ready to answer @throws {Error} of the system, when the address cannot be listened on */
export async function openGatewayLinks(
  server: FastifyInstance,
  { listener, begin, observe, leaseEnd }: LinkOptions,
): Promise<GatewayLinks> {
  const { key, tls, address, port } = listener
  const links = new Map<GatewayLink, Duplex>()
  const requests = new RunningRequests()
  const refuse = createRefusal(server)
  const probes = createProbes(begin.version, observe)
  const own = createListener((request, response) => {
    const probe = probes[request.url ?? '']
    // A process that was suspended finds its lease over before it finds its timers.
    const isOver = leaseEnd !== undefined && Date.now() > (leaseEnd[0] ?? 0)
    if (isOver) response.writeHead(503, { connection: 'close' }).end()
    else if (probe !== undefined) void probe(response)
    else if (isAdmitted(request, key)) {
      requests.add(response)
      server.routing(request, response)
    } else {
      refuse(request)
      response.writeHead(401, { 'content-type': 'application/json' }).end(refusal)
    }
  }, tls)
  own.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => {})
    if (isAdmitted(request, key) && request.headers.upgrade === linkProtocol) {
      const link = openLink(socket, { begin, observe })
      links.set(link, socket)
      socket.once('close', () => links.delete(link))
    } else {
      refuse(request)
      socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n')
    }
  })
  own.listen(port, address)
  await once(own, 'listening')
  return {
    address: describeAddress(own, tls !== undefined),
    notePermissions: async () => {
      await Promise.all(
        links.keys().map((link) =>
          within(
            noteMs,
            link.ask('permissions', null).catch(() => {}),
          ),
        ),
      )
    },
    close: async () => {
      stopAccepting(own)
      for (const socket of links.values()) socket.destroy()
      await requests.end()
      // What is left are idle connections, and streams, which gateways open again.
      own.closeAllConnections()
    },
  }
}

/** Without key, as those of gateways. */
function createProbes(
  version: string,
  observe: () => BackendState,
): Record<string, (response: ServerResponse) => unknown> {
  let metrics: Metrics | undefined
  return {
    '/livez': (response) => response.writeHead(204).end(),
    '/health': (response) => {
      const { lease, copiedUntil } = observe()
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ status: 'UP', lease, copiedUntil }))
    },
    '/metrics': async (response) => {
      metrics ??= await openMetrics(version, observe)
      const { contentType, text } = await metrics.print()
      response.writeHead(200, { 'content-type': contentType }).end(text)
    },
  }
}

/** Loaded for the first scrape only. */
async function openMetrics(version: string, observe: () => BackendState): Promise<Metrics> {
  const library = await import('@fairlead/base/telemetry/metrics.ts')
  const metrics = new library.Metrics(version)
  metrics.watch({ embedded: { isListening: () => true, observe: async () => observe() } })
  return metrics
}

function openLink(
  socket: Socket,
  { begin, observe }: Pick<LinkOptions, 'begin' | 'observe'>,
): GatewayLink {
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${linkProtocol}\r\n\r\n`,
  )
  socket.setTimeout(silenceMs, () => socket.destroy())
  const link: GatewayLink = new Channel(socket, { observe, ping: () => {} })
  link.tell('begin', begin)
  return link
}

class RunningRequests {
  readonly #responses = new Set<ServerResponse>()
  #latestMs = Number.NEGATIVE_INFINITY
  #isEnding = false

  add(response: ServerResponse): void {
    this.#latestMs = performance.now()
    this.#responses.add(response)
    response.once('close', () => this.#responses.delete(response))
    if (this.#isEnding) response.setHeader('connection', 'close')
  }

  /** Resolves when all are answered, and none is on its way on a connection that was idle. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.#latestMs = performance.now()
    for (const endMs = this.#latestMs + stopMs; this.#isBusy() && performance.now() < endMs; )
      await pause(stopPauseMs)
  }

  #isBusy(): boolean {
    return (
      performance.now() - this.#latestMs < onItsWayMs ||
      [...this.#responses].some(({ headersSent }) => !headersSent)
    )
  }
}

function createListener(answer: RequestListener, tls: BackendListener['tls']): Server {
  if (tls === undefined) return http.createServer({ maxHeaderSize }, answer)
  const demandsCertificate = tls.ca !== undefined
  return https.createServer(
    {
      ...tls,
      maxHeaderSize,
      requestCert: demandsCertificate,
      rejectUnauthorized: demandsCertificate,
      minVersion: 'TLSv1.2',
    },
    answer,
  )
}

/** Without a key, the handshake has admitted the client. */
function isAdmitted({ headers }: IncomingMessage, key: string | undefined): boolean {
  if (key === undefined) return true
  const shown = headers[backendKeyHeader]
  if (typeof shown !== 'string') return false
  const [wanted, given] = [Buffer.from(key), Buffer.from(shown)]
  return wanted.length === given.length && timingSafeEqual(wanted, given)
}

/** Clients that try all the time do not fill the log. */
function createRefusal({ log }: FastifyInstance): (request: IncomingMessage) => void {
  let lastMs = Number.NEGATIVE_INFINITY
  return ({ socket }) => {
    const nowMs = performance.now()
    if (nowMs - lastMs < refusalPauseMs) return
    lastMs = nowMs
    log.warn(
      { address: socket.remoteAddress },
      'a client without the key of the back ends was refused; give gateways the same backends.key',
    )
  }
}

function describeAddress(server: Server, isTls: boolean): string {
  const { address, port, family } = server.address() as AddressInfo
  return `${isTls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
