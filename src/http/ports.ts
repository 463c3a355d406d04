/** All ports of a gateway: how they are made, start, drain and end. */
import type { RequestListener, Server } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Keep } from '../concurrency/open-parts.ts'
import type { TlsFiles } from '../tls/tls-files.ts'
import { defaultMaxConnections } from './connection-bound.ts'
import { Connections, type ConnectionTimes, connectionTimes } from './connections.ts'
import { createEncryptedServer, createExtraListeners, createPlainServer, listenOn, type ServerOptions } from './listeners.ts'
import { Overload } from './overload.ts'
import type { PortKind } from './request-state.ts'
import type { HttpSettings } from './settings.ts'
import { maxUnaccepted } from './take-input.ts'

interface PortsOptions {
  readonly settings: HttpSettings
  readonly times: Partial<ConnectionTimes> | undefined
  readonly tls: TlsFiles | undefined
  readonly log: FastifyBaseLogger
  readonly keep: Keep
  readonly keptPaths: readonly string[]
  readonly onShed: (reason: 'delay' | 'concurrency') => void
  readonly onCertificateRefused: ServerOptions['onCertificateRefused']
  readonly createServer: (createMainServer: (handler: RequestListener) => Server) => FastifyInstance
}

export interface OpenPorts {
  readonly server: FastifyInstance
  listen(): Promise<readonly { kind: PortKind; address: string }[]>
  drain(): void
}

export function openPorts(options: PortsOptions): OpenPorts {
  const { settings, tls, log, keep } = options
  const { listeners, writeTimeoutMs, maxUnreadBytes, maxHeaderBytes, shutdownGraceMs } = settings
  const { maxConnectionsPerAddress: maxPerAddress, maxConnections = defaultMaxConnections() } = settings
  const overload = keep(createOverload(options))
  const times = { ...connectionTimes, ...options.times }
  const connections = new Connections({ times, writeTimeoutMs, maxUnreadBytes, maxPerAddress, maxConnections, overload, log })
  const serverOptions: ServerOptions = { maxHeaderBytes, connections, onCertificateRefused: options.onCertificateRefused }
  const server = options.createServer((handler) =>
    tls && listeners.mainTls
      ? createEncryptedServer(handler, tls, listeners.clientCertificates, log, serverOptions)
      : createPlainServer(handler, serverOptions),
  )
  const extraListeners = createExtraListeners(server, listeners, tls, log, serverOptions)
  keep({ close: async () => void (await server.close()) })
  keep({ close: () => connections.end(shutdownGraceMs) })

  const listen = async () => {
    const { address: host, port } = settings
    const address = await server.listen({ host, port, backlog: maxUnaccepted })
    // The framework does not know that the server it was given is encrypted.
    const main = { kind: 'main' as const, address: listeners.mainTls ? address.replace(/^http:/, 'https:') : address }
    return [main, ...(await listenOn(extraListeners, host))]
  }

  return {
    server,
    listen,
    drain: () => connections.drain(),
  }
}

function createOverload({ settings, keptPaths, onShed, log }: PortsOptions): Overload {
  return new Overload(settings.overload, {
    keptPaths,
    contextPath: settings.origin.contextPath,
    onShed,
    onChange: (isOverloaded) =>
      isOverloaded
        ? log.warn('overloaded: requests that wait too long are rejected, those of low priority first')
        : log.info('no longer overloaded: every request is served'),
  })
}
