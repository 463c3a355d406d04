/** What the tests of SAML share: a gateway with one identity provider, and a login from start to end. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type GatewayOptions, type GatewaySettings, runGateway } from '../../support/gateway.ts'
import {
  type Answer,
  readRedirect,
  type SamlIdentityProvider,
  startSamlIdentityProvider,
} from '../../support/saml-identity-provider.ts'
import { Browser, type Visit } from '../browser.ts'
import { proxyHeaders, ui } from '../support.ts'

export const consumerPath = '/saml/SSO'

export interface SamlGateway {
  url: string
  dataDir: string
  provider: SamlIdentityProvider
  log: Record<string, unknown>[]
  /** A new browser behind the proxy. */
  open(): Browser
  stop(): Promise<void>
}

/** One registration `SSO`, entity ID `spinnaker`, answers at `/saml/SSO`. */
export async function startSaml(
  t: TestContext,
  saml: Record<string, unknown> = {},
  {
    provider,
    settings = {},
    ...options
  }: GatewayOptions & { provider?: SamlIdentityProvider; settings?: GatewaySettings } = {},
): Promise<SamlGateway> {
  const identityProvider = provider ?? (await startSamlIdentityProvider(t))
  const log: Record<string, unknown>[] = []
  const running = await runGateway(
    t,
    {
      server: { 'forward-headers-strategy': 'native' },
      ...settings,
      saml: { enabled: true, metadataUrl: identityProvider.url, issuerId: 'spinnaker', ...saml },
      services: { deck: { baseUrl: ui }, ...settings.services },
    },
    { log: (line) => log.push(line), ...options },
  )
  return {
    ...running,
    provider: identityProvider,
    log,
    open: () => new Browser(running.url, proxyHeaders),
  }
}

/** Starts a login by redirect and gives the identifier of the request. */
export async function startLogin(browser: Browser): Promise<string> {
  const { location } = await browser.visit('/login')
  return readRedirect(location ?? '').id
}

export function post(
  browser: Browser,
  xml: string,
  more: Record<string, string> = {},
  path = consumerPath,
): Promise<Visit> {
  return postRaw(browser, { SAMLResponse: Buffer.from(xml).toString('base64'), ...more }, path)
}

/** As a browser does it: from another site, for a page. */
export function postRaw(
  browser: Browser,
  fields: Record<string, string>,
  path = consumerPath,
): Promise<Visit> {
  return browser.visit(path, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: {
      accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
      origin: 'https://idp.example.com',
    },
  })
}

/** The whole way: request, answer, and the visit that the answer ends with. */
export async function login(
  gateway: SamlGateway,
  browser: Browser,
  answer: Answer = {},
): Promise<Visit> {
  const inResponseTo = await startLogin(browser)
  return post(browser, gateway.provider.answer({ inResponseTo, ...answer }))
}

/** Reasons of refused logins, in order. */
export function reasonsOf({ log }: SamlGateway): string[] {
  return log.flatMap((line) => (typeof line['reason'] === 'string' ? [line['reason']] : []))
}

/** A folder with these files, which is gone after the test. */
export function writeFiles(
  t: TestContext,
  files: Readonly<Record<string, string | Buffer>>,
): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-saml-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}
