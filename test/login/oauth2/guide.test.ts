/** The guide about OAuth 2.0, followed step by step: its configurations are used as they stand, with other addresses. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { parse } from 'yaml'
import { type GatewaySettings, runGateway } from '../../support/gateway.ts'
import { startGithubLike } from '../../support/github-like.ts'
import { blocksOf, readGuide } from '../../support/guide.ts'
import { signingKey, signJwt, startIdentityProvider } from '../../support/identity-provider.ts'
import { Browser } from '../browser.ts'
import { proxyHeaders } from '../support.ts'
import { beginLogin, logIn } from './support.ts'

const guide = readGuide('login-oauth2')
const blocks = blocksOf(guide, 'yaml')
const [current = '', mapping = '', requirements = '', github = '', audience = '', older = ''] =
  blocks

type Tree = Record<string, unknown>

function merge(left: Tree, right: Tree): Tree {
  const merged = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const known = merged[key]
    const isMap = (one: unknown): one is Tree =>
      typeof one === 'object' && one !== null && !Array.isArray(one)
    merged[key] = isMap(known) && isMap(value) ? merge(known, value) : value
  }
  return merged
}

/** Several configurations of the guide in one, with other addresses; the identifier is that of the test's provider. */
function settingsOf(address: string, ...yamls: string[]): GatewaySettings {
  const replaced = yamls.map((yaml) =>
    yaml
      .replaceAll(/https:\/\/(?:idp|github)\.example\.com/g, address)
      .replaceAll('client-id: spinnaker', 'client-id: gw')
      .replaceAll('clientId: spinnaker', 'clientId: gw'),
  )
  return replaced.reduce<Tree>(
    (all, yaml) => merge(all, parse(yaml) as Tree),
    {},
  ) as GatewaySettings
}

const person = {
  sub: 'subject-1',
  email: 'alice@example.com',
  email_verified: true,
  given_name: 'Alice',
  family_name: 'L',
  preferred_username: 'alice',
  groups: ['spinnaker-users', 'dev'],
}

test('the guide has the configurations that are tested here', () => {
  assert.equal(blocks.length, 6)
})

test("the guide's issuer configuration logs in", async (t) => {
  const provider = await startIdentityProvider(t)
  provider.person = person
  const { url } = await runGateway(t, settingsOf(provider.url, current))
  const browser = new Browser(url, proxyHeaders)

  const start = await browser.visit('/login')
  const redirectUri = new URL(start.location ?? '').searchParams.get('redirect_uri')
  assert.ok(guide.includes(`\n${redirectUri}\n`))
  assert.equal((await logIn(browser)).status, 302)

  const { username, firstName, roles } = (await browser.user()) ?? {}
  assert.deepEqual([username, firstName, roles], ['alice@example.com', 'Alice', []])
})

test("the guide's mapping and requirements apply", async (t) => {
  const provider = await startIdentityProvider(t)
  provider.person = person
  const { url } = await runGateway(t, settingsOf(provider.url, current, mapping, requirements))
  const browser = new Browser(url, proxyHeaders)

  assert.equal((await logIn(browser)).status, 302)
  const { username, roles } = (await browser.user()) ?? {}
  assert.deepEqual([username, roles], ['alice', ['spinnaker-users', 'dev']])

  for (const change of [{ groups: ['dev'] }, { email_verified: false }]) {
    provider.person = { ...person, ...change }
    assert.equal((await logIn(new Browser(url, proxyHeaders))).status, 401)
  }
})

test('the configuration for an installation of GitHub lets members in', async (t) => {
  const provider = await startGithubLike(t)
  const { url } = await runGateway(t, settingsOf(provider.url, github))

  const browser = new Browser(url, proxyHeaders)
  assert.equal((await logIn(browser)).status, 302)
  assert.equal((await browser.user())?.['username'], 'al')

  provider.organizations = [['other']]
  assert.equal((await logIn(new Browser(url, proxyHeaders))).status, 401)
})

test('without its provider block the same configuration leads to github.com', async (t) => {
  const settings = parse(github) as {
    spring: { security: { oauth2: { client: { provider?: unknown } } } }
  }
  delete settings.spring.security.oauth2.client.provider
  const { url } = await runGateway(t, settings as unknown as GatewaySettings)

  const start = await new Browser(url, proxyHeaders).visit('/login')

  assert.ok(start.location?.startsWith('https://github.com/login/oauth/authorize?'))
})

test('programs log in with a token for the audience', async (t) => {
  const provider = await startIdentityProvider(t)
  const { url } = await runGateway(t, settingsOf(provider.url, current, audience))
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: provider.url,
    sub: 'ci',
    aud: 'https://gate.example.com',
    exp: now + 60,
    email: 'ci@example.com',
  }
  const ask = async (token: string) => {
    const answer = await new Browser(url, proxyHeaders).visit('/auth/user', {
      headers: { authorization: `Bearer ${token}` },
    })
    return answer.text
  }

  assert.match(await ask(signJwt(claims, signingKey(0))), /"ci@example\.com"/)
  assert.equal(
    await ask(signJwt({ ...claims, aud: 'https://other.example.com' }, signingKey(0))),
    '',
  )
})

test('the legacy configuration of the guide logs in', async (t) => {
  const provider = await startIdentityProvider(t)
  provider.person = person
  const { url } = await runGateway(t, settingsOf(provider.url, older))
  const browser = new Browser(url, proxyHeaders)

  const callback = await beginLogin(browser)
  assert.ok(callback.startsWith('/login?code='))
  assert.equal((await browser.visit(callback)).status, 302)
  assert.equal((await browser.user())?.['username'], 'alice')
})
