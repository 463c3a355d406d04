/** Two replicas with one Redis behind a balancer that ends TLS, adds a path prefix, and sends each request to the other one. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { Browser } from '../login/browser.ts'
import { formSettings, ui } from '../login/support.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { type RunningGateway, runGateway } from '../support/gateway.ts'
import { startRedis } from '../support/redis.ts'
import { startUpstream } from '../support/upstream.ts'

const prefix = '/gate/api'

interface Setting {
  balancer: Balancer
  replicas: readonly RunningGateway[]
  open(): Browser
}

test('auth-scenario 14, 62, 63: a login succeeds although each request reaches another replica', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const { balancer, open } = setting
  const browser = open()

  assert.equal(await browser.user(), undefined)
  const target = `${ui}/#/search`
  const entry = await browser.visit(`/auth/redirect?to=${encodeURIComponent(target)}`)
  assert.equal(entry.location, `${balancer.url}/login`)
  assert.match(
    entry.cookies.join(),
    /^SESSION_TARGET=[^;]*; Max-Age=3600; Path=\/gate\/api\/; Secure; HttpOnly; SameSite=None$/,
  )
  assert.match(String(entry.headers.get('strict-transport-security')), /max-age/)

  const form = await browser.visit(entry.location as string)
  assert.match(form.text, /action="\/gate\/api\/login"/)
  const refused = await browser.login('admin', 'wrong')
  assert.equal(refused.location, `${balancer.url}/login?error`)
  const login = await browser.login('admin', 'secret')
  assert.equal(login.location, `${balancer.url}/auth/redirect?to=${encodeURIComponent(target)}`)
  assert.match(
    login.cookies[0] as string,
    /^SESSION=[\w-]{43}; Path=\/gate\/api\/; Secure; HttpOnly$/,
  )
  assert.equal((await browser.visit(login.location as string)).location, target)

  for (let time = 0; time < 6; time++) assert.equal((await browser.user())?.['username'], 'admin')
  const logout = await browser.visit('/auth/logout')
  assert.equal(logout.location, `${balancer.url}/auth/loggedOut`)
  assert.match(
    logout.cookies[0] as string,
    /^SESSION=; Max-Age=0; .*Path=\/gate\/api\/; Secure; HttpOnly$/,
  )

  const targets = balancer.targetsSoFar()
  assert.ok(targets.length >= 13)
  for (const [index, one] of targets.entries())
    if (index > 0) assert.notEqual(one, targets[index - 1])
})

test('services see the address of the browser at each replica', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /credentials': [{ name: 'prod' }] })
  const setting = await start(t, clouddriver.url)
  if (setting === undefined) return
  const browser = setting.open()
  await browser.login('admin', 'secret')

  for (let time = 0; time < 4; time++) assert.equal((await browser.visit('/networks')).status, 404)

  const users = clouddriver.requests.map(({ headers }) => headers['x-spinnaker-user'])
  assert.deepEqual(users, ['admin', 'admin', 'admin', 'admin'])
})

test('users of a stopped replica continue at another', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const browser = setting.open()
  await browser.login('admin', 'secret')

  await setting.replicas[0]?.stop()

  for (let time = 0; time < 4; time++) assert.equal((await browser.user())?.['username'], 'admin')
})

test('what lies beside the prefix does not reach a replica', async (t) => {
  const setting = await start(t)
  if (setting === undefined) return
  const browser = setting.open()

  assert.equal((await browser.visit(new URL('/auth/user', setting.balancer.url).href)).status, 404)
  assert.equal((await browser.visit('/health')).status, 200)
})

async function start(t: TestContext, clouddriver?: string): Promise<Setting | undefined> {
  const redis = await startRedis(t)
  if (redis === undefined) return undefined
  const settings = {
    ...formSettings,
    server: { 'forward-headers-strategy': 'native', servlet: { 'context-path': prefix } },
    services: {
      ...formSettings.services,
      ...(clouddriver !== undefined && { clouddriver: { baseUrl: clouddriver } }),
    },
    redis: { connection: redis.url },
  }
  const replicas = [await runGateway(t, settings), await runGateway(t, settings)]
  const targets = replicas.map(({ url }) => new URL(url).origin)
  const balancer = await startBalancer(t, { tls: true, prefix, targets })
  if (balancer === undefined) return undefined
  return { balancer, replicas, open: () => new Browser(balancer.url, {}, balancer.dispatcher) }
}
