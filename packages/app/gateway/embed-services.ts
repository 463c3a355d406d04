/** Start of the embedded back ends as the configuration wants them. */

import type { ServiceAddress, ServiceName } from '@fairlead/base/services/services.ts'
import type { Config } from '../config/config.ts'
import {
  type Embedded,
  type EmbeddedOptions,
  type EmbeddedThread,
  startEmbedded,
} from '../hosting/embedded.ts'
import { RemoteBackends } from '../hosting/remote-backends.ts'

interface EmbeddingOptions
  extends Omit<
    EmbeddedOptions,
    'dataDir' | 'embedded' | 'services' | 'serviceTls' | 'settings' | 'traces'
  > {
  readonly config: Config
  /** Where every enabled service is. */
  readonly services: Partial<Record<ServiceName, ServiceAddress>>
  readonly version: string
  readonly restoredAt?: number
}

/** The back ends of another process where the configuration names one, else those of this process, if there are any. */
export function connectBackends(
  options: EmbeddingOptions,
): (Embedded & { close(): Promise<void> }) | undefined {
  const { config } = options
  const { remote: place } = config.upstreams.embedded
  if (
    place === undefined ||
    Object.values(options.services).every(({ kind }) => kind === 'external')
  )
    return embedServices(options)
  return new RemoteBackends({
    ...options,
    place,
    tls: config.upstreams.okHttpClient.tls,
    authorization: checksPermissions(options),
  })
}

/** Without logins there are no permission checks, in the back ends as in the gateway. */
function checksPermissions({
  config,
  services,
}: Pick<EmbeddingOptions, 'config' | 'services'>): boolean {
  return services.fiat !== undefined && !config.login.anonymous
}

export function embedServices({
  config,
  version,
  restoredAt,
  ...options
}: EmbeddingOptions): EmbeddedThread | undefined {
  const { services } = options
  const embedded: ServiceName[] = []
  const baseUrls: Partial<Record<ServiceName, string>> = {}
  for (const [service, address] of Object.entries(services) as [ServiceName, ServiceAddress][]) {
    if (address.kind === 'embedded') embedded.push(service)
    else baseUrls[service] = address.baseUrl
  }
  if (embedded.length === 0) return undefined
  const { dataDir, ...backends } = config.backends
  const authorization = checksPermissions({ config, services })
  const { maxBytes, maxValues } = config.http.bodies.known
  return startEmbedded({
    ...options,
    dataDir,
    embedded,
    services: baseUrls,
    serviceTls: config.upstreams.okHttpClient.tls,
    settings: { ...backends, authorization, bodies: { maxBytes, maxValues }, version, restoredAt },
    traces: config.telemetry.tracing !== undefined,
  })
}
