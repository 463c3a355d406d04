/** Address of each enabled service. */
import { isEmbeddable, type ServiceAddress, type ServiceName, serviceNames } from './services.ts'
import type { ConfiguredUpstreams } from './settings.ts'

/** @param socketPath Of the worker with the embedded back ends */
export function toAddresses(
  upstreams: Pick<ConfiguredUpstreams, 'services'>,
  socketPath: string,
): Partial<Record<ServiceName, ServiceAddress>> {
  const addresses: Partial<Record<ServiceName, ServiceAddress>> = {}
  for (const service of serviceNames) {
    const { kind, baseUrl, baseUrls } = upstreams.services[service]
    if (kind === 'external' && baseUrl !== undefined)
      addresses[service] = { kind, baseUrl, ...(baseUrls.length > 1 && { baseUrls }) }
    if (kind === 'embedded' && isEmbeddable(service)) addresses[service] = { kind, socketPath, service }
  }
  return addresses
}
