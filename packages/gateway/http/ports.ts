/** All ports of a gateway: how they are made, start, drain and end. */
import type { RequestListener, Server } from 'node:http'
import type { Keep } from '@fairlead/base/concurrency/open-parts.ts'
import { readDescriptorLimit } from '@fairlead/base/runtime/descriptor-limit.ts'
import type { TlsFiles } from '@fairlead/base/tls/tls-files.ts'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import {
  ClientConnections,
  type ConnectionTimes,
  connectionTimes,
  reservedConnections,
} from './connections.ts'
import {
  createEncryptedServer,
  createExtraListeners,
  createPlainServer,
  listenOn,
  type ServerOptions,
} from './listeners.ts'
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
  const { maxConnectionsPerAddress: maxPerAddress, maxConnections = defaultMaxConnections() } =
    settings
  const overload = keep(createOverload(options))
  const times = { ...connectionTimes, ...options.times }
  const connections = new ClientConnections({
    times,
    writeTimeoutMs,
    maxUnreadBytes,
    maxPerAddress,
    maxConnections,
    overload,
    log,
  })
  const serverOptions: ServerOptions = {
    maxHeaderBytes,
    connections,
    onCertificateRefused: options.onCertificateRefused,
  }
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
    const main = {
      kind: 'main' as const,
      address: listeners.mainTls ? address.replace(/^http:/, 'https:') : address,
    }
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
        ? log.warn(
            'overloaded: requests that wait too long are rejected, those of low priority first',
          )
        : log.info('no longer overloaded: every request is served'),
  })
}

interface ListeningFault {
  readonly code: string | undefined
  readonly address: string | undefined
  readonly port: number | undefined
  readonly key: string
}

export function portSettings({
  port,
  listeners,
}: Pick<HttpSettings, 'port' | 'listeners'>): [key: string, port: number][] {
  const ports: [string, number | undefined][] = [
    ['server.port (SERVER_PORT)', port],
    ['default.apiPort', listeners.apiPort],
    ['default.legacyServerPort', listeners.legacyPort],
    ['management.server.port', listeners.managementPort],
  ]
  return ports.flatMap(([key, number]) =>
    number === undefined || number === 0 ? [] : [[key, number]],
  )
}

export function explainListeningFault({ code, address, port, key }: ListeningFault): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use. Stop what listens there, or set ${key}.`
    case 'EACCES':
      return `This user may not listen on port ${port}. Set ${key} to a number above 1023, or give the process CAP_NET_BIND_SERVICE.`
    case 'EADDRNOTAVAIL':
      return `This machine does not have the address ${address}. Correct server.address.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${address} has no address. Correct server.address.`
    case 'EMFILE':
    case 'ENFILE':
      return `This process has too many open files to listen on ${address}. Raise the limit (ulimit -n, or LimitNOFILE of systemd).`
    default:
      return `Nothing can listen on ${address}:${port} (${code}). Correct server.address or ${key}.`
  }
}

/** Services, stores and files need descriptors, too. */
const shareForClients = 0.75
/** An idle connection takes some 15 KB. */
const mostByDefault = 10_000

export function defaultMaxConnections(descriptorLimit = readDescriptorLimit()): number {
  return Math.max(
    1,
    Math.min(mostByDefault, Math.floor(descriptorLimit * shareForClients) - reservedConnections),
  )
}
