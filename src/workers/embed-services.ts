/** Start of the embedded back ends as the configuration wants them. */
import { type EmbeddedOptions, type EmbeddedThread, startEmbedded } from '../backends/hosting/embedded.ts'
import type { Config } from '../config/config.ts'

interface EmbeddingOptions extends Omit<EmbeddedOptions, 'dataDir' | 'embedded' | 'serviceTls' | 'settings' | 'traces'> {
  readonly config: Config
  readonly version: string
}

/** Starts the worker of the embedded back ends, if there are any. */
export function embedServices({ config, version, ...options }: EmbeddingOptions): EmbeddedThread | undefined {
  const { services } = options
  const embedded = Object.values(services).flatMap((address) => (address.kind === 'embedded' ? [address.service] : []))
  if (embedded.length === 0) return undefined
  const { dataDir, ...backends } = config.backends
  // Without logins there are no permission checks, here as in the gateway.
  const authorization = services.fiat !== undefined && !config.login.anonymous
  const { maxBytes, maxValues } = config.http.bodies.known
  return startEmbedded({
    ...options,
    dataDir,
    embedded,
    serviceTls: config.upstreams.okHttpClient.tls,
    settings: { ...backends, authorization, bodies: { maxBytes, maxValues }, version },
    traces: config.telemetry.tracing !== undefined,
  })
}
