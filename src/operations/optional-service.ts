/** Services that an installation may do without: their endpoints do not exist while they are switched off. */
import { GatewayError } from '../errors.ts'
import type { ServiceName } from '../upstreams/services.ts'
import type { Platform } from './platform.ts'

/** @throws {GatewayError} NOT_FOUND, naming the setting that switches the service on */
export function checkServicePresent(platform: Platform, service: ServiceName): void {
  if (platform.upstreams.isEnabled(service)) return
  throw new GatewayError(
    'NOT_FOUND',
    `This needs ${service}, which is switched off. Set services.${service}.baseUrl (and services.${service}.enabled: true) to use it.`,
  )
}
