/** API tokens over HTTP: created once, presented by programs, limited, rotated, revoked. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { hashToken, isTokenText } from '../../../packages/gateway/login/tokens/token-text.ts'
import { createClock } from '../../sessions/support.ts'
import { runGateway } from '../../support/gateway.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { Browser } from '../browser.ts'
import { createToken, sendJson, startWithTokens, withToken } from './support.ts'

const dayMs = 86_400_000

test('a created token is shown once and stored hashed', async (t) => {
  const { url, dataDir, logIn } = await startWithTokens(t)
  const browser = await logIn('alice', ['dev'])
  const created = await createToken(browser, { name: '  ci  ' })
  assert.match(created.token, /^spk_[0-9A-Za-z]{47}$/)
  assert.ok(isTokenText(created.token, 'spk_'))
  assert.deepEqual(
    [created['name'], created['principalType'], created['principalId']],
    ['ci', 'USER', 'alice'],
  )

  const listed = await browser.visit('/auth/apiTokens')
  assert.equal((JSON.parse(listed.text) as unknown[]).length, 1)
  assert.ok(!listed.text.includes(created.token))
  const file = ['tokens.db', 'tokens.db-wal']
    .map((name) => readFileSync(join(dataDir, name), 'latin1'))
    .join('')
  assert.ok(file.includes(hashToken(created.token)) && !file.includes(created.token))

  const forms: Record<string, string>[] = [
    { 'x-spinnaker-token': created.token },
    { authorization: `Bearer ${created.token}` },
    { authorization: `bEaReR ${created.token}` },
  ]
  for (const headers of forms) {
    const answer = await new Browser(url).visit('/auth/user', { headers })
    assert.equal((JSON.parse(answer.text) as { username: string }).username, 'alice')
    assert.deepEqual(answer.cookies, [])
  }
})

test('auth-scenario 196: the command line works with a token', async (t) => {
  const { url, logIn } = await startWithTokens(t)
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'cli' })

  assert.equal((await withToken(url, token).visit('/version')).status, 200)
})

test('auth-scenario 198: a wrong token is 401 on protected paths', async (t) => {
  const { url, logIn } = await startWithTokens(t)
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'cli' })
  const mistyped = token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a')
  for (const wrong of [
    'spk_bad',
    mistyped,
    token.toUpperCase(),
    `${token}, ${token}`,
    'x'.repeat(500),
    `spk_${'ab'.repeat(30)}`,
  ]) {
    const answer = await withToken(url, wrong).ask('/credentials')
    const body = JSON.parse(answer.text) as Record<string, unknown>
    assert.deepEqual([answer.status, answer.location, answer.cookies], [401, null, []], wrong)
    assert.deepEqual([body['status'], body['error'], 'path' in body], [401, 'Unauthorized', false])
    assert.deepEqual(await withToken(url, wrong).user(), undefined)
  }
  const bearer = await new Browser(url, { authorization: 'Bearer spk_bad' }).visit('/credentials')
  assert.equal(bearer.status, 401)
})

test('auth-scenario 199: a token wins over a cookie and reaches no service', async (t) => {
  const upstream = await startUpstream(t, { 'GET /networks': {} })
  const { logIn } = await startWithTokens(t, {
    services: { clouddriver: { baseUrl: upstream.url } },
  })
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'cli' })
  const bob = await logIn('bob')

  const answer = await bob.visit('/networks', { headers: { 'x-spinnaker-token': token } })
  await bob.visit('/networks', { headers: { authorization: `Bearer ${token}` } })

  assert.equal(answer.status, 200)
  assert.deepEqual(answer.cookies, [])
  assert.equal(upstream.requests.length, 2)
  for (const { headers } of upstream.requests) {
    assert.equal(headers['x-spinnaker-user'], 'alice')
    assert.ok(!JSON.stringify(headers).includes(token))
  }
  assert.equal((await bob.user())?.['username'], 'bob')
})

test('expired tokens are rejected; use is recorded by the minute', async (t) => {
  const clock = createClock(Date.now())
  const { url, logIn } = await startWithTokens(t, {}, { now: clock.now })
  const { token } = await createToken(await logIn('alice', ['dev']), {
    name: 'short',
    expiresAt: new Date(clock.nowMs + dayMs).toISOString(),
  })
  const lastUse = async () => {
    const [entry] = JSON.parse((await withToken(url, token).visit('/auth/apiTokens')).text) as {
      lastUsedAt: string
    }[]
    return Date.parse(entry?.lastUsedAt ?? '')
  }
  const firstMs = clock.nowMs
  assert.equal(await lastUse(), firstMs)
  clock.nowMs += 59_000
  assert.equal(await lastUse(), firstMs)
  clock.nowMs += 2000
  await lastUse()
  assert.equal(await lastUse(), clock.nowMs)

  clock.nowMs = firstMs + dayMs
  assert.equal((await withToken(url, token).visit('/version')).status, 401)
})

test('an invalid token request is rejected with its reason', async (t) => {
  const { logIn } = await startWithTokens(t)
  const browser = await logIn('alice', ['dev'])
  await createToken(browser, { name: 'taken' })
  const cases: [body: unknown, status: number][] = [
    [{ name: ' ' }, 400],
    [{}, 400],
    [{ name: 'x'.repeat(65) }, 400],
    [{ name: 'two\nlines' }, 400],
    [{ name: 7 }, 400],
    [{ name: 'a', expiresAt: 'tomorrow' }, 400],
    [{ name: 'a', expiresAt: '2001-01-01T00:00:00Z' }, 400],
    [{ name: 'a', expiresAt: new Date(Date.now() + 91 * dayMs).toISOString() }, 400],
    [{ name: 'a', principalType: 'GROUP' }, 400],
    [{ name: 'a', principalId: 'bob' }, 400],
    [{ name: 'a', applications: [] }, 400],
    // It would have been a token without that limit.
    [{ name: 'a', readonly: true }, 400],
    [{ name: 'a', application: ['web'] }, 400],
    [{ name: 'a', operations: ['noSuchOperation'] }, 400],
    [{ name: 'a', principalType: 'SERVICE_ACCOUNT', principalId: 'ci' }, 403],
    [{ name: 'taken' }, 409],
    [[], 400],
  ]
  for (const [body, status] of cases) {
    const answer = await sendJson(browser, 'POST', '/auth/apiTokens', body)
    assert.equal(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`)
  }
  assert.equal((JSON.parse((await browser.visit('/auth/apiTokens')).text) as unknown[]).length, 1)
})

test('the name of an expired token is free again', async (t) => {
  const clock = createClock(Date.now())
  const { logIn } = await startWithTokens(t, {}, { now: clock.now })
  const expiresAt = new Date(clock.nowMs + 1000).toISOString()
  await createToken(await logIn('alice', ['dev']), { name: 'ci', expiresAt })
  clock.nowMs += 1000
  await createToken(await logIn('alice'), { name: 'ci' })
})

test('among as many tokens as there may be, an expired one makes room for its successor alone', async (t) => {
  const clock = createClock(Date.now())
  const { logIn } = await startWithTokens(t, {}, { now: clock.now })
  const alice = await logIn('alice', ['dev'])
  const expiresAt = new Date(clock.nowMs + 1000).toISOString()
  await createToken(alice, { name: 'ci', expiresAt })
  for (let number = 2; number <= 100; number++) await createToken(alice, { name: `ci${number}` })
  clock.nowMs += 1000
  assert.equal((await sendJson(alice, 'POST', '/auth/apiTokens', { name: 'other' })).status, 409)
  await createToken(alice, { name: 'ci' })
  assert.equal((JSON.parse((await alice.visit('/auth/apiTokens')).text) as unknown[]).length, 100)
})

test('only minting roles create their own tokens', async (t) => {
  const { logIn } = await startWithTokens(t)
  const dev = await logIn('alice', ['dev'])
  const other = await logIn('bob', ['ops'])

  const flags = (user: Record<string, unknown> | undefined) => [
    user?.['canMintApiTokens'],
    user?.['maxUserTokenLifetimeDays'],
    user?.['maxServiceAccountTokenLifetimeDays'],
  ]
  assert.deepEqual(flags(await dev.user()), [true, 90, 365])
  assert.deepEqual(flags(await other.user()), [false, 90, 365])
  assert.equal((await sendJson(other, 'POST', '/auth/apiTokens', { name: 'a' })).status, 403)
})

test('only owners and administrators revoke a token', async (t) => {
  const { url, logIn } = await startWithTokens(t)
  const alice = await logIn('alice', ['dev'])
  const { id, token } = await createToken(alice, { name: 'ci' })

  for (const [method, path] of [
    ['GET', '/auth/apiTokens'],
    ['POST', '/auth/apiTokens'],
    ['DELETE', `/auth/apiTokens/${id}`],
  ] as const) {
    assert.equal((await new Browser(url).visit(path, { method })).status, 401, path)
  }
  assert.equal(
    (await (await logIn('bob')).visit(`/auth/apiTokens/${id}`, { method: 'DELETE' })).status,
    403,
  )
  assert.equal((await alice.visit('/auth/apiTokens/unknown', { method: 'DELETE' })).status, 404)
  assert.equal((await withToken(url, token).visit('/version')).status, 200)

  assert.equal((await alice.visit(`/auth/apiTokens/${id}`, { method: 'DELETE' })).status, 204)
  assert.equal((await withToken(url, token).visit('/version')).status, 401)
})

test('a token creates no other token, and handles none but itself', async (t) => {
  const { url, logIn } = await startWithTokens(t)
  const alice = await logIn('alice', ['dev'])
  const first = await createToken(alice, { name: 'first' })
  const second = await createToken(alice, { name: 'second' })
  const program = withToken(url, first.token)

  assert.equal((await sendJson(program, 'POST', '/auth/apiTokens', { name: 'third' })).status, 403)
  assert.equal((await program.user())?.['canMintApiTokens'], false)
  assert.equal(
    (await program.visit(`/auth/apiTokens/${second.id}`, { method: 'DELETE' })).status,
    403,
  )
  assert.equal(
    (await program.visit(`/auth/apiTokens/${second.id}/rotate`, { method: 'POST' })).status,
    403,
  )
  assert.equal(
    (await program.visit(`/auth/apiTokens/${first.id}`, { method: 'DELETE' })).status,
    204,
  )
})

test('after a rotation both secrets work for a while', async (t) => {
  const clock = createClock(Date.now())
  const { url, logIn } = await startWithTokens(t, {}, { now: clock.now })
  const startMs = clock.nowMs
  const alice = await logIn('alice', ['dev'])
  const expiresAt = new Date(startMs + 10 * dayMs).toISOString()
  const { id, token: first } = await createToken(alice, { name: 'ci', expiresAt })
  const rotate = async (by: Browser, body?: unknown) => {
    const answer = await sendJson(by, 'POST', `/auth/apiTokens/${id}/rotate`, body)
    assert.equal(answer.status, 200, answer.text)
    return JSON.parse(answer.text) as { token: string; expiresAt: string }
  }
  const status = async (token: string) => (await withToken(url, token).visit('/version')).status

  clock.nowMs += dayMs
  const second = await rotate(withToken(url, first), { overlapSeconds: 60 })
  assert.equal(second.expiresAt, expiresAt)
  assert.deepEqual([await status(first), await status(second.token)], [200, 200])
  clock.nowMs += 60_000
  assert.deepEqual([await status(first), await status(second.token)], [401, 200])

  const third = await rotate(await logIn('alice'), { overlapSeconds: 0 })
  assert.ok(Date.parse(third.expiresAt) > Date.parse(expiresAt) - dayMs)
  assert.deepEqual([await status(second.token), await status(third.token)], [401, 200])

  const fourth = await rotate(await logIn('alice'))
  clock.nowMs += dayMs - 1
  assert.deepEqual([await status(third.token), await status(fourth.token)], [200, 200])
  clock.nowMs += 1
  assert.equal(await status(third.token), 401)
})

test('a read-only token reads and evaluates expressions', async (t) => {
  const upstream = await startUpstream(t, () => ({ result: 1 }))
  const services = {
    orca: { baseUrl: upstream.url },
    clouddriver: { baseUrl: upstream.url },
    swabbie: { baseUrl: upstream.url },
  }
  const { url, logIn } = await startWithTokens(t, { services })
  const { token } = await createToken(await logIn('alice', ['dev']), {
    name: 'viewer',
    readOnly: true,
  })
  const program = withToken(url, token)
  const allowed = [
    'GET /networks',
    'HEAD /networks',
    'GET /tasks/1',
    'POST /pipelines/1/evaluateExpression?expression=1',
  ]
  const refused = [
    'POST /tasks',
    'PUT /tasks/1/cancel',
    'DELETE /pipelines/1',
    'GET /cleanup/resources/a/b/optOut',
    'PATCH /pipelines/1/stages/2',
  ]
  for (const line of allowed) {
    const [method, path] = line.split(' ') as [string, string]
    assert.equal((await program.visit(path, { method })).status, 200, line)
  }
  upstream.answer({})
  for (const line of refused) {
    const [method, path] = line.split(' ') as [string, string]
    const answer = await program.visit(path, { method })
    assert.equal(answer.status, 403, line)
    assert.match(answer.text, /may only read/)
  }
  assert.deepEqual(upstream.requests, [])
})

test('a token for some operations also shows its user', async (t) => {
  const upstream = await startUpstream(t, () => [])
  const { url, logIn } = await startWithTokens(t, {
    services: { clouddriver: { baseUrl: upstream.url } },
  })
  const { token } = await createToken(await logIn('alice', ['dev']), {
    name: 'one',
    operations: ['subnetsUsingGET'],
  })
  const program = withToken(url, token)

  assert.equal((await program.user())?.['username'], 'alice')
  assert.equal((await program.visit('/version')).status, 200)
  assert.equal((await program.visit('/subnets')).status, 200)
  const refused = await program.visit('/credentials')
  assert.equal(refused.status, 403)
  assert.match(refused.text, /not among those/)
})

test('without API tokens the header is ignored', async (t) => {
  const { url, logIn } = await startWithTokens(t, { 'api-tokens': { enabled: false } })
  const browser = await logIn('alice')

  const answer = await browser.visit('/auth/apiTokens')
  assert.deepEqual([answer.status, answer.text.includes('api-tokens.enabled')], [404, true])
  assert.equal((await browser.user())?.['canMintApiTokens'], false)
  assert.ok(!('maxUserTokenLifetimeDays' in ((await browser.user()) ?? {})))
  assert.equal((await withToken(url, 'spk_x').visit('/version')).status, 302)
})

test('tokens lose the rights that their user loses', async (t) => {
  const fiat = await startUpstream(t, (request) =>
    request.method === 'GET'
      ? { name: 'alice', admin: false, roles: [], applications: [], accounts: [] }
      : {},
  )
  const { url, dataDir, logIn } = await startWithTokens(t, {
    'api-tokens': { enabled: true, 'allowed-minting-roles': [] },
    services: { fiat: { enabled: true, baseUrl: fiat.url } },
  })
  const { openUsers } = await import('../../../packages/gateway/login/form/users.ts')
  const { openTokens } = await import('../../../packages/gateway/login/tokens/tokens.ts')
  await logIn('alice', ['dev'])
  const { default: pino } = await import('pino')
  const { toTokenSettings, tokenKeys } = await import(
    '../../../packages/gateway/login/tokens/settings.ts'
  )
  const report = { problem: () => {}, notice: () => {}, isSet: () => false }
  const settings = toTokenSettings(
    tokenKeys.read(tokenKeys.keys.parse({ 'api-tokens.enabled': true })),
    report,
    {
      standalone: false,
      anonymous: false,
    },
  )
  assert.ok(settings)
  const users = openUsers(dataDir)
  t.after(() => users.close())
  const eraOf = (name: string) => users.find(name)?.tokenEra
  const tokens = openTokens({ settings, dataDir, log: pino({ level: 'silent' }), eraOf })
  t.after(() => tokens.close())
  const { text } = await tokens.create({
    name: 'ci',
    principal: { type: 'USER', id: 'alice' },
    method: 'form',
    createdBy: 'operator',
    limits: { readOnly: false, applications: undefined, operations: undefined },
  })
  const reported = () =>
    fiat.background.filter(({ method }) => method === 'PUT').map(({ body }) => body)

  assert.equal((await withToken(url, text).visit('/version')).status, 200)
  users.setRoles('alice', ['ops'])
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert.equal((await withToken(url, text).visit('/version')).status, 200)
  assert.equal(reported().at(-1), '["ops"]')
  users.remove('alice')
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert.equal((await withToken(url, text).visit('/version')).status, 401)
})

test('tokens of a removed user do not fit a successor', async (t) => {
  const { url, dataDir, logIn } = await startWithTokens(t)
  const { openUsers } = await import('../../../packages/gateway/login/form/users.ts')
  const users = openUsers(dataDir)
  t.after(() => users.close())
  const former = await logIn('alice', ['dev'])
  const { token } = await createToken(former, { name: 'ci' })
  const seenByGateway = () => new Promise((resolve) => setTimeout(resolve, 150))
  const status = async (text: string) => (await withToken(url, text).visit('/version')).status
  assert.equal(await status(token), 200)

  users.remove('alice')
  const present = await logIn('alice', ['dev', 'ops'])
  await seenByGateway()
  assert.deepEqual([await status(token), await former.user()], [401, undefined])

  const own = await createToken(present, { name: 'own' })
  await users.setPassword('alice', 'battery staple')
  await seenByGateway()
  assert.deepEqual([await status(own.token), await present.user()], [200, undefined])
  await users.setPassword('alice', 'correct horse', 'withdraw')
  await seenByGateway()
  assert.equal(await status(own.token), 401)
  const rotated = await sendJson(
    await logIn('alice'),
    'POST',
    `/auth/apiTokens/${own.id}/rotate`,
    {},
  )
  assert.equal(await status(String((JSON.parse(rotated.text) as { token: string }).token)), 401)
})

test('an unknown user is 401, an unavailable service 503', async (t) => {
  const view = {
    name: 'alice',
    admin: true,
    roles: [{ name: 'dev' }],
    applications: [],
    accounts: [{ name: 'prod', authorizations: ['WRITE'] }],
  }
  const answers = { 'PUT /roles/alice': {}, 'GET /authorize/alice': view }
  const fiat = await startUpstream(t, answers)
  const clock = createClock(Date.now())
  const { url, logIn } = await startWithTokens(
    t,
    { services: { fiat: { enabled: true, baseUrl: fiat.url, retry: { maxBackoffMillis: 10 } } } },
    { now: clock.now },
  )
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'ci' })
  const program = withToken(url, token)
  assert.deepEqual((await program.user())?.['allowedAccounts'], ['prod'])

  fiat.answer({ ...answers, 'GET /authorize/alice': new Reply(404, {}) })
  clock.nowMs += 21_000
  const unknown = await program.visit('/version')
  assert.deepEqual([unknown.status, unknown.location], [401, null])
  fiat.answer({ ...answers, 'GET /authorize/alice': new Reply(500, {}) })
  clock.nowMs += 21_000
  assert.equal((await program.visit('/version')).status, 503)
  assert.equal((await program.visit('/auth/user')).status, 200)
})

test('administrators create tokens of service accounts', async (t) => {
  const users: Record<string, unknown> = {
    alice: { name: 'alice', admin: true, roles: [], applications: [], accounts: [] },
    bob: { name: 'bob', admin: false, roles: [{ name: 'dev' }], applications: [], accounts: [] },
    ci: { name: 'ci', admin: false, roles: [{ name: 'ops' }], applications: [], accounts: [] },
  }
  const fiat = await startUpstream(
    t,
    ({ path }) => users[path.split('/')[2] ?? ''] ?? new Reply(404, {}),
  )
  const front50 = await startUpstream(t, {
    'GET /serviceAccounts/tokenEligible': [{ name: 'ci', memberOf: ['ops'] }],
  })
  const services = { fiat: { enabled: true, baseUrl: fiat.url }, front50: { baseUrl: front50.url } }
  const { url, logIn } = await startWithTokens(t, { services })
  const alice = await logIn('alice')
  const bob = await logIn('bob', ['dev'])

  const accounts = await alice.visit('/auth/apiTokens/serviceAccounts')
  assert.deepEqual(JSON.parse(accounts.text), [{ name: 'ci', memberOf: ['ops'] }])
  const body = { name: 'deploy', principalType: 'SERVICE_ACCOUNT', principalId: 'ci' }
  const created = await createToken(alice, body)
  assert.deepEqual(
    [created['principalId'], created['createdByUserId'], 'expiresAt' in created],
    ['ci', 'alice', false],
  )
  assert.equal((await withToken(url, created.token).user())?.['username'], 'ci')
  assert.equal(
    (await sendJson(alice, 'POST', '/auth/apiTokens', { ...body, principalId: 'other' })).status,
    400,
  )

  for (const path of ['/auth/apiTokens/serviceAccounts', '/auth/apiTokens/admin/users']) {
    assert.equal((await bob.visit(path)).status, 403, path)
  }
  assert.equal((await sendJson(bob, 'POST', '/auth/apiTokens', body)).status, 403)
  const own = await createToken(bob, { name: 'mine' })
  const names = async (browser: Browser, path: string) =>
    (JSON.parse((await browser.visit(path)).text) as { name: string }[]).map(({ name }) => name)
  assert.deepEqual(await names(bob, '/auth/apiTokens'), ['mine'])
  assert.deepEqual(await names(alice, '/auth/apiTokens'), ['deploy'])
  assert.deepEqual(await names(alice, '/auth/apiTokens/admin/users'), ['mine'])
  assert.equal((await sendJson(alice, 'POST', `/auth/apiTokens/${own.id}/rotate`)).status, 403)
  assert.equal((await alice.visit(`/auth/apiTokens/${own.id}`, { method: 'DELETE' })).status, 204)
  assert.equal((await withToken(url, own.token).visit('/version')).status, 401)
})

test('a token sent as a password is refused with the remedy', async (t) => {
  const { url, logIn } = await startWithTokens(t)
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'ci' })
  const basic = (credentials: string) => ({
    authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
  })

  // More often than wrong passwords are accepted.
  for (let attempt = 0; attempt < 12; attempt++) {
    const answer = await new Browser(url, basic(`alice:${token}`)).ask('/credentials')
    assert.equal(answer.status, 401)
    assert.match(
      answer.text,
      /HTTP Basic takes no API token\. Send it as \\"Authorization: Bearer\\"/,
    )
  }
  assert.match(
    (await new Browser(url, basic(`${token}:`)).ask('/credentials')).text,
    /takes no API token/,
  )
  assert.match(
    (await new Browser(url, basic('alice:spk_nonsense')).ask('/credentials')).text,
    /password is wrong/,
  )
  assert.equal((await new Browser(url, basic('alice:correct horse')).ask('/auth/user')).status, 200)
})

test('no log line holds the secret of a token', async (t) => {
  const lines: string[] = []
  const { url, logIn } = await startWithTokens(
    t,
    {},
    { log: (line) => lines.push(JSON.stringify(line)) },
  )
  const { id, token } = await createToken(await logIn('alice', ['dev']), { name: 'ci' })
  await withToken(url, token).visit('/version')
  await withToken(url, `${token}x`).visit('/version')
  await (await logIn('alice')).visit(`/auth/apiTokens/${id}`, { method: 'DELETE' })
  await withToken(url, token).visit('/version')

  assert.ok(lines.some((line) => line.includes('an API token was created')))
  assert.ok(lines.some((line) => line.includes('unknown or revoked')))
  assert.ok(lines.every((line) => !line.includes(token)))
})

test('users create their own tokens when embedded', async (t) => {
  const { url } = await runGateway(
    t,
    { fairlead: { admin: { password: 'correct horse' } } },
    { embedded: true },
  )
  const browser = new Browser(url)
  await browser.login('admin', 'correct horse')
  assert.equal((await browser.user())?.['canMintApiTokens'], true)
  const { token } = await createToken(browser, { name: 'ci' })
  assert.equal((await withToken(url, token).user())?.['isAdmin'], true)
})
