/** What Fairlead does with services outside the platform for the web UI. */
import { IntegrationLists } from './lists.ts'
import { callProxy, type ProxyRequest } from './proxies.ts'
import type { IntegrationSettings } from './settings.ts'

export type Integrations = ReturnType<typeof createIntegrations>

export function createIntegrations(settings: IntegrationSettings, now: () => number) {
  return {
    lists: new IntegrationLists(settings, now),
    /** Without credentials in the address. */
    proxies: settings.proxies.map(({ id, uri }) => ({ id, uri })),
    /** @throws {GatewayError} as `callProxy` */
    callProxy: (request: ProxyRequest) => callProxy(settings.proxies, request),
  }
}
