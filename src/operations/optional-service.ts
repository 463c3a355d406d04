/** Optional services, whose endpoints are missing while they are switched off. */
import { GatewayError } from '../errors.ts'
import type { ServiceName } from '../services/services.ts'
import type { Operation } from './operation.ts'
import type { Platform } from './platform.ts'

const capabilities: Readonly<Partial<Record<ServiceName, string>>> = {
  keel: 'Managed delivery',
  kayenta: 'Canary analysis',
  mine: 'First-generation canary analysis',
  swabbie: 'The clean-up of unused resources',
}

export function checkServicePresent(platform: Platform, service: ServiceName): void {
  if (platform.upstreams.isEnabled(service)) return
  const message =
    `${capabilities[service] ?? 'This'} needs the service ${service}, which is switched off. ` +
    `Set services.${service}.baseUrl (and services.${service}.enabled: true) to use it.`
  // Clients of GraphQL, which keel has, look for nothing else.
  throw new GatewayError('NOT_FOUND', message, { fields: { errors: [{ message }] } })
}

/**
 * Operations of an optional service. Those without `forward` or `handle` are forwarded to their path without the prefix; those without
 * `whenDisabled` are missing while the service is switched off.
 */
export function ofOptionalService(service: ServiceName, prefix: string, operations: readonly Operation[]): Operation[] {
  return operations.map((operation) => ({
    ...(operation.handle === undefined && { forward: { service, path: operation.path.slice(prefix.length) } }),
    ...(!('whenDisabled' in operation) && { missingWhenDisabled: true }),
    ...operation,
  }))
}
