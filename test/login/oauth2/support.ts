/** What the tests of this login share: configurations for a provider, and a browser that goes through a whole login. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import {
  type GatewayOptions,
  type GatewaySettings,
  type RunningGateway,
  runGateway,
} from '../../support/gateway.ts'
import { clientId, clientSecret } from '../../support/identity-provider.ts'
import { Browser, type Visit } from '../browser.ts'
import { proxyHeaders, startPath, ui } from '../support.ts'

/** Keys of early releases. */
export function olderSettings(
  { url }: { url: string },
  parts: Record<string, unknown> = {},
): GatewaySettings {
  const { client, ...others } = parts
  return {
    security: {
      oauth2: {
        client: {
          clientId,
          clientSecret,
          scope: 'email profile',
          userAuthorizationUri: `${url}/authorize`,
          accessTokenUri: `${url}/token`,
          ...(client as object | undefined),
        },
        resource: { userInfoUri: `${url}/userinfo` },
        ...others,
      },
    },
  }
}

export interface CurrentParts {
  registration?: Record<string, unknown>
  provider?: Record<string, unknown>
  /** Beside the registration. */
  beside?: Record<string, unknown>
}

/** Current keys: the registration `corp`, with everything from the issuer. */
export function currentSettings(
  { url }: { url: string },
  parts: CurrentParts = {},
): GatewaySettings {
  const registration = {
    'client-id': clientId,
    'client-secret': clientSecret,
    scope: 'openid,profile,email',
    ...parts.registration,
  }
  const provider = { 'issuer-uri': url, ...parts.provider }
  return {
    spring: {
      security: {
        oauth2: {
          client: {
            registration: { corp: registration, ...parts.beside },
            provider: { corp: provider },
          },
        },
      },
    },
  }
}

export interface OAuth2Gateway extends RunningGateway {
  /** A new browser behind the proxy that ends TLS. */
  open(): Browser
}

/** The gateway behind a proxy, as `https://gate.example.com`. */
export async function startOAuth2(
  t: TestContext,
  settings: GatewaySettings,
  options: GatewayOptions = {},
): Promise<OAuth2Gateway> {
  const running = await runGateway(
    t,
    {
      ...settings,
      server: {
        'forward-headers-strategy': 'native',
        ...(settings['server'] as object | undefined),
      },
      services: { deck: { baseUrl: ui }, ...settings.services },
    },
    options,
  )
  return { ...running, open: () => new Browser(running.url, proxyHeaders) }
}

/** Goes to the login page and on to the provider. @returns the path and query with which the provider sends the browser back */
export async function beginLogin(browser: Browser, path = '/login'): Promise<string> {
  const started = await browser.visit(path)
  assert.equal(started.status, 302, started.text)
  return consent(started.location ?? '')
}

/** The provider's part: whoever comes is logged in there already. */
export async function consent(location: string): Promise<string> {
  const back = await fetch(location, { redirect: 'manual' })
  const { pathname, search } = new URL(back.headers.get('location') ?? '')
  return pathname + search
}

/** The whole way to the callback's answer. */
export async function logIn(
  browser: Browser,
  headers: Record<string, string> = {},
): Promise<Visit> {
  return browser.visit(await beginLogin(browser), { headers })
}

/** Nobody is logged in, and the browser was not sent anywhere. */
export async function assertRefused(browser: Browser, answer: Visit, status = 401): Promise<void> {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.location, null)
  assert.equal(await browser.user(), undefined)
}

export { startPath, ui }
