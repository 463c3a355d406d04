import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GatewaySettings, startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'

const ui = 'https://ui.example.com'
const regex: GatewaySettings = { services: { deck: { baseUrl: ui } } }
const preflight = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'content-type,x-ratelimit-app',
}

const judged: { rule: string; settings: GatewaySettings; allowed: string[]; refused: string[] }[] =
  [
    {
      rule: 'without a pattern the origin of the web UI alone',
      settings: regex,
      allowed: [ui],
      refused: [
        'http://ui.example.com',
        'https://ui.example.com:8443',
        'https://ui.example.com.evil.org',
        'https://evil.org',
        'https://UI.example.com',
        'null',
        'https://ui.example.com/',
        'https://user@ui.example.com',
        'garbage',
      ],
    },
    {
      rule: 'a pattern of hosts, against the whole host',
      settings: {
        services: { deck: { baseUrl: ui, redirectHostPattern: String.raw`.*\.example\.com` } },
      },
      allowed: ['https://a.example.com', 'http://b.example.com:9000'],
      refused: [
        'https://example.com',
        'https://a.example.com.evil.org',
        'https://a-example.com',
        'null',
      ],
    },
    {
      rule: 'a pattern of origins, against the whole origin and before everything else',
      settings: {
        ...regex,
        cors: { 'allowed-origins-pattern': String.raw`https?://(?:.+\.)?team\.test(?::\d+)?` },
      },
      allowed: ['https://team.test', 'http://x.team.test:8080'],
      refused: [ui, 'https://team.test.evil.org', 'https://evil.org?https://team.test'],
    },
  ]

for (const { rule, settings, allowed, refused } of judged) {
  test(`a page may call with cookies by this rule: ${rule}`, async (t) => {
    const gateway = await startGateway(t, settings)
    for (const origin of [...allowed, ...refused]) {
      const mayCall = allowed.includes(origin)
      for (const [method, path] of [
        ['GET', '/health'],
        ['GET', '/nothing'],
        ['POST', '/tasks'],
      ] as const) {
        const answer = await fetch(gateway + path, { method, headers: { origin } })
        assert.equal(
          answer.headers.get('access-control-allow-origin'),
          mayCall ? origin : '*',
          `${origin} ${path}`,
        )
        assert.equal(answer.headers.get('access-control-allow-credentials'), 'true')
        const exposed = String(answer.headers.get('access-control-expose-headers')).split(', ')
        const read = [
          'X-AUTH-REDIRECT-URL',
          'X-SPINNAKER-REQUEST-ID',
          'ETag',
          'Warning',
          'Retry-After',
          'Link',
          'X-RateLimit-Remaining',
        ]
        assert.deepEqual(
          read.filter((name) => !exposed.includes(name)),
          [],
        )
        assert.match(String(answer.headers.get('vary')), /Origin/)
      }
    }
  })
}

test('a preflight is answered without login or service', async (t) => {
  const orca = await startUpstream(t, {})
  const gateway = await startGateway(t, {
    services: { deck: { baseUrl: ui }, orca: { baseUrl: orca.url } },
    security: { user: { name: 'me', password: 'correct-horse' } },
  })
  for (const path of [
    '/tasks',
    '/credentials',
    '/auth/user',
    '/no/such/path',
    '/pipelines/1/evaluateExpression',
  ]) {
    const answer = await fetch(gateway + path, {
      method: 'OPTIONS',
      headers: { origin: ui, ...preflight },
    })
    assert.equal(answer.status, 200, path)
    assert.equal(await answer.text(), '')
    assert.equal(answer.headers.get('access-control-allow-origin'), ui)
    assert.equal(answer.headers.get('access-control-allow-credentials'), 'true')
    assert.equal(answer.headers.get('access-control-max-age'), '3600')
    assert.equal(
      answer.headers.get('access-control-allow-methods'),
      'POST, GET, OPTIONS, DELETE, PUT, PATCH',
    )
    for (const name of [
      'x-ratelimit-app',
      'content-type',
      'authorization',
      'x-requested-with',
      'x-spinnaker-priority',
      'if-none-match',
    ]) {
      assert.match(
        String(answer.headers.get('access-control-allow-headers')),
        new RegExp(name, 'i'),
      )
    }
    for (const name of [
      'Origin',
      'Access-Control-Request-Method',
      'Access-Control-Request-Headers',
    ]) {
      assert.ok(answer.headers.get('vary')?.includes(name))
    }
    assert.equal(answer.headers.get('set-cookie'), null)
  }
  assert.deepEqual(orca.requests, [])
})

test('refusals and redirects carry the CORS headers', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  const open = await startGateway(t, {
    services: { deck: { baseUrl: ui }, clouddriver: { baseUrl: clouddriver.url } },
  })
  const guarded = await startGateway(t, {
    ...regex,
    security: { user: { name: 'me', password: 'correct-horse' } },
  })
  for (const [gateway, status] of [
    [open, 200],
    [guarded, 401],
    [guarded, 302],
  ] as const) {
    const headers = { origin: ui, ...(status === 302 && { 'x-ratelimit-app': 'deck' }) }
    const answer = await fetch(`${gateway}/networks`, { headers, redirect: 'manual' })
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('access-control-allow-origin'), ui)
    assert.match(String(answer.headers.get('vary')), /Origin/)
  }
})

test('without Origin the headers are added with a star', async (t) => {
  const gateway = await startGateway(t, regex)
  const answer = await fetch(`${gateway}/health`)
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
})

test('in list mode other origins are rejected with 403', async (t) => {
  const gateway = await startGateway(t, {
    ...regex,
    cors: { 'allow-mode': 'list', 'allowed-origins': [ui, 'https://b.test'] },
  })
  for (const origin of [ui, 'https://b.test', gateway]) {
    assert.equal((await fetch(`${gateway}/health`, { headers: { origin } })).status, 200, origin)
  }
  for (const headers of [
    { origin: 'https://c.test' },
    { origin: 'https://c.test', ...preflight },
  ]) {
    const method = 'access-control-request-method' in headers ? 'OPTIONS' : 'GET'
    const answer = await fetch(`${gateway}/health`, {
      method,
      headers: headers as Record<string, string>,
    })
    assert.equal(answer.status, 403)
    assert.equal(((await answer.json()) as { code: string }).code, 'ORIGIN_REFUSED')
    assert.equal(answer.headers.get('access-control-allow-origin'), null)
  }
  assert.equal((await fetch(`${gateway}/health`)).headers.get('access-control-allow-origin'), null)
})

test('a star in the list lets every page call, without cookies', async (t) => {
  const gateway = await startGateway(t, {
    ...regex,
    cors: { 'allow-mode': 'list', 'allowed-origins': ['*'] },
  })
  const answer = await fetch(`${gateway}/health`, { headers: { origin: 'https://any.test' } })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.equal(answer.headers.get('access-control-allow-credentials'), null)
})
