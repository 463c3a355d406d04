/** Several gateways with one Redis: what one does, the others know, and what others keep there is left alone. */
import assert from 'node:assert/strict'
import { hash, randomBytes, randomUUID } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { Pool } from 'undici'
import { beginLogin, currentSettings, startOAuth2 } from '../login/oauth2/support.ts'
import { type GuardedGateway, startGuarded, startPath } from '../login/support.ts'
import { createToken, withToken } from '../login/tokens/support.ts'
import { createClock } from '../sessions/support.ts'
import type { GatewayOptions, GatewaySettings } from '../support/gateway.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import {
  documentedUser,
  type RedisOptions,
  type RedisServer,
  startRedis,
} from '../support/redis.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

test('auth-scenario 70: sessions begin and end at all replicas', async (t) => {
  const clock = createClock(Date.now())
  const replicas = await startReplicas(t, {}, { now: clock.now })
  if (replicas === undefined) return
  const browser = replicas.first.open()
  await browser.login('admin', 'secret')
  const elsewhere = replicas.second.open()
  elsewhere.plant('SESSION', browser.session as string)
  assert.equal((await elsewhere.user())?.['username'], 'admin')

  await browser.visit('/auth/logout')
  clock.nowMs += 3001

  assert.equal(await elsewhere.user(), undefined)
})

test('a login continues at another replica', async (t) => {
  const replicas = await startReplicas(t)
  if (replicas === undefined) return
  const { first, second } = replicas
  const there = first.open()
  await there.visit('/auth/redirect?to=https%3A%2F%2Fdeck.example.com%2F%23%2Ffirst')
  const here = second.open()
  here.resume(there)
  await here.visit(startPath)

  const back = first.open()
  back.resume(here)
  const login = await back.login('admin', 'secret')

  assert.ok(login.location?.endsWith(startPath), String(login.location))
  here.resume(back)
  assert.equal((await here.user())?.['username'], 'admin')
})

test('auth-scenario 69: logins of two tabs are completed at another replica', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const provider = await startIdentityProvider(t)
  const settings = { ...currentSettings(provider), redis: { connection: redis.url } }
  const replicas = [await startOAuth2(t, settings), await startOAuth2(t, settings)] as const
  const [first, second] = [replicas[0].open(), replicas[1].open()]
  await first.visit(startPath)
  second.resume(first)

  const [older, newer] = await Promise.all([beginLogin(first), beginLogin(second)])
  second.resume(first)
  first.resume(second)
  const completed = await second.visit(older)
  first.plant('SESSION', second.session as string)
  const again = await first.visit(newer)

  assert.ok(completed.location?.endsWith(startPath), completed.text)
  assert.equal(again.status, 302, again.text)
  second.plant('SESSION', first.session as string)
  assert.deepEqual(await second.user(), await first.user())
  assert.notEqual(await first.user(), undefined)
  // The cookie of the completed login was cleared at the first replica only, so that the second one sees it again.
  assert.equal((await second.visit(newer)).status, 401)
})

test('API tokens apply at every replica and need Redis', async (t) => {
  const replicas = await startReplicas(t, {
    'api-tokens': { enabled: true, 'allowed-minting-roles': ['user'] },
  })
  if (replicas === undefined) return
  const { first, second, redis } = replicas
  const browser = first.open()
  await browser.login('admin', 'secret')
  const { token } = await createToken(browser, { name: 'ci' })
  const program = withToken(second.url, token)
  assert.equal((await program.visit('/version')).status, 200)
  await redis.kill()
  assert.equal((await program.visit('/version')).status, 503)
  await redis.start()
  const statuses = async () => [
    (await program.visit('/version')).status,
    (await browser.visit('/auth/apiTokens')).status,
  ]
  await waitUntil(async () => (await statuses()).every((status) => status === 200), 'Redis')

  const [listed] = JSON.parse((await browser.visit('/auth/apiTokens')).text) as [{ id: string }]
  assert.equal(
    (await browser.visit(`/auth/apiTokens/${listed.id}`, { method: 'DELETE' })).status,
    204,
  )

  assert.equal((await program.visit('/version')).status, 401)
})

test('a session in Redis has the documented prefix and lifetime', async (t) => {
  const replicas = await startReplicas(t, {
    server: { 'forward-headers-strategy': 'native', session: { timeoutInSeconds: 600 } },
  })
  if (replicas === undefined) return
  const browser = replicas.first.open()
  const startMs = performance.now()
  await browser.login('admin', 'secret')

  const keys = (await replicas.redis.ask('keys', '*')) as string[]
  const ofSessions = keys.filter((key) => !/^fairlead:(?:login|guess):/.test(key))
  assert.equal(ofSessions.length, 2)
  for (const key of ofSessions) assert.match(key, /^spring:session:fairlead:/)
  const session = keys.find((key) => /:[0-9a-f]{64}$/.test(key) && !key.includes(':of:')) as string
  const restMs = Number(await replicas.redis.ask('pttl', session))
  const goneMs = Math.ceil(performance.now() - startMs) + 1
  assert.ok(restMs >= 600_000 - goneMs && restMs <= 600_000, `${restMs} after ${goneMs} ms`)
  const content = String(await replicas.redis.ask('get', session))
  assert.equal(JSON.parse(content)['version'], 1)
  for (const secret of ['secret', browser.session as string]) assert.ok(!content.includes(secret))

  // What documentation of Spinnaker tells operators to do after an upgrade.
  await replicas.redis.ask(
    'eval',
    "for _, k in ipairs(redis.call('KEYS', 'spring:session*')) do redis.call('DEL', k) end",
    0,
  )
  const other = replicas.second.open()
  other.plant('SESSION', browser.session as string)
  assert.equal(await other.user(), undefined)
})

test('Gate keeps its own sessions beside Fairlead', async (t) => {
  const replicas = await startReplicas(t)
  if (replicas === undefined) return
  const { first, redis } = replicas
  const ids = Array.from({ length: 20 }, () => randomUUID())
  const serialised = Buffer.concat([Buffer.from('aced0005737200', 'hex'), randomBytes(200)])
  for (const id of ids) {
    await redis.ask(
      'hset',
      `spring:session:sessions:${id}`,
      'sessionAttr:SPRING_SECURITY_CONTEXT',
      serialised,
    )
    await redis.ask('set', `spring:session:sessions:expires:${id}`, '')
  }
  const browser = first.open()
  await browser.login('admin', 'secret')

  for (const id of ids) {
    const stranger = first.open()
    stranger.plant('SESSION', Buffer.from(id).toString('base64'))
    assert.equal((await stranger.visit('/auth/user')).status, 200)
    assert.equal((await stranger.visit('/credentials')).status, 302)
  }
  await browser.visit('/auth/logout')
  for (const id of ids) assert.equal(await redis.ask('hlen', `spring:session:sessions:${id}`), 1)
})

test('a thousand foreign cookies cause no server error', async (t) => {
  const replicas = await startReplicas(t)
  if (replicas === undefined) return
  const { first, redis } = replicas
  const browser = first.open()
  await browser.login('admin', 'secret')
  const good = String(await redis.ask('get', toKey(browser.session as string)))
  const cookies = Array.from({ length: 1000 }, () => randomBytes(32).toString('base64url'))
  await redis.ask('eval', plantDamage, 0, good, ...cookies.map(toKey))

  // Faster than fetch, which shows at this number.
  const client = new Pool(first.url, { connections: 20 })
  t.after(() => client.close())
  const statuses: Record<number, number> = {}
  const queue = [...cookies]
  const ask = async () => {
    for (let cookie = queue.pop(); cookie !== undefined; cookie = queue.pop()) {
      const path = queue.length % 50 === 0 ? '/credentials' : '/auth/user'
      const { statusCode, body } = await client.request({
        method: 'GET',
        path,
        headers: { cookie: `SESSION=${cookie}` },
      })
      await body.dump()
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 20 }, ask))

  assert.deepEqual(statuses, { 200: 980, 401: 20 })
  assert.equal((await browser.user())?.['username'], 'admin')
})

/** Damages a good session in as many ways as there are keys: another type, cut off, reversed, binary, another meaning. */
const plantDamage = `
  local good = ARGV[1]
  for i = 2, #ARGV do
    local key = ARGV[i]
    local way = i % 7
    if way == 0 then redis.call('HSET', key, 'sessionAttr:SPRING_SECURITY_CONTEXT', good)
    elseif way == 1 then redis.call('SET', key, string.sub(good, 1, i % #good), 'EX', 600)
    elseif way == 2 then redis.call('SET', key, string.reverse(good), 'EX', 600)
    elseif way == 3 then redis.call('LPUSH', key, good)
    elseif way == 4 then redis.call('SET', key, '\\172\\237\\0\\5sr' .. good, 'EX', 600)
    elseif way == 5 then redis.call('SET', key, string.gsub(good, '"admin"', tostring(i)), 'EX', 600)
    else redis.call('SET', key, string.gsub(good, '"version":1', '"version":' .. i), 'EX', 600) end
  end`

function toKey(cookie: string): string {
  return `spring:session:fairlead:${hash('sha256', cookie, 'hex')}`
}

test('auth-scenario 31: deleting the session cache deletes spring:session* and nothing else', async (t) => {
  const fiat = await startUpstream(t, (request: { method: string; path: string }) =>
    request.path.startsWith('/authorize/')
      ? { name: 'admin', admin: true, accounts: [], roles: [], applications: [] }
      : {},
  )
  const replicas = await startReplicas(t, {
    services: { fiat: { enabled: true, baseUrl: fiat.url } },
  })
  if (replicas === undefined) return
  const { first, second, redis } = replicas
  await redis.ask('set', 'api-token:hash:1', 'kept')
  await redis.ask('hset', 'spring:session:sessions:1', 'a', 'b')
  await redis.ask('set', 'springtime', 'kept')
  const browsers = [first.open(), second.open(), second.open()]
  for (const browser of browsers) await browser.login('admin', 'secret')

  assert.equal(
    (
      await (browsers[0] as (typeof browsers)[0]).visit('/auth/deleteSessionCache', {
        method: 'POST',
      })
    ).status,
    200,
  )

  const left = ((await redis.ask('keys', '*')) as string[]).filter(
    (key) => !key.startsWith('fairlead:guess:'),
  )
  assert.deepEqual(left.sort(), ['api-token:hash:1', 'fairlead:login:key', 'springtime'])
  assert.equal(await browsers[0]?.user(), undefined)
})

test('a change through one replica ends the 304s of both', async (t) => {
  let version = 1
  const service = await startUpstream(t, ({ method, path, headers }) => {
    if (method === 'PUT') version++
    if (method === 'PUT' || path.startsWith('/health')) return {}
    const tag = `"v${version}"`
    if (headers['if-none-match']?.includes(tag) === true) return new Reply(304, '', { etag: tag })
    return new Reply(
      200,
      JSON.stringify([{ id: 'p', name: `version ${version}`, application: 'web' }]),
      {
        'content-type': 'application/json',
        etag: tag,
      },
    )
  })
  const external = { baseUrl: service.url }
  const replicas = await startReplicas(t, { services: { orca: external, front50: external } })
  if (replicas === undefined) return
  const [first, second] = [replicas.first.open(), replicas.second.open()]
  await first.login('admin', 'secret')
  second.plant('SESSION', first.session as string)
  for (const path of [
    '/applications/web/pipelines?limit=5',
    '/applications/web/pipelineConfigs',
    '/applications/web/tasks',
  ]) {
    for (const changer of [first, second]) {
      const tags: string[] = []
      for (const browser of [first, second]) {
        const tag = String((await browser.ask(path)).headers.get('etag'))
        for (let repeated = 0; repeated < 2; repeated++) {
          assert.equal(
            (await browser.ask(path, { headers: { 'if-none-match': tag } })).status,
            304,
            path,
          )
        }
        tags.push(tag)
      }
      assert.equal(tags[0], tags[1], 'a client may change its replica')
      assert.equal((await changer.ask('/pipelines/1/pause', { method: 'PUT' })).status, 200)
      for (const browser of [first, second]) {
        const { status, text } = await browser.ask(path, {
          headers: { 'if-none-match': tags[0] as string },
        })
        assert.equal(status, 200, path)
        assert.ok(text.includes(`version ${version}`), text)
      }
    }
  }
})

test('the documented Redis rights suffice', async (t) => {
  const replicas = await startReplicas(
    t,
    {},
    {},
    { users: [documentedUser()] },
    ({ port }) => `redis://fairlead:secret@127.0.0.1:${port}/0`,
  )
  if (replicas === undefined) return
  const { first, second, redis } = replicas
  const seen = await redis.watch(t)
  const browser = first.open()
  await browser.visit(startPath)
  assert.equal((await browser.login('admin', 'secret')).status, 302)
  const other = second.open()
  other.plant('SESSION', browser.session as string)
  assert.equal((await other.user())?.['username'], 'admin')
  await other.visit('/auth/logout')

  const commands = new Set(seen.map(([command]) => command?.toLowerCase()))
  const allowed = new Set(
    [...documentedUser().matchAll(/\+([a-z]+)/g)].map(([, command]) => command),
  )
  allowed.add('auth').add('monitor')
  assert.deepEqual(
    [...commands].filter((command) => !allowed.has(command)),
    [],
  )
})

test('Redis affects health as the relaxed indicator says', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  await redis.kill()
  const settings = (relaxed: boolean): GatewaySettings => ({
    redis: { connection: redis.url, timeout: 3000, useRelaxedHealthIndicator: relaxed },
  })
  const relaxed = (await startGuarded(t, settings(true))).open()
  const strict = (await startGuarded(t, settings(false))).open()
  const statuses = async () => [
    (await relaxed.visit('/health')).status,
    (await strict.visit('/health')).status,
  ]

  assert.deepEqual(await statuses(), [503, 503])
  assert.equal((await relaxed.visit('/readyz')).status, 503)
  assert.equal((await relaxed.visit('/livez')).status, 200)
  assert.equal((await relaxed.visit('/auth/user')).status, 200)

  await redis.start()
  await waitUntil(async () => (await statuses()).every((status) => status === 200), 'Redis')
  await redis.kill()
  await waitUntil(async () => (await statuses())[1] === 503, 'the loss of Redis')
  assert.deepEqual(await statuses(), [200, 503])
})

interface Replicas {
  redis: RedisServer
  first: GuardedGateway
  second: GuardedGateway
}

async function startReplicas(
  t: TestContext,
  settings: GatewaySettings = {},
  options: GatewayOptions = {},
  redisOptions: RedisOptions = {},
  toConnection = ({ url }: RedisServer) => url,
): Promise<Replicas | undefined> {
  const redis = await startRedis(t, redisOptions)
  if (redis === undefined) return undefined
  const shared = { ...settings, redis: { connection: toConnection(redis), timeout: 3000 } }
  return {
    redis,
    first: await startGuarded(t, shared, options),
    second: await startGuarded(t, shared, options),
  }
}
