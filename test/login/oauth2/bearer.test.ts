/** Bearer tokens of programs: judged by the provider, or by its keys, and turned into a session only where one asks for it. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import test from 'node:test'
import {
  clientId,
  encode,
  type IdentityProvider,
  type Json,
  signingKey,
  signJwt,
  signWithSecret,
  startIdentityProvider,
  toJwk,
} from '../../support/identity-provider.ts'
import { Reply, silence, startUpstream } from '../../support/upstream.ts'
import { currentSettings, logIn, olderSettings, startOAuth2 } from './support.ts'

const good = { authorization: 'Bearer access-token-1' }
const bad = { authorization: 'Bearer wrong' }

test('auth-scenario 186: an accepted token works without a session', async (t) => {
  const provider = await startIdentityProvider(t)
  const clouddriver = await startUpstream(t, { 'GET /credentials': [] })
  const settings = {
    ...currentSettings(provider),
    services: { clouddriver: { baseUrl: clouddriver.url } },
  }
  const gateway = await startOAuth2(t, settings)
  const program = gateway.open()

  const answer = await program.visit('/credentials', { headers: good })

  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.cookies, [])
  assert.equal(provider.requestsTo('/userinfo')[0]?.headers.authorization, good.authorization)
  const user = JSON.parse((await program.visit('/auth/user', { headers: good })).text) as Json
  assert.equal(user['username'], 'a@x.io')
  assert.equal(program.session, undefined)
})

test('auth-scenario 77: a hundred requests ask the provider once', async (t) => {
  const provider = await startIdentityProvider(t)
  let time = Date.now()
  const gateway = await startOAuth2(t, currentSettings(provider), { now: () => time })
  const ask = () => gateway.open().visit('/auth/user', { headers: good })

  const answers = await Promise.all(Array.from({ length: 100 }, ask))
  assert.ok(answers.every(({ text, cookies }) => text.includes('a@x.io') && cookies.length === 0))
  assert.equal(provider.requestsTo('/userinfo').length, 1)

  time += 60_000
  provider.faults = { userInfo: () => new Reply(401) }
  assert.equal((await ask()).text, '')
})

for (const path of ['/login', '/login/oauth2/code/corp', '/login/oauth2/code/google']) {
  test(`auth-scenario 187, 188: a good token at ${path} opens a session`, async (t) => {
    const provider = await startIdentityProvider(t)
    const program = (await startOAuth2(t, currentSettings(provider))).open()

    const answer = await program.visit(path, { headers: good })

    assert.equal(answer.status, 302, answer.text)
    assert.equal(answer.location, 'https://gate.example.com/')
    assert.equal((await program.user())?.['username'], 'a@x.io')
  })
}

test('auth-scenario 189: a rejected token is 401 with a challenge', async (t) => {
  const provider = await startIdentityProvider(t)
  const program = (await startOAuth2(t, currentSettings(provider))).open()

  for (const path of ['/credentials', '/login', '/login/oauth2/code/corp']) {
    const answer = await program.ask(path, { headers: bad })
    assert.equal(answer.status, 401, path)
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/)
    assert.equal((JSON.parse(answer.text) as Json)['status'], 401)
    assert.deepEqual(answer.cookies, [])
  }
  const open = await program.visit('/auth/user', { headers: bad })
  assert.deepEqual([open.status, open.text], [200, ''])
})

test('auth-scenario 190: a silent provider costs the timeouts only', {
  timeout: 300_000,
}, async (t) => {
  const provider = await startIdentityProvider(t, { userInfo: () => silence })
  const timeouts = { 'connect-timeout-ms': 100, 'read-timeout-ms': 200 }
  const settings = {
    ...currentSettings(provider),
    security: { oauth2: { 'external-auth-token-filter': timeouts } },
  }
  const program = (await startOAuth2(t, settings)).open()

  const answer = await program.visit('/credentials', { headers: good })

  assert.equal(answer.status, 401)
})

test('auth-scenario 191: requirements hold for programs too', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = currentSettings(provider, { beside: { userInfoRequirements: { hd: 'x.io' } } })
  const program = (await startOAuth2(t, settings)).open()

  assert.equal((await program.visit('/credentials', { headers: good })).status, 401)
  provider.person = { ...provider.person, hd: 'x.io' }
  assert.notEqual((await program.visit('/auth/user', { headers: good })).text, '')
})

test('auth-scenario 192: a token in the query is none', async (t) => {
  const provider = await startIdentityProvider(t)
  const program = (await startOAuth2(t, currentSettings(provider))).open()

  const answer = await program.visit('/credentials?access_token=access-token-1')

  assert.equal(answer.location, 'https://gate.example.com/login')
  assert.equal(provider.requestsTo('/userinfo').length, 0)
})

for (const authorization of [
  'Bearer',
  'Bearer ',
  'bearer access-token-1',
  'Bearer a b',
  'Bearer ü',
  `Bearer ${'x'.repeat(15_000)}!`,
]) {
  test(`auth-scenario 193: "${authorization.slice(0, 30)}" is nobody`, async (t) => {
    const provider = await startIdentityProvider(t)
    const program = (await startOAuth2(t, currentSettings(provider))).open()

    const answer = await program.visit('/credentials', { headers: { authorization } })

    assert.ok([302, 401].includes(answer.status), String(answer.status))
    assert.equal(provider.requestsTo('/userinfo').length, 0)
  })
}

test('auth-scenario 193: two Authorization headers are rejected', async (t) => {
  const provider = await startIdentityProvider(t)
  const { url } = await startOAuth2(t, currentSettings(provider))

  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = [
      'host',
      new URL(url).host,
      'authorization',
      good.authorization,
      'authorization',
      'Bearer other',
    ]
    httpRequest(`${url}/credentials`, { headers }, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end()
  })

  assert.equal(status, 400)
  assert.equal(provider.requestsTo('/userinfo').length, 0)
})

test('auth-scenario 194: a session wins over a token', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, currentSettings(provider))).open()
  await logIn(browser)
  provider.person = { ...provider.person, email: 'bob@x.io' }

  const user = JSON.parse((await browser.visit('/auth/user', { headers: good })).text) as Json

  assert.equal(user['username'], 'a@x.io')
})

test('auth-scenario 196, 197: the command line needs a login, or a token', async (t) => {
  const provider = await startIdentityProvider(t)
  const program = (await startOAuth2(t, olderSettings(provider))).open()

  assert.equal((await program.visit('/version')).location, 'https://gate.example.com/login')
  assert.equal((await program.visit('/version', { headers: good })).status, 200)
})

const audience = 'https://gate.example.com'

function settingsWithAudience(provider: IdentityProvider) {
  return {
    ...currentSettings(provider, { beside: { userInfoMapping: { roles: 'groups' } } }),
    security: { oauth2: { 'external-auth-token-filter': { audience: ['other', audience] } } },
  }
}

function accessToken(provider: IdentityProvider, change: Json = {}, header: Json = {}): string {
  const claims = {
    iss: provider.url,
    sub: 'robot',
    aud: audience,
    iat: now(),
    exp: now() + 300,
    email: 'robot@x.io',
    groups: ['ci'],
  }
  return signJwt({ ...claims, ...change }, signingKey(0), { typ: 'at+jwt', ...header })
}

test('a JWT for the audience is verified by signature', async (t) => {
  const provider = await startIdentityProvider(t)
  const program = (await startOAuth2(t, settingsWithAudience(provider))).open()

  const answer = await program.visit('/auth/user', {
    headers: { authorization: `Bearer ${accessToken(provider)}` },
  })

  const user = JSON.parse(answer.text) as Json
  assert.deepEqual([user['username'], user['roles']], ['robot@x.io', ['ci']])
  assert.equal(provider.requestsTo('/userinfo').length, 0)
})

const now = () => Math.floor(Date.now() / 1000)
const refused: [name: string, token: (provider: IdentityProvider) => string][] = [
  ['an opaque token', () => 'access-token-1'],
  ['another audience', (provider) => accessToken(provider, { aud: 'somebody-else' })],
  ['no audience', (provider) => accessToken(provider, { aud: undefined })],
  ['another issuer', (provider) => accessToken(provider, { iss: 'https://evil.example' })],
  ['an expired token', (provider) => accessToken(provider, { exp: now() - 61 })],
  ['a token without end', (provider) => accessToken(provider, { exp: undefined })],
  ['a token of the future', (provider) => accessToken(provider, { nbf: now() + 120 })],
  ['an ID token of the login', (provider) => accessToken(provider, { aud: clientId })],
  [
    'a token of another key',
    (provider) =>
      signJwt({ iss: provider.url, aud: audience, exp: now() + 300, email: 'x' }, signingKey(1)),
  ],
  [
    'a token signed with a secret',
    (provider) =>
      signWithSecret({ iss: provider.url, aud: audience, exp: now() + 300 }, 's3cret', {}),
  ],
  ['a token without signature', (provider) => accessToken(provider, {}, { alg: 'none' })],
  [
    'a token with an altered payload',
    (provider) => withPayload(accessToken(provider), { email: 'admin@x.io' }),
  ],
  [
    'a token that brings its key along',
    (provider) => signedBy(provider, { kid: undefined, jwk: toJwk(signingKey(1)) }),
  ],
  [
    'a token that names where its key is',
    (provider) => signedBy(provider, { jku: `${provider.url}/keys` }),
  ],
  ['a key under a known name', (provider) => signedBy(provider, { kid: signingKey(0).kid })],
  [
    'a critical header that is unknown',
    (provider) => accessToken(provider, {}, { crit: ['x'], x: 1 }),
  ],
  ['a token of five parts', (provider) => `${accessToken(provider)}.x.y`],
  ['a list of issuers', (provider) => accessToken(provider, { iss: [provider.url] })],
  ['an audience within a list', (provider) => accessToken(provider, { aud: [[audience]] })],
  ['an end that is text', (provider) => accessToken(provider, { exp: String(now() + 300) })],
  ['a start that is text', (provider) => accessToken(provider, { nbf: 'now' })],
  [
    'a token that names nobody',
    (provider) => accessToken(provider, { sub: undefined, email: undefined }),
  ],
  ['a reserved name', (provider) => accessToken(provider, { email: '__unrestricted_user__' })],
]

/** Of the provider, except that an attacker has signed it. */
function signedBy(provider: IdentityProvider, header: Json): string {
  return signJwt(
    { iss: provider.url, aud: audience, exp: now() + 300, email: 'admin@x.io' },
    signingKey(1),
    header,
  )
}

function withPayload(token: string, change: Json): string {
  const [header, payload = '', signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Json
  return `${header}.${encode({ ...claims, ...change })}.${signature}`
}

for (const [name, token] of refused) {
  test(`with an audience configured, ${name} is refused`, async (t) => {
    const provider = await startIdentityProvider(t)
    const program = (await startOAuth2(t, settingsWithAudience(provider))).open()

    const answer = await program.visit('/credentials', {
      headers: { authorization: `Bearer ${token(provider)}` },
    })

    assert.equal(answer.status, 401, answer.text)
  })
}

test('a login by token is reported once', async (t) => {
  const provider = await startIdentityProvider(t)
  const view = { name: 'a@x.io', accounts: [], applications: [], roles: [] }
  const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? view : {}))
  const settings = {
    ...currentSettings(provider),
    services: { fiat: { baseUrl: fiat.url, enabled: true } },
  }
  const gateway = await startOAuth2(t, settings)

  for (let call = 0; call < 3; call++) await gateway.open().visit('/auth/user', { headers: good })

  assert.equal(
    [...fiat.background, ...fiat.requests].filter(({ path }) => path.startsWith('/roles/')).length,
    1,
  )
})
