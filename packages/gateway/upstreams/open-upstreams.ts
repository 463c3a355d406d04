/** Opens the pools to the services as the configuration says: addresses, instances, timeouts and limits. */
import { type ServiceName, serviceNames } from '@fairlead/base/services/services.ts'
import type { toAddresses } from './addresses.ts'
import { toKnownService } from './service-traits.ts'
import type { ConfiguredUpstreams } from './settings.ts'
import type { Shard } from './shards.ts'
import { type UpstreamSurroundings, Upstreams } from './upstreams.ts'

const maxAnswerBytes = 128 * 1024 * 1024

export function openUpstreams(
  { services, okHttpClient }: ConfiguredUpstreams,
  addresses: ReturnType<typeof toAddresses>,
  surroundings: UpstreamSurroundings,
): Upstreams {
  const ofEach = <T>(read: (service: ServiceName) => T) =>
    Object.fromEntries(serviceNames.map((name) => [name, read(name)]))
  return new Upstreams(
    {
      services: addresses,
      shards: ofEach((service) => instancesOf(service, services, okHttpClient.routeClouddriver)),
      bounds: (service) => services[service].bounds,
      maxAnswerBytes,
      ...okHttpClient,
    },
    surroundings,
  )
}

/**
 * Connections for reports to the permission service: logins, logouts and synchronisation may go to an address of their
 * own, and never wait behind questions that stay without answer. Undefined where none does: the service comes back.
 */
export function openLoginUpstreams(
  configured: ConfiguredUpstreams,
  addresses: ReturnType<typeof toAddresses>,
  surroundings: UpstreamSurroundings,
): Upstreams | undefined {
  const baseUrl = configured.services.fiat.config.dynamicEndpoints?.['login']
  if (addresses.fiat === undefined) return undefined
  if (baseUrl !== undefined)
    return openUpstreams(configured, { fiat: { kind: 'external', baseUrl } }, surroundings)
  return toKnownService('fiat', addresses.fiat).traits.comesBack
    ? undefined
    : openUpstreams(configured, { fiat: addresses.fiat }, surroundings)
}

/**
 * Instances of a service beyond its address; of clouddriver only where dynamic routing is on.
 *
 * @see docs/contracts/http.md#choosing-an-instance
 */
function instancesOf(
  service: ServiceName,
  services: ConfiguredUpstreams['services'],
  routeClouddriver: boolean,
): readonly Shard[] {
  const { shards, config, baseUrl } = services[service]
  if (service !== 'clouddriver') return shards
  if (!routeClouddriver) return []
  const byOrigin = Object.entries(config.dynamicEndpoints ?? {}).map(([origin, address]) => ({
    baseUrl: address,
    priority: 2,
    config: { selectorClass: 'ByUserOriginSelector', origin },
  }))
  if (byOrigin.length === 0 || baseUrl === undefined) return shards
  return [{ baseUrl, priority: 1, config: {} }, ...shards, ...byOrigin]
}
