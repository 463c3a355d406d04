/** The connections to one API server: one that all requests share, further ones where it is full, none where nothing is asked. */
import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import type { ClientCertificate } from './cluster-access.ts'
import { type ConnectableCluster, createTlsContext, openSocket } from './connect.ts'
import type { ApiConnection } from './connection.ts'

export interface LeasedConnections extends Pick<ServerConnections, 'give' | 'renew'> {
  /** The last user closes them. */
  release(): Promise<void>
}

interface Shared {
  readonly connections: ServerConnections
  users: number
}

export class SharedConnections {
  readonly #shared = new Map<string, Shared>()

  /** @param options Equal ones share connections; their certificate never changes */
  lease(options: ClusterConnectionsOptions, certificate: unknown): LeasedConnections {
    const { cluster, connectTimeoutMs, pingMs } = options
    const {
      server,
      certificateAuthority,
      tlsServerName,
      skipsTlsVerification,
      proxyUrl,
      impersonation,
    } = cluster
    const parts = [
      new URL(server).origin,
      certificateAuthority,
      tlsServerName,
      skipsTlsVerification,
      proxyUrl,
      impersonation,
    ]
    const key = JSON.stringify([...parts, certificate, connectTimeoutMs, pingMs])
    const shared = this.#shared.getOrInsertComputed(key, () => ({
      connections: new ServerConnections(options),
      users: 0,
    }))
    shared.users++
    return {
      give: (use) => shared.connections.give(use),
      renew: () => shared.connections.renew(),
      release: async () => {
        shared.users--
        if (shared.users > 0) return
        if (this.#shared.get(key) === shared) this.#shared.delete(key)
        await shared.connections.close()
      },
    }
  }
}

/** No connection could be opened: nothing was sent. */
export class ConnectFault extends Error {}

interface ClusterConnectionsOptions {
  readonly cluster: ConnectableCluster
  /** The account's; undefined: none. */
  readonly certificate: () => Promise<ClientCertificate | undefined>
  readonly connectTimeoutMs: number
  /** Each connection is pinged so often; the third ping without any byte in return ends it. */
  readonly pingMs: number
}

interface Watched {
  bytes: number
  misses: number
}

const maxMisses = 3

class ServerConnections {
  readonly #options: ClusterConnectionsOptions
  /** In use or idle; those that take no further requests, too. */
  readonly #open = new Set<ApiConnection>()
  readonly #sockets = new Map<Socket, Watched>()
  readonly #connectOnce = sharedWork(() => this.#connect())
  #context:
    | { readonly certificate: ClientCertificate | undefined; readonly tls: SecureContext }
    | undefined
  #pulse: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ClusterConnectionsOptions) {
    this.#options = options
  }

  /**
   * Calls `use` with a connection that takes another request at once; it must dispatch its request before it returns.
   *
   * @throws {ConnectFault} and what `use` rejects with
   */
  async give<T>(use: (connection: ApiConnection) => Promise<T>): Promise<T> {
    for (;;) {
      if (this.#isClosed) throw new ConnectFault('the client of the API server is closed')
      const free = this.#find((connection) => connection.hasRoom)
      if (free !== undefined) return await this.#use(free, use)
      const fresh = this.#find((connection) => !connection.isRetired && !connection.isSettled)
      if (fresh !== undefined) {
        await fresh.settled
        continue
      }
      await this.#connectOnce()
    }
  }

  /** Requests from now on go over new connections, such as for another certificate. */
  renew(): void {
    for (const connection of this.#open) {
      connection.isRetired = true
      this.#endUnused(connection)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#pulse)
    const open = [...this.#open]
    this.#open.clear()
    await Promise.all(
      open.map((connection) =>
        connection.destroy(new ConnectFault('the client of the API server is closed')),
      ),
    )
  }

  #find(holds: (connection: ApiConnection) => boolean): ApiConnection | undefined {
    for (const connection of this.#open) if (holds(connection)) return connection
    return undefined
  }

  async #use<T>(
    connection: ApiConnection,
    use: (connection: ApiConnection) => Promise<T>,
  ): Promise<T> {
    connection.running++
    try {
      return await use(connection)
    } finally {
      connection.running--
      this.#endUnused(connection)
    }
  }

  #endUnused(connection: ApiConnection): void {
    if (!connection.isRetired || connection.running > 0 || !this.#open.delete(connection)) return
    connection.destroy().catch(() => {})
  }

  async #connect(): Promise<void> {
    // The HTTP client is loaded with the first connection: most installations have no cluster. It comes before the socket, which nothing
    // would listen to meanwhile.
    const { ApiConnection } = await import('./connection.ts')
    const socket = await this.#openSocket()
    const connection = new ApiConnection({
      origin: new URL(this.#options.cluster.server).origin,
      socket,
      open: () => this.#openSocket(),
      pingMs: this.#options.pingMs,
    })
    connection.on('disconnect', () => this.#endUnused(connection))
    this.#open.add(connection)
    if (this.#isClosed) await this.close()
  }

  /** @throws {ConnectFault} */
  async #openSocket(): Promise<Socket> {
    const { cluster, connectTimeoutMs } = this.#options
    let socket: Socket | TLSSocket
    try {
      socket = await openSocket(cluster, await this.#tls(), connectTimeoutMs)
    } catch (error) {
      throw new ConnectFault(`no connection: ${(error as Error).message}`, { cause: error })
    }
    if ('alpnProtocol' in socket && socket.alpnProtocol === 'h2') this.#watch(socket)
    return socket
  }

  async #tls(): Promise<SecureContext | undefined> {
    const { cluster } = this.#options
    const certificate = await this.#options.certificate()
    if (!cluster.server.startsWith('https:')) return undefined
    if (this.#context === undefined || this.#context.certificate !== certificate) {
      this.#context = { certificate, tls: createTlsContext(cluster, certificate) }
    }
    return this.#context.tls
  }

  #watch(socket: Socket): void {
    this.#sockets.set(socket, { bytes: socket.bytesRead, misses: 0 })
    socket.once('close', () => {
      this.#sockets.delete(socket)
      if (this.#sockets.size > 0) return
      clearInterval(this.#pulse)
      this.#pulse = undefined
    })
    this.#pulse ??= setInterval(() => this.#feelPulse(), this.#options.pingMs).unref()
  }

  /** Counts looks and not the time: where this process stood still, what has arrived meanwhile is read before the next look. */
  #feelPulse(): void {
    for (const [socket, watched] of this.#sockets) {
      const { bytesRead } = socket
      watched.misses = bytesRead === watched.bytes ? watched.misses + 1 : 0
      watched.bytes = bytesRead
      if (watched.misses < maxMisses) continue
      socket.destroy(
        Object.assign(new Error('the connection is silent'), { code: 'CONNECTION_SILENT' }),
      )
    }
  }
}
