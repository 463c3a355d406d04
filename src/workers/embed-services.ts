/** Start of the embedded back ends as the configuration wants them. */
import type { Logger } from 'pino'
import { type Embedded, type StartThread, startEmbedded } from '../backends/hosting/embedded.ts'
import type { Config } from '../config/config.ts'
import type { ServiceAddress, ServiceName } from '../upstreams/services.ts'

interface EmbeddingOptions {
  config: Config
  log: Logger
  version: string
  startThread?: StartThread | undefined
  services: Partial<Record<ServiceName, ServiceAddress>>
  socketPath: string
  /** See `startEmbedded`. */
  onChanged?: () => void
  onPermissionsChanged?: (version: number) => Promise<void>
}

/** Starts the worker of the embedded back ends, if there are any. */
export function embedServices({ config, log, services, socketPath, ...options }: EmbeddingOptions): Embedded | undefined {
  const embedded = Object.values(services).flatMap((address) => (address.kind === 'embedded' ? [address.service] : []))
  if (embedded.length === 0) return undefined
  const { dataDir, ...backends } = config.backends
  // Without logins there are no permission checks, here as in the gateway.
  const authorization = services.fiat !== undefined && !config.login.anonymous
  const { maxBytes, maxValues } = config.http.bodies.known
  const settings = { ...backends, authorization, bodies: { maxBytes, maxValues }, version: options.version }
  return startEmbedded({
    dataDir,
    socketPath,
    embedded,
    services,
    serviceTls: config.upstreams.okHttpClient.tls,
    settings,
    traces: config.telemetry.tracing !== undefined,
    log,
    startThread: options.startThread,
    onChanged: options.onChanged,
    onPermissionsChanged: options.onPermissionsChanged,
  })
}
