/** Settings that the login tests share: the one configured user, as in Gate, behind a proxy that ends TLS. */
import type { TestContext } from 'node:test'
import {
  type GatewayOptions,
  type GatewaySettings,
  type RunningGateway,
  runGateway,
} from '../support/gateway.ts'
import { Browser } from './browser.ts'

export const ui = 'https://deck.example.com'
export const gatewayUrl = 'https://gate.example.com'

/** What the proxy adds to each request. */
export const proxyHeaders = {
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'gate.example.com',
  'x-forwarded-port': '443',
}

export const startPath = '/auth/redirect?to=https%3A%2F%2Fdeck.example.com%2F%23%2Fsearch'

export const formSettings: GatewaySettings = {
  security: { basicform: { enabled: true } },
  spring: { security: { user: { name: 'admin', password: 'secret' } } },
  server: { 'forward-headers-strategy': 'native' },
  services: { deck: { baseUrl: ui } },
}

export interface GuardedGateway extends RunningGateway {
  /** A new browser behind the proxy. */
  open(): Browser
}

/** A gateway whose only user is admin with the password secret, unless the settings say otherwise. */
export async function startGuarded(
  t: TestContext,
  settings: GatewaySettings = {},
  options: GatewayOptions = {},
): Promise<GuardedGateway> {
  const merged = {
    ...formSettings,
    ...settings,
    services: { ...formSettings.services, ...settings.services },
  }
  const running = await runGateway(t, merged, options)
  return { ...running, open: () => new Browser(running.url, proxyHeaders) }
}

export function basic(username: string, password: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}
