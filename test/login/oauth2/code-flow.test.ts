/** The way to the provider and back, for configurations of both generations. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { clientId, clientSecret, startIdentityProvider } from '../../support/identity-provider.ts'
import { proxyHeaders } from '../support.ts'
import {
  beginLogin,
  consent,
  currentSettings,
  logIn,
  olderSettings,
  startOAuth2,
  startPath,
} from './support.ts'

const home = 'https://gate.example.com'

function queryOf(location: string | null): URLSearchParams {
  return new URL(location ?? '').searchParams
}

test('auth-scenario 4, 7, 9, 12, 13, 14: the UI goes to the provider and back', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()

  assert.equal(await browser.user(), undefined)
  const entry = await browser.visit(startPath)
  assert.equal(entry.status, 302)
  assert.equal(entry.location, `${home}/login`)
  const before = browser.session

  const start = await browser.visit('/login')
  assert.equal(start.status, 302)
  assert.ok(start.location?.startsWith(`${provider.url}/authorize?`))
  const query = queryOf(start.location)
  assert.equal(query.get('client_id'), clientId)
  assert.equal(query.get('response_type'), 'code')
  assert.ok(query.has('state') && query.has('redirect_uri') && query.has('scope'))

  const back = await browser.visit(await consent(start.location ?? ''))
  assert.equal(back.status, 302)
  assert.equal(back.location, `${home}${startPath}`)
  assert.notEqual(browser.session, before)

  const arrived = await browser.visit(startPath)
  assert.equal(arrived.location, 'https://deck.example.com/#/search')
  const user = await browser.user()
  assert.equal(user?.['username'], 'a@x.io')
  const secrets = Object.keys(user ?? {}).filter((key) =>
    /password|secret|(?:access|id|refresh)_?token$/i.test(key),
  )
  assert.deepEqual(secrets, [])
})

test('auth-scenario 15: attributes of the provider become the fields of the user', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()

  await logIn(browser)

  const user = await browser.user()
  const { username, email, firstName, lastName, roles, allowedAccounts, enabled, isAdmin } =
    user ?? {}
  assert.deepEqual(
    { username, email, firstName, lastName, roles, enabled, isAdmin },
    {
      username: 'a@x.io',
      email: 'a@x.io',
      firstName: 'A',
      lastName: 'B',
      roles: [],
      enabled: true,
      isAdmin: false,
    },
  )
  assert.ok(Array.isArray(allowedAccounts))
})

test('auth-scenario 16, 17: nothing of the tokens and claims shows in rawUser', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, currentSettings(provider))).open()

  await logIn(browser)

  const raw = JSON.parse((await browser.visit('/auth/rawUser')).text) as Record<string, unknown>
  assert.equal(raw['username'], 'a@x.io')
  for (const field of ['attributes', 'claims', 'idToken', 'userInfo', 'isAdmin'])
    assert.ok(!(field in raw), field)
})

test('auth-scenario 57: the page that was asked for is shown after the login', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()

  await browser.visit('/credentials?expand=true')
  const back = await logIn(browser)

  assert.equal(back.location, `${home}/credentials?expand=true`)
})

test('auth-scenario 67: a planted identifier is not adopted', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  browser.plant('SESSION', 'attacker-chosen-value')
  await logIn(browser)
  assert.notEqual(browser.session, 'attacker-chosen-value')
  assert.notEqual(await browser.user(), undefined)
})

test('auth-scenario 68: two browsers of one user have two sessions', async (t) => {
  const provider = await startIdentityProvider(t)
  const gateway = await startOAuth2(t, olderSettings(provider))
  const [one, two] = [gateway.open(), gateway.open()]

  await logIn(one)
  await logIn(two)
  await one.visit('/auth/logout')

  assert.equal(await one.user(), undefined)
  assert.notEqual(await two.user(), undefined)
})

test('auth-scenario 69: logins in two tabs both succeed, the older first', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  const older = await beginLogin(browser)
  const newer = await beginLogin(browser)

  assert.equal((await browser.visit(older)).status, 302)
  assert.equal((await browser.visit(newer)).status, 302)

  assert.notEqual(await browser.user(), undefined)
})

test('of eleven pending logins the first is dropped', async (t) => {
  const provider = await startIdentityProvider(t)
  let time = Date.now()
  const browser = (await startOAuth2(t, olderSettings(provider), { now: () => time })).open()
  const callbacks: string[] = []
  for (let tab = 0; tab < 11; tab++) {
    // Tabs that a browser opens again together.
    time += 100
    callbacks.push(await beginLogin(browser))
  }

  assert.equal((await browser.visit(callbacks[0] ?? '')).status, 401)
  assert.equal((await browser.visit(callbacks[1] ?? '')).status, 302)
  assert.equal((await browser.visit(callbacks[10] ?? '')).status, 302)
})

test('auth-scenario 78: the legacy redirect address is the login page', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()

  const query = queryOf((await browser.visit('/login')).location)

  assert.equal(query.get('redirect_uri'), `${home}/login`)
  assert.equal(query.get('scope'), 'email profile')
  assert.equal(query.get('response_type'), 'code')
})

const places: [
  name: string,
  server: Record<string, unknown>,
  headers: Record<string, string>,
  base: string,
][] = [
  ['behind a balancer that ends TLS', {}, proxyHeaders, home],
  [
    'behind a balancer on an odd port',
    {},
    { ...proxyHeaders, 'x-forwarded-port': '8443' },
    `${home}:8443`,
  ],
  [
    'below a path prefix',
    { servlet: { 'context-path': '/api/v1' } },
    proxyHeaders,
    `${home}/api/v1`,
  ],
]
for (const [name, server, headers, base] of places) {
  test(`the redirect address is right ${name}, in both generations`, async (t) => {
    const provider = await startIdentityProvider(t)
    const older = await startOAuth2(t, { ...olderSettings(provider), server })
    const current = await startOAuth2(t, { ...currentSettings(provider), server })

    const [first, second] = await Promise.all(
      [older, current].map(({ url }) => fetch(`${url}/login`, { headers, redirect: 'manual' })),
    )

    assert.equal(
      queryOf(first?.headers.get('location') ?? null).get('redirect_uri'),
      `${base}/login`,
    )
    assert.equal(
      queryOf(second?.headers.get('location') ?? null).get('redirect_uri'),
      `${base}/login/oauth2/code/corp`,
    )
  })
}

test('auth-scenario 79: a pre-established address is sent in both calls', async (t) => {
  const provider = await startIdentityProvider(t)
  const address = 'https://other.example.com/login'
  const settings = olderSettings(provider, {
    client: { preEstablishedRedirectUri: address, useCurrentUri: false },
  })
  const browser = (await startOAuth2(t, settings)).open()

  assert.equal((await browser.visit('/credentials')).location, address)
  const start = await browser.visit('/login')
  assert.equal(queryOf(start.location).get('redirect_uri'), address)
  assert.equal((await browser.visit(await consent(start.location ?? ''))).status, 302)

  const sent = new URLSearchParams(provider.requestsTo('/token')[0]?.body)
  assert.equal(sent.get('redirect_uri'), address)
})

test('auth-scenario 80: the current redirect address, and the path that starts one registration', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, currentSettings(provider))).open()

  for (const path of ['/login', '/oauth2/authorization/corp']) {
    const start = await browser.visit(path)
    assert.equal(start.status, 302)
    assert.equal(queryOf(start.location).get('redirect_uri'), `${home}/login/oauth2/code/corp`)
  }
  assert.equal((await browser.visit('/oauth2/authorization/other')).status, 404)
})

test('a redirect address may have placeholders', async (t) => {
  const provider = await startIdentityProvider(t)
  const template =
    '{baseScheme}://{baseHost}{basePort}{basePath}/{action}/oauth2/code/{registrationId}'
  const settings = currentSettings(provider, { registration: { 'redirect-uri': template } })
  const browser = (await startOAuth2(t, settings)).open()

  const start = await browser.visit('/login')

  assert.equal(queryOf(start.location).get('redirect_uri'), `${home}/login/oauth2/code/corp`)
})

test('the legacy path serves current registrations', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = currentSettings(provider, {
    registration: { 'redirect-uri': '{baseUrl}/login' },
  })
  const browser = (await startOAuth2(t, settings)).open()

  const callback = await beginLogin(browser)

  assert.ok(callback.startsWith('/login?'))
  assert.equal((await browser.visit(callback)).status, 302)
  assert.notEqual(await browser.user(), undefined)
})

test('auth-scenario 81: a query in the authorization address is kept', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = olderSettings(provider, {
    client: { userAuthorizationUri: `${provider.url}/authorize?resource=https://graph.example` },
  })
  const browser = (await startOAuth2(t, settings)).open()

  const { location } = await browser.visit('/login')

  assert.ok(
    location?.startsWith(
      `${provider.url}/authorize?resource=https://graph.example&response_type=code`,
    ),
    location ?? '',
  )
})

test('auth-scenario 82: the code is exchanged by POST with Basic authentication', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()

  await logIn(browser)

  const [request] = provider.requestsTo('/token')
  const form = new URLSearchParams(request?.body)
  assert.equal(request?.method, 'POST')
  assert.match(request?.headers['content-type'] ?? '', /^application\/x-www-form-urlencoded/)
  assert.equal(request?.headers.accept, 'application/json')
  assert.equal(form.get('grant_type'), 'authorization_code')
  assert.match(form.get('code') ?? '', /^code-/)
  assert.equal(form.get('redirect_uri'), `${home}/login`)
  assert.equal(
    request?.headers.authorization,
    `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
  )
  assert.ok(!form.has('client_secret'))
})

test('client credentials are encoded as in Gate', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = olderSettings(provider, {
    client: { clientId: '1-2.apps_x*', clientSecret: 'a b+c:ü/~' },
  })
  const browser = (await startOAuth2(t, settings)).open()

  await logIn(browser)

  const header = provider.requestsTo('/token')[0]?.headers.authorization ?? ''
  assert.equal(
    Buffer.from(header.slice(6), 'base64').toString(),
    '1-2.apps_x*:a+b%2Bc%3A%C3%BC%2F%7E',
  )
})

for (const scheme of ['form', 'client_secret_post']) {
  test(`auth-scenario 83: with the scheme ${scheme} the client is named in the body`, async (t) => {
    const provider = await startIdentityProvider(t)
    const browser = (
      await startOAuth2(
        t,
        olderSettings(provider, { client: { clientAuthenticationScheme: scheme } }),
      )
    ).open()

    await logIn(browser)

    const [request] = provider.requestsTo('/token')
    const form = new URLSearchParams(request?.body)
    assert.equal(form.get('client_id'), clientId)
    assert.equal(form.get('client_secret'), clientSecret)
    assert.equal(request?.headers.authorization, undefined)
    assert.notEqual(await browser.user(), undefined)
  })
}

test('auth-scenario 84: with the scheme query the client is named in the address', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (
    await startOAuth2(
      t,
      olderSettings(provider, { client: { clientAuthenticationScheme: 'query' } }),
    )
  ).open()

  await logIn(browser)

  const [request] = provider.requestsTo('/token')
  assert.equal(request?.query, `client_id=${clientId}&client_secret=${clientSecret}`)
  assert.equal(request?.headers.authorization, undefined)
  assert.notEqual(await browser.user(), undefined)
})

test('auth-scenario 85: the access token goes to the user-info address and nowhere else', async (t) => {
  const provider = await startIdentityProvider(t)
  const lines: string[] = []
  const gateway = await startOAuth2(t, currentSettings(provider), {
    log: (line) => lines.push(JSON.stringify(line)),
  })
  const browser = gateway.open()

  const back = await logIn(browser)
  const seen = [
    back.text,
    back.location,
    ...back.cookies,
    (await browser.visit('/auth/rawUser')).text,
    ...lines,
  ].join('\n')

  const [request] = provider.requestsTo('/userinfo')
  assert.equal(request?.headers.authorization, 'Bearer access-token-1')
  assert.equal(request?.headers.accept, 'application/json')
  for (const secret of [
    'access-token-1',
    'refresh-token-1',
    clientSecret,
    'of-the-provider',
    'eyJ',
  ]) {
    assert.ok(!seen.includes(secret), secret)
  }
})

for (const [scheme, place] of [
  ['query', 'query'],
  ['form', 'body'],
] as const) {
  test(`the access token is sent in the ${place} if configured`, async (t) => {
    const provider = await startIdentityProvider(t)
    const browser = (
      await startOAuth2(t, olderSettings(provider, { client: { authenticationScheme: scheme } }))
    ).open()

    await logIn(browser)

    const [request] = provider.requestsTo('/userinfo')
    assert.equal(request?.[place], 'access_token=access-token-1')
    assert.notEqual(await browser.user(), undefined)
  })
}

for (const scope of ['profile,email', 'profile email', ['profile', 'email']]) {
  test(`auth-scenario 94: the scope ${JSON.stringify(scope)} is sent with blanks`, async (t) => {
    const provider = await startIdentityProvider(t)
    const browser = (await startOAuth2(t, olderSettings(provider, { client: { scope } }))).open()

    assert.equal(queryOf((await browser.visit('/login')).location).get('scope'), 'profile email')
  })
}

test('auth-scenario 105: each login has its own proof key', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, olderSettings(provider))).open()
  const starts = [await browser.visit('/login'), await browser.visit('/login')]
  for (const { location } of starts) await browser.visit(await consent(location ?? ''))

  const challenges = starts.map(({ location }) => queryOf(location).get('code_challenge'))
  const verifiers = provider
    .requestsTo('/token')
    .map(({ body }) => new URLSearchParams(body).get('code_verifier') ?? '')

  assert.deepEqual(
    starts.map(({ location }) => queryOf(location).get('code_challenge_method')),
    ['S256', 'S256'],
  )
  assert.deepEqual(
    challenges,
    verifiers.map((verifier) => createHash('sha256').update(verifier).digest('base64url')),
  )
  assert.equal(new Set(verifiers).size, 2)
  for (const verifier of verifiers) assert.match(verifier, /^[\w.~-]{43,128}$/)
})

test('the proof key can be switched off', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (
    await startOAuth2(t, currentSettings(provider, { registration: { pkce: false } }))
  ).open()

  const start = await browser.visit('/login')

  assert.ok(!queryOf(start.location).has('code_challenge'))
  assert.equal((await browser.visit(await consent(start.location ?? ''))).status, 302)
})

test('auth-scenario 106, 109: a thousand states and nonces are unique', async (t) => {
  const provider = await startIdentityProvider(t)
  const { url } = await startOAuth2(t, currentSettings(provider))
  const states = new Set<string>()
  const nonces = new Set<string>()

  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { headers } = await fetch(`${url}/login`, { redirect: 'manual' })
        const query = queryOf(headers.get('location'))
        states.add(query.get('state') ?? '')
        nonces.add(query.get('nonce') ?? '')
      }),
    )
  }

  assert.equal(states.size, 1000)
  assert.equal(nonces.size, 1000)
  for (const text of [...states, ...nonces])
    assert.ok(Buffer.from(text, 'base64url').length >= 16, text)
})

test('auth-scenario 110: user information wins over the ID token', async (t) => {
  const provider = await startIdentityProvider(t, {
    claims: (claims) => ({
      ...claims,
      email: 'token@x.io',
      given_name: 'Token',
      groups: ['from-token'],
    }),
    userInfo: ({ sub }) => ({ sub, email: 'info@x.io', family_name: 'Info' }),
  })
  const settings = currentSettings(provider, { beside: { userInfoMapping: { roles: 'groups' } } })
  const browser = (await startOAuth2(t, settings)).open()

  assert.equal((await logIn(browser)).status, 302)

  const user = await browser.user()
  const { username, firstName, lastName, roles } = user ?? {}
  assert.deepEqual(
    [username, firstName, lastName, roles],
    ['info@x.io', 'Token', 'Info', ['from-token']],
  )
})

test('auth-scenario 5, 12: the login page redirects logged-in users', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, currentSettings(provider))).open()
  await logIn(browser)

  const again = await browser.visit('/login')

  assert.equal(again.status, 302)
  assert.equal(again.location, `${home}/`)
  assert.equal((await browser.visit('/')).location, 'https://deck.example.com')
})

test('several registrations are offered on a page, each with its label', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = currentSettings(provider, {
    registration: { 'client-name': 'Corp & <Sons>' },
    beside: {
      second: { 'client-id': 'two', 'client-secret': 'x', provider: 'corp', scope: 'openid' },
    },
  })
  const browser = (await startOAuth2(t, settings)).open()

  const page = await browser.visit('/login')

  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.ok(page.text.includes('Corp &#38; &#60;Sons&#62;'))
  assert.deepEqual(
    [...page.text.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path),
    ['/oauth2/authorization/corp', '/oauth2/authorization/second'],
  )
  const start = await browser.visit('/oauth2/authorization/second')
  assert.equal(queryOf(start.location).get('client_id'), 'two')
})

test('HEAD of the login page starts no login', async (t) => {
  const provider = await startIdentityProvider(t)
  const browser = (await startOAuth2(t, currentSettings(provider))).open()

  const { status, cookies } = await browser.visit('/login', { method: 'HEAD' })

  assert.equal(status, 200)
  assert.deepEqual(cookies, [])
})
