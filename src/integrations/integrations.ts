/** What Fairlead does with services outside the platform for the web UI. */
import { createIntegrationLists, type IntegrationLists } from './lists.ts'
import { callProxy, type ProxyAnswer, type ProxyRequest } from './proxies.ts'
import type { IntegrationSettings } from './settings.ts'

export interface Integrations {
  readonly lists: IntegrationLists
  /** Without credentials in the address. */
  readonly proxies: readonly { readonly id: string; readonly uri: string }[]
  /** @throws {GatewayError} as `callProxy` */
  callProxy(request: ProxyRequest): Promise<ProxyAnswer>
}

export function createIntegrations(settings: IntegrationSettings, now: () => number): Integrations {
  return {
    lists: createIntegrationLists(settings, now),
    proxies: settings.proxies.map(({ id, uri }) => ({ id, uri })),
    callProxy: (request) => callProxy(settings.proxies, request),
  }
}
