/** What the tests of API tokens share: a gateway with a form, people who log in, and tokens that they create. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openUsers } from '../../../packages/gateway/login/form/users.ts'
import { type GatewayOptions, type GatewaySettings, runGateway } from '../../support/gateway.ts'
import { Browser, type Visit } from '../browser.ts'

const password = 'correct horse'

export interface TokenGateway {
  url: string
  dataDir: string
  /** A browser in which the user is logged in; created on first sight, with roles. */
  logIn(username: string, roles?: readonly string[]): Promise<Browser>
  stop(): Promise<void>
}

/** The administrator is `admin`, with the role of the embedded permission service where that is embedded. */
export async function startWithTokens(
  t: TestContext,
  settings: GatewaySettings = {},
  options: GatewayOptions = {},
): Promise<TokenGateway> {
  const running = await runGateway(
    t,
    {
      'api-tokens': { enabled: true, 'allowed-minting-roles': ['dev'] },
      fairlead: { admin: { password } },
      ...settings,
    },
    options,
  )
  const users = openUsers(running.dataDir)
  t.after(() => users.close())
  return {
    ...running,
    async logIn(username, roles = []) {
      // `find` may remember a user whom the test has just removed.
      if (!users.list().some(({ name }) => name === username))
        await users.add(username, password, roles)
      const browser = new Browser(running.url)
      const answer = await browser.login(username, password)
      assert.equal(answer.status, 302)
      assert.doesNotMatch(answer.location ?? '', /error/)
      return browser
    },
  }
}

export interface Created {
  id: string
  token: string
  [field: string]: unknown
}

export async function createToken(
  browser: Browser,
  body: Record<string, unknown>,
): Promise<Created> {
  const answer = await sendJson(browser, 'POST', '/auth/apiTokens', body)
  assert.equal(answer.status, 201, answer.text)
  return JSON.parse(answer.text) as Created
}

export function sendJson(
  browser: Browser,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Visit> {
  return browser.visit(path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

/** A program without cookies that sends the token. */
export function withToken(url: string, token: string): Browser {
  return new Browser(url, { 'x-spinnaker-token': token })
}
