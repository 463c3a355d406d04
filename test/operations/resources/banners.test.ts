/** Banners: permissions, storage, display times, and sharing between replicas. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Banners, openBannerRecords } from '../../../packages/gateway/banners/banners.ts'
import { openUsers } from '../../../packages/gateway/login/form/users.ts'
import { basic } from '../../login/support.ts'
import { silentLog } from '../../sessions/support.ts'
import { type GatewayOptions, type GatewaySettings, runGateway } from '../../support/gateway.ts'
import { documentedUser, startRedis } from '../../support/redis.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'

const view = {
  name: 'admin',
  admin: true,
  accounts: [],
  applications: [],
  serviceAccounts: [],
  roles: [],
}
const asAdmin = basic('admin', 'correct horse')
const asAlice = basic('alice', 'battery staple')

async function startBannerGateway(
  t: TestContext,
  settings: GatewaySettings = {},
  options: GatewayOptions = {},
) {
  const fiat = await startUpstream(t, {
    'GET /authorize/admin': view,
    'PUT /roles/admin': new Reply(200),
    'GET /authorize/alice': { ...view, name: 'alice', admin: false },
    'PUT /roles/alice': new Reply(200),
  })
  const running = await runGateway(
    t,
    {
      fairlead: { admin: { password: 'correct horse' } },
      ...settings,
      services: { fiat: { baseUrl: fiat.url } },
    },
    options,
  )
  const ask = async (line: string, body?: unknown, headers = asAdmin) => {
    const [method = '', path = ''] = line.split(' ')
    const answer = await fetch(running.url + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }
  return { ...running, ask }
}

test('administrators manage banners, and users see current ones', async (t) => {
  const clock = { nowMs: 1_000_000 }
  const { ask, dataDir } = await startBannerGateway(t, {}, { now: () => clock.nowMs })
  const users = openUsers(dataDir)
  await users.add('alice', 'battery staple', [])
  users.close()
  assert.deepEqual((await ask('GET /banners', undefined, asAlice)).body, [])

  const given = {
    id: 'maint-2026',
    message: '**Maintenance**',
    color: 'var(--color-alert)',
    enabled: true,
    fontSize: null,
  }
  const saved = await ask('PUT /banners', { ...given, createdAt: 5, unknown: 1 })
  const stored = {
    id: 'maint-2026',
    message: '**Maintenance**',
    color: 'var(--color-alert)',
    enabled: true,
  }
  assert.deepEqual(
    [saved.status, saved.body],
    [200, { ...stored, createdAt: 1_000_000, updatedAt: 1_000_000 }],
  )
  assert.deepEqual((await ask('GET /banners', undefined, asAlice)).body, [saved.body])

  clock.nowMs += 10
  const later = await ask('POST /banners/maint-2026', {
    startTimestamp: 1_000_020,
    endTimestamp: 1_000_030,
  })
  assert.deepEqual(later.body, {
    ...saved.body,
    updatedAt: 1_000_010,
    startTimestamp: 1_000_020,
    endTimestamp: 1_000_030,
  })
  for (const [nowMs, shown] of [
    [1_000_019, 0],
    [1_000_020, 1],
    [1_000_029, 1],
    [1_000_030, 0],
  ] as const) {
    clock.nowMs = nowMs
    assert.equal(
      ((await ask('GET /banners', undefined, asAlice)).body as unknown[]).length,
      shown,
      String(nowMs),
    )
  }
  assert.deepEqual(
    (await ask('POST /banners/maint-2026', { startTimestamp: null, endTimestamp: null })).body
      .endTimestamp,
    undefined,
  )
  assert.match((await ask('PUT /banners', { message: 'x' })).body.id, /^[0-9a-f-]{36}$/)
  assert.deepEqual((await ask('GET /banners/maint-2026')).body.message, '**Maintenance**')
  assert.equal((await ask('GET /banners/all')).body.length, 2)
  assert.deepEqual(
    [(await ask('POST /banners/refresh')).status, (await ask('DELETE /banners/maint-2026')).status],
    [200, 204],
  )
  const cleared = await ask('DELETE /banners')
  assert.deepEqual([cleared.status, cleared.headers.get('x-deleted-count')], [204, '1'])

  for (const line of [
    'PUT /banners',
    'DELETE /banners',
    'GET /banners/all',
    'GET /banners/a',
    'POST /banners/a',
    'DELETE /banners/a',
  ]) {
    const body = /^P/.test(line) ? { message: 'x' } : undefined
    assert.equal((await ask(line, body, asAlice)).status, 403, line)
  }
  for (const line of ['GET /banners/a', 'POST /banners/a', 'DELETE /banners/a']) {
    assert.equal(
      (await ask(line, /^P/.test(line) ? { message: 'x' } : undefined)).status,
      404,
      line,
    )
  }
})

test('banners are bounded and checked', async (t) => {
  const { ask } = await startBannerGateway(t, { 'global-banner': { 'max-message-length': 10 } })
  const refused = [
    {},
    { message: ' ' },
    { message: 'x'.repeat(11) },
    { message: 'x', id: 'all' },
    { message: 'x', id: 'a/b' },
    { message: 'x', color: 'red; background: url(x)' },
    { message: 'x', startTimestamp: 2, endTimestamp: 2 },
    { message: 'x', startTimestamp: 'now' },
    { message: 'x', enabled: 'yes' },
  ]
  for (const body of refused)
    assert.equal((await ask('PUT /banners', body)).status, 400, JSON.stringify(body))
  for (let count = 0; count < 50; count++)
    assert.equal((await ask('PUT /banners', { message: 'x' })).status, 200)
  const full = await ask('PUT /banners', { message: 'x' })
  assert.deepEqual(
    [full.status, full.body.message],
    [400, 'There are 50 banners already. Delete one first.'],
  )
})

test('banners outlive the process', async (t) => {
  const dataDir = createFolder('banners')
  t.after(() => removeFolder(dataDir))
  const first = await startBannerGateway(t, {}, { dataDir })
  await first.ask('PUT /banners', { id: 'kept', message: 'x', enabled: true })
  await first.stop()
  const second = await startBannerGateway(t, {}, { dataDir })
  assert.equal((await second.ask('GET /banners')).body[0].id, 'kept')
  await second.stop()
  const off = await startBannerGateway(t, { 'global-banner': { enabled: false } }, { dataDir })
  assert.deepEqual((await off.ask('GET /banners')).body, [])
  const refused = await off.ask('PUT /banners', { message: 'x' })
  assert.deepEqual(
    [refused.status, /global-banner\.enabled/.test(refused.body.message)],
    [404, true],
  )
})

test("replicas share banners in Redis with the guide's rights", async (t) => {
  const redis = await startRedis(t, { users: [documentedUser()] })
  if (redis === undefined) return
  const settings = {
    redis: { connection: redis.url.replace('//', '//fairlead:secret@') },
    'global-banner': { 'refresh-interval-ms': 1 },
  }
  const one = await startBannerGateway(t, settings)
  const other = await startBannerGateway(t, settings)
  await Promise.all(
    ['a', 'b', 'c', 'd'].map((id, index) =>
      (index % 2 ? one : other).ask('PUT /banners', { id, message: id, enabled: true }),
    ),
  )
  for (const { ask } of [one, other]) {
    await ask('POST /banners/refresh')
    assert.deepEqual(
      ((await ask('GET /banners')).body as { id: string }[]).map(({ id }) => id).sort(),
      ['a', 'b', 'c', 'd'],
    )
  }
})

test('an unavailable store keeps the last list, and refuses changes', async (t) => {
  const folder = createFolder('banners')
  t.after(() => removeFolder(folder))
  const earlier = [{ id: 'z', message: 'earlier', enabled: false, createdAt: 1, updatedAt: 1 }]
  writeFileSync(join(folder, 'banners.json'), JSON.stringify(earlier))
  const store = openBannerRecords({
    dataDir: folder,
    redis: undefined,
    now: () => nowMs,
    log: silentLog,
  })
  t.after(() => store.close())
  const warnings: unknown[] = []
  let nowMs = 0
  const banners = new Banners({
    settings: { enabled: true, refreshMs: 10, maxMessageLength: 100 },
    store,
    log: { warn: (line: unknown) => warnings.push(line) } as never,
    now: () => nowMs,
  })
  assert.deepEqual(await banners.all(), earlier, 'an earlier version wrote a file')
  await banners.save({ id: 'a', message: 'x', enabled: true })
  nowMs = 100
  store.close()
  assert.deepEqual(
    (await banners.active()).map(({ id }) => id),
    ['a'],
  )
  assert.deepEqual(
    (await banners.active()).map(({ id }) => id),
    ['a'],
  )
  assert.equal(warnings.length, 1)
  await assert.rejects(banners.save({ id: 'b', message: 'x', enabled: true }), {
    code: 'BANNERS_UNAVAILABLE',
  })
})
