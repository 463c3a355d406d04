/** Connections that the accounts of one API server share: what they log in with is a header. */
import { type ConnectionsOptions, ServerConnections } from './connections.ts'

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
  lease(options: ConnectionsOptions, certificate: unknown): LeasedConnections {
    const { cluster, connectTimeoutMs, pingMs } = options
    const { server, certificateAuthority, tlsServerName, skipsTlsVerification, proxyUrl, impersonation } = cluster
    const parts = [new URL(server).origin, certificateAuthority, tlsServerName, skipsTlsVerification, proxyUrl, impersonation]
    const key = JSON.stringify([...parts, certificate, connectTimeoutMs, pingMs])
    const shared = this.#shared.getOrInsertComputed(key, () => ({ connections: new ServerConnections(options), users: 0 }))
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
