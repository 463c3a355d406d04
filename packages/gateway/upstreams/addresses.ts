/** Address of each enabled service. */
import type { RemotePlace } from '@fairlead/base/services/backend-place.ts'
import {
  isEmbeddable,
  type ServiceAddress,
  type ServiceName,
  serviceNames,
} from '@fairlead/base/services/services.ts'
import type { ConfiguredUpstreams } from './settings.ts'

export function toAddresses(
  upstreams: Pick<ConfiguredUpstreams, 'services'>,
  place: string | RemotePlace,
): Partial<Record<ServiceName, ServiceAddress>> {
  const addresses: Partial<Record<ServiceName, ServiceAddress>> = {}
  for (const service of serviceNames) {
    const { kind, baseUrl, baseUrls } = upstreams.services[service]
    if (kind === 'external' && baseUrl !== undefined)
      addresses[service] = { kind, baseUrl, ...(baseUrls.length > 1 && { baseUrls }) }
    if (kind === 'embedded' && isEmbeddable(service)) {
      addresses[service] = {
        kind,
        service,
        ...(typeof place === 'string' ? { socketPath: place } : { remote: place }),
      }
    }
  }
  return addresses
}
