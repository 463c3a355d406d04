/** The ports of the primary: accepts connections and hands each one to the worker that has the fewest. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PortKind } from '../http/request-state.ts'
import type { HttpSettings } from '../http/settings.ts'
import { maxUnaccepted, takeInput } from '../http/take-input.ts'
import type { AcceptedConnection, WorkerProcess } from './worker-process.ts'

interface Port {
  readonly kind: PortKind
  readonly scheme: 'http' | 'https'
  readonly port: number
}

const confirmMs = 5000
const pollMs = 20

export class Ports {
  readonly #takers: () => readonly WorkerProcess[]
  readonly #servers: Server[] = []
  readonly #waiting: AcceptedConnection[] = []

  constructor(takers: () => readonly WorkerProcess[]) {
    this.#takers = takers
  }

  /** @returns the address of each port, the main one first @throws {Error} as Node, when a port is taken */
  async listen(http: HttpSettings): Promise<{ kind: PortKind; address: string }[]> {
    const addresses = []
    for (const { kind, scheme, port } of portsOf(http)) {
      const bound = await this.#open(kind, http.address, port)
      const name = http.address.includes(':') ? `[${http.address}]` : http.address
      addresses.push({ kind, address: `${scheme}://${name}:${bound}` })
    }
    return addresses
  }

  give(connection: AcceptedConnection): void {
    const taker = this.#takers()
      .filter(({ takesConnections }) => takesConnections)
      .sort(
        (left, right) =>
          Number(left.isSilent) - Number(right.isSilent) ||
          left.unconfirmed - right.unconfirmed ||
          left.openConnections - right.openConnections,
      )[0]
    if (taker !== undefined) taker.take(connection)
    else if (this.#waiting.length < maxUnaccepted) this.#waiting.push(connection)
    else connection.socket.destroy()
  }

  /** A worker has become ready. */
  giveWaiting(): void {
    for (const connection of this.#waiting.splice(0)) this.give(connection)
  }

  /** Accepts what has arrived and no more. Resolves when the workers have it. */
  async close(): Promise<void> {
    await takeInput()
    for (const server of this.#servers) server.close()
    const unconfirmed = () => this.#takers().some((taker) => taker.unconfirmed > 0)
    for (const endMs = performance.now() + confirmMs; unconfirmed() && performance.now() < endMs; ) {
      await sleep(pollMs)
    }
    for (const { socket } of this.#waiting.splice(0)) socket.destroy()
  }

  /** A name such as `localhost` may have an address of each family; the first one decides whether the port is free. */
  async #open(kind: PortKind, host: string, port: number): Promise<number> {
    const found = host === 'localhost' ? (await lookup(host, { all: true })).map(({ address }) => address) : [host]
    const [first = host, ...others] = [...new Set(found)]
    const bound = await this.#listenOn(kind, first, port)
    for (const other of others) await this.#listenOn(kind, other, bound).catch(() => {})
    return bound
  }

  async #listenOn(kind: PortKind, host: string, port: number): Promise<number> {
    // What the workers' own servers would do to a connection that they accept.
    const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
      socket.on('error', () => socket.destroy())
      this.give({ kind, socket })
    })
    await once(server.listen({ host, port, backlog: maxUnaccepted }), 'listening')
    // Out of descriptors: the connection waits until there are some.
    server.on('error', () => {})
    this.#servers.push(server)
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }
}

function portsOf({ port, listeners, tls }: HttpSettings): Port[] {
  const { apiPort, legacyPort, managementPort, mainTls } = listeners
  return [
    { kind: 'main', scheme: mainTls ? 'https' : 'http', port },
    ...(apiPort !== undefined && tls !== undefined ? [{ kind: 'api', scheme: 'https', port: apiPort } as const] : []),
    ...(legacyPort !== undefined ? [{ kind: 'legacy', scheme: 'http', port: legacyPort } as const] : []),
    ...(managementPort !== undefined ? [{ kind: 'management', scheme: 'http', port: managementPort } as const] : []),
  ]
}
