/** What a provider publishes: keys that change, and an issuer that does not answer or names another. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { signingKey, signJwt, startIdentityProvider } from '../../support/identity-provider.ts'
import { Reply } from '../../support/upstream.ts'
import {
  assertRefused,
  beginLogin,
  currentSettings,
  logIn,
  olderSettings,
  startOAuth2,
} from './support.ts'

test('auth-scenario 115: after a change of keys the set is loaded once more', async (t) => {
  const provider = await startIdentityProvider(t)
  const gateway = await startOAuth2(t, currentSettings(provider))
  assert.equal((await logIn(gateway.open())).status, 302)

  provider.keys = [signingKey(1), signingKey(0)]

  assert.equal((await logIn(gateway.open())).status, 302)
  assert.equal((await logIn(gateway.open())).status, 302)
  assert.equal(provider.requestsTo('/jwks').length, 2)
})

test('unknown key names reload the keys at intervals', async (t) => {
  const provider = await startIdentityProvider(t)
  let time = Date.now()
  const gateway = await startOAuth2(t, currentSettings(provider), { now: () => time })
  await logIn(gateway.open())
  provider.faults = {
    idToken: (claims) => signJwt(claims, { ...signingKey(1), kid: 'nobody knows' }),
  }
  provider.now = () => time

  for (let attempt = 0; attempt < 3; attempt++)
    await assertRefused(gateway.open(), await logIn(gateway.open()))
  assert.equal(provider.requestsTo('/jwks').length, 2)

  time += 31_000
  await assertRefused(gateway.open(), await logIn(gateway.open()))
  assert.equal(provider.requestsTo('/jwks').length, 3)
})

test('logins that come at once load the keys once', async (t) => {
  const provider = await startIdentityProvider(t)
  const gateway = await startOAuth2(t, currentSettings(provider))

  const answers = await Promise.all(Array.from({ length: 5 }, () => logIn(gateway.open())))

  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([302]))
  assert.equal(provider.requestsTo('/jwks').length, 1)
})

test('keys are reloaded after an hour', async (t) => {
  const provider = await startIdentityProvider(t)
  let time = Date.now()
  provider.now = () => time
  const gateway = await startOAuth2(t, currentSettings(provider), { now: () => time })
  await logIn(gateway.open())
  provider.keys = [signingKey(1)]
  provider.faults = { idToken: (claims) => signJwt(claims, signingKey(0)) }

  time += 3_600_001

  await assertRefused(gateway.open(), await logIn(gateway.open()))
})

const wrongDocuments: [name: string, change: (document: Record<string, unknown>) => unknown][] = [
  ['another issuer', (document) => ({ ...document, issuer: 'https://evil.example' })],
  [
    'an issuer with a slash more',
    (document) => ({ ...document, issuer: `${document['issuer']}/` }),
  ],
  [
    'an address that is none',
    (document) => ({ ...document, token_endpoint: 'javascript:alert(1)' }),
  ],
]
for (const [name, change] of wrongDocuments) {
  test(`auth-scenario 118: a document of the issuer with ${name} refuses the start`, async (t) => {
    const provider = await startIdentityProvider(t, { metadata: change })

    await assert.rejects(
      startOAuth2(t, currentSettings(provider)),
      /openid-configuration (names|has no usable address)/,
    )
  })
}

test('a silent issuer does not delay the start', async (t) => {
  const provider = await startIdentityProvider(t, { metadata: () => new Reply(503) })
  let time = Date.now()
  provider.now = () => time
  const lines: Record<string, unknown>[] = []
  const gateway = await startOAuth2(t, currentSettings(provider), {
    now: () => time,
    log: (line) => lines.push(line),
  })
  const browser = gateway.open()

  assert.ok(
    lines.some(
      ({ msg, issuer }) => String(msg).includes('issuer cannot be used') && issuer === provider.url,
    ),
  )
  assert.equal((await browser.visit('/readyz')).status, 200)
  const page = await browser.visit('/login', { headers: { accept: 'text/html' } })
  assert.equal(page.status, 503)
  assert.match(page.text, /Try again/)
  await assertRefused(browser, await browser.visit('/login'), 503)

  provider.faults = {}
  time += 5000
  assert.equal((await logIn(browser)).status, 302)
})

test('an absent issuer is not asked at every login', async (t) => {
  const provider = await startIdentityProvider(t, { metadata: () => new Reply(503) })
  const time = Date.now()
  const gateway = await startOAuth2(t, currentSettings(provider), { now: () => time })
  const before = provider.requests.length

  for (let attempt = 0; attempt < 5; attempt++) await gateway.open().visit('/login')

  assert.equal(provider.requests.length, before)
})

test('an issuer below a path is found', async (t) => {
  const provider = await startIdentityProvider(t)
  const issuer = `${provider.url}/realms/corp`
  const asked: string[] = []
  provider.answer = (request) => {
    asked.push(request.path)
    if (request.path !== '/.well-known/oauth-authorization-server/realms/corp')
      return new Reply(404)
    return {
      issuer,
      authorization_endpoint: `${provider.url}/a`,
      token_endpoint: `${provider.url}/t`,
      jwks_uri: `${provider.url}/k`,
    }
  }
  const gateway = await startOAuth2(t, currentSettings({ url: issuer }))

  const start = await gateway.open().visit('/login')

  assert.ok(start.location?.startsWith(`${provider.url}/a?`))
  assert.deepEqual(asked, [
    '/realms/corp/.well-known/openid-configuration',
    '/.well-known/openid-configuration/realms/corp',
    '/.well-known/oauth-authorization-server/realms/corp',
  ])
})

test('what is configured wins over what the issuer publishes', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = currentSettings(provider, {
    provider: { 'authorization-uri': `${provider.url}/authorize?tenant=t` },
  })
  const browser = (await startOAuth2(t, settings)).open()

  assert.match((await browser.visit('/login')).location ?? '', /\/authorize\?tenant=t&/)
  assert.equal((await browser.visit(await beginLogin(browser))).status, 302)
})

test('keys without an issuer verify the signature', async (t) => {
  const provider = await startIdentityProvider(t, {
    claims: (claims) => ({ ...claims, iss: 'https://elsewhere.example' }),
  })
  const { url } = provider
  const explicit = {
    'issuer-uri': undefined,
    'authorization-uri': `${url}/authorize`,
    'token-uri': `${url}/token`,
    'user-info-uri': `${url}/userinfo`,
    'jwk-set-uri': `${url}/jwks`,
  }
  const gateway = await startOAuth2(t, currentSettings(provider, { provider: explicit }))

  assert.equal((await logIn(gateway.open())).status, 302)
  provider.faults = { idToken: (claims) => signJwt(claims, { ...signingKey(1), kid: 'key-0' }) }
  await assertRefused(gateway.open(), await logIn(gateway.open()))
})

test('legacy openid without keys is plain OAuth 2.0', async (t) => {
  const provider = await startIdentityProvider(t, { idToken: () => 'never.looked.at' })
  const browser = (
    await startOAuth2(t, olderSettings(provider, { client: { scope: 'openid email' } }))
  ).open()

  assert.equal((await logIn(browser)).status, 302)
  assert.notEqual(await browser.user(), undefined)
})

test('without user information the ID token names the user', async (t) => {
  const provider = await startIdentityProvider(t, {
    metadata: ({ userinfo_endpoint: _, ...document }) => document,
    claims: (claims) => ({ ...claims, email: 'token@x.io' }),
  })
  const browser = (await startOAuth2(t, currentSettings(provider))).open()

  assert.equal((await logIn(browser)).status, 302)

  assert.equal((await browser.user())?.['username'], 'token@x.io')
  assert.equal(provider.requestsTo('/userinfo').length, 0)
})

test('without user information a bearer token is verified', async (t) => {
  const provider = await startIdentityProvider(t, {
    metadata: ({ userinfo_endpoint: _, ...document }) => document,
  })
  const gateway = await startOAuth2(t, currentSettings(provider))
  const ask = async (change: Record<string, unknown>) => {
    const token = signJwt(
      { ...provider.idTokenClaims(null), email: 'ci@x.io', ...change },
      signingKey(0),
    )
    return (
      await gateway.open().visit('/auth/user', { headers: { authorization: `Bearer ${token}` } })
    ).text
  }

  assert.match(await ask({}), /"ci@x\.io"/)
  assert.equal(await ask({ aud: 'another client' }), '')
})
