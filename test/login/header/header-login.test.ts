/** Login by a header: believed from trusted proxies, from nobody else, and never kept. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { loadConfig } from '../../../packages/app/config/config.ts'
import { createClock } from '../../sessions/support.ts'
import { runGateway, startGateway } from '../../support/gateway.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { Browser } from '../browser.ts'

const header = { header: { enabled: true } }

test('auth-scenario 184: the header names the user, and no cookie follows', async (t) => {
  const url = await startGateway(t, header)
  const answer = await new Browser(url).visit('/auth/user', {
    headers: { 'X-SPINNAKER-USER': 'bob' },
  })
  const user = JSON.parse(answer.text) as Record<string, unknown>

  assert.deepEqual(
    [user['username'], user['email'], user['firstName'], user['roles']],
    ['bob', 'bob', null, []],
  )
  assert.deepEqual(answer.cookies, [])
})

test('auth-scenario 185: without the header protected paths are 401', async (t) => {
  const browser = new Browser(await startGateway(t, header))
  const refused = await browser.ask('/credentials')
  const body = JSON.parse(refused.text) as Record<string, unknown>

  assert.deepEqual(
    [refused.status, refused.location, body['status'], 'path' in body],
    [401, null, 401, false],
  )
  assert.equal((await browser.visit('/health')).status, 200)
  assert.equal(await browser.user(), undefined)
  assert.equal((await browser.visit('/login')).status, 401)
})

test('a repeated, empty or malformed header is not logged in', async (t) => {
  const url = await startGateway(t, header)
  const { request } = await import('node:http')
  const statusWith = (values: string[]) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = values.flatMap((value) => ['X-SPINNAKER-USER', value])
      const asked = request(
        `${url}/version`,
        { headers: ['Host', 'gate', ...headers] },
        (answer) => {
          answer.resume()
          resolve(answer.statusCode)
        },
      )
      asked.on('error', reject).end()
    })
  assert.equal(await statusWith(['bob']), 200)
  for (const values of [
    ['bob', 'root'],
    [''],
    ['   '],
    ['b\u00f6b'],
    ['x'.repeat(513)],
    ['bob  root'],
    ['anonymous'],
    ['__unrestricted_user__'],
  ]) {
    assert.equal(await statusWith(values), 401, JSON.stringify(values))
  }
})

test('the header of an untrusted peer is ignored', async (t) => {
  const log: Record<string, unknown>[] = []
  const settings = {
    ...header,
    server: { tomcat: { remoteip: { 'internal-proxies': '10\\.0\\.0\\.1' } } },
  }
  const { url } = await runGateway(t, settings, { log: (line) => log.push(line) })
  const browser = new Browser(url, { 'X-SPINNAKER-USER': 'bob', 'X-Forwarded-For': '10.0.0.1' })

  assert.equal((await browser.visit('/credentials')).status, 401)
  assert.equal(await browser.user(), undefined)
  assert.ok(log.some(({ reason }) => String(reason).includes('no trusted proxy')))
})

test('services hear the name of the header, and only that', async (t) => {
  const upstream = await startUpstream(t, { 'GET /networks': {} })
  const url = await startGateway(t, {
    ...header,
    services: { clouddriver: { baseUrl: upstream.url } },
  })
  await new Browser(url, { 'X-SPINNAKER-USER': 'bob', 'X-SPINNAKER-ACCOUNTS': 'prod' }).visit(
    '/networks',
  )

  assert.equal(upstream.requests[0]?.headers['x-spinnaker-user'], 'bob')
  assert.equal(upstream.requests[0]?.headers['x-spinnaker-accounts'], undefined)
})

test('without the method the header is dropped', async (t) => {
  const url = await startGateway(t, { fairlead: { admin: { password: 'correct horse' } } })

  assert.equal(await new Browser(url, { 'X-SPINNAKER-USER': 'admin' }).user(), undefined)
})

test('the permission service learns of users, not service accounts', async (t) => {
  const view = {
    name: 'bob',
    admin: false,
    roles: [],
    applications: [],
    accounts: [{ name: 'prod', authorizations: ['WRITE'] }],
  }
  const fiat = await startUpstream(t, ({ method }) => (method === 'GET' ? view : {}))
  const front50 = await startUpstream(t, {
    'GET /serviceAccounts': [{ name: 'robot', memberOf: [] }],
  })
  const clock = createClock(Date.now())
  const services = { fiat: { enabled: true, baseUrl: fiat.url }, front50: { baseUrl: front50.url } }
  const url = await startGateway(t, { ...header, services }, { now: clock.now })
  const logins = () =>
    fiat.background
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path }) => `${method} ${path}`)
  const bob = new Browser(url, { 'X-SPINNAKER-USER': 'bob' })

  await Promise.all([bob.user(), bob.user(), bob.user()])
  assert.deepEqual((await bob.user())?.['allowedAccounts'], ['prod'])
  assert.deepEqual(logins(), ['POST /roles/bob'])
  clock.nowMs += 21_000
  await bob.user()
  await new Browser(url, { 'X-SPINNAKER-USER': 'robot' }).user()
  assert.deepEqual(logins(), ['POST /roles/bob', 'POST /roles/bob'])
})

test('a service account that could not be looked up is looked up again', async (t) => {
  const view = { name: 'robot', admin: false, roles: [], applications: [], accounts: [] }
  const fiat = await startUpstream(t, ({ method }) => (method === 'GET' ? view : {}))
  const front50 = await startUpstream(t, () => new Reply(400, {}))
  const clock = createClock(Date.now())
  const services = { fiat: { enabled: true, baseUrl: fiat.url }, front50: { baseUrl: front50.url } }
  const url = await startGateway(t, { ...header, services }, { now: clock.now })
  const reports = () => fiat.background.filter(({ method }) => method === 'POST').length
  const robot = new Browser(url, { 'X-SPINNAKER-USER': 'robot' })

  await robot.user()
  front50.answer({ 'GET /serviceAccounts': [{ name: 'robot', memberOf: [] }] })
  clock.nowMs += 21_000
  await robot.user()
  assert.equal(reports(), 1)
})

test('while the permission service cannot be told, protected paths are 503', async (t) => {
  const fiat = await startUpstream(t, () => new Reply(500, {}))
  const services = { fiat: { enabled: true, baseUrl: fiat.url, retry: { maxBackoffMillis: 10 } } }
  const url = await startGateway(t, { ...header, services })

  assert.equal(
    (await new Browser(url, { 'X-SPINNAKER-USER': 'bob' }).visit('/credentials')).status,
    503,
  )
})

test('a start reports whom it trusts and rejects combinations', async () => {
  const load = (settings: Record<string, unknown>) =>
    loadConfig({
      cwd: '/nonexistent',
      homeDir: '/nonexistent',
      systemDir: '/nonexistent',
      env: {},
      settings,
    })
  const { notices } = await load({ 'header.enabled': true })
  assert.ok(
    notices.some(
      (notice) => notice.includes('a private address') && notice.includes('internal-proxies'),
    ),
  )
  await assert.rejects(
    load({ 'header.enabled': true, 'anonymous.enabled': true }),
    /exclude each other/,
  )
  await assert.rejects(
    load({ 'header.enabled': true, 'google.iap.enabled': true, 'google.iap.audience': 'a' }),
    /only one login by something in front.*header\.enabled.*google\.iap\.enabled/,
  )
})
