/** The cached list of applications: what is read again, and what stays. */
import assert from 'node:assert/strict'
import test from 'node:test'
import pino from 'pino'
import { ApplicationCache } from '../../packages/gateway/operations/application-cache.ts'
import { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'
import { Reply, startUpstream } from '../support/upstream.ts'

async function openCache(t: test.TestContext, included?: string[]) {
  const lines: string[] = []
  const log = pino(
    { base: undefined, timestamp: false },
    { write: (line: string) => void lines.push(line) },
  )
  const [front50, clouddriver] = await Promise.all([
    startUpstream(t, {}),
    startUpstream(t, { 'GET /applications': [] }),
  ])
  const upstreams = new Upstreams({
    services: {
      front50: { kind: 'external', baseUrl: front50.url },
      clouddriver: { kind: 'external', baseUrl: clouddriver.url },
    },
    bounds: { connectTimeoutMs: 5000, readTimeoutMs: 30_000, maxConnections: 4, maxWaiting: 10 },
    keepAliveMs: 1000,
    maxAnswerBytes: 1_000_000,
  })
  t.after(() => upstreams.close())
  const settings = { refreshMs: 5000, definitionsOnly: false, includedAccounts: included }
  const cache = new ApplicationCache(upstreams, settings, log)
  const list = async (stored: unknown, running: unknown = []) => {
    front50.answer({ 'GET /v2/applications': stored })
    clouddriver.answer({ 'GET /applications': running })
    await cache.refresh()
    return cache.list()
  }
  return { cache, list, front50, lines }
}

test('only applications that have changed become other objects', async (t) => {
  const { cache, list } = await openCache(t)
  const one = { name: 'ONE', email: 'a@example.org' }
  const running = [{ name: 'two', clusterNames: { prod: ['two-main'] } }]
  const before = await list([one, { name: 'TWO' }], running)
  assert.deepEqual(before, [
    { name: 'one', email: 'a@example.org' },
    { name: 'two', accounts: 'prod' },
  ])
  assert.equal(await list([one, { name: 'TWO' }], running), before)
  assert.equal(await list([one, { name: 'TWO' }, null, { name: ' ' }], running), before)
  const after = await list([{ ...one, email: 'b@example.org' }, { name: 'TWO' }], running)
  assert.deepEqual(after[0], { name: 'one', email: 'b@example.org' })
  assert.equal(after[1], before[1])
  const moved = await list(
    [{ name: 'TWO' }],
    [{ name: 'two', clusterNames: { test: ['two-main'] } }],
  )
  assert.deepEqual(moved, [{ name: 'two', accounts: 'test' }])
  assert.equal(cache.find('one'), undefined)
  assert.equal(cache.find('TWO'), moved[0])
})

test('an application that is listed twice is one, with the attributes of both', async (t) => {
  const { list } = await openCache(t)
  const twice = [
    { name: 'ONE', email: 'a', owner: 'x' },
    { name: 'TWO' },
    { name: 'one', email: 'b' },
  ]
  assert.deepEqual(await list(twice), [{ name: 'one', email: 'b', owner: 'x' }, { name: 'two' }])
})

test('a list that cannot be read leaves the one before', async (t) => {
  const { cache, list } = await openCache(t)
  const before = await list([{ name: 'ONE' }])
  for (const broken of [
    '[{"name":"TWO"}',
    '[{"name":"TWO"},{]',
    '{"name":"TWO"}',
    '<html></html>',
    '',
    '[{"name":"TWO","__proto__":{}}]',
  ]) {
    assert.equal(
      await list(new Reply(200, broken, { 'content-type': 'application/json' })),
      before,
      broken,
    )
    assert.notEqual(cache.freshness[0]?.staleness(), undefined, broken)
  }
  assert.equal(await list(new Reply(500, { message: 'no' })), before)
  assert.deepEqual(await list(new Reply(404)), [])
  assert.equal(cache.freshness[0]?.staleness(), undefined)
})

test('a service with validators is asked whether its list has changed', async (t) => {
  const { list, front50 } = await openCache(t)
  const first = await list(new Reply(200, [{ name: 'ONE' }], { etag: '"1"' }))
  assert.equal(await list(new Reply(304)), first)
  assert.equal(front50.background.at(-1)?.headers['if-none-match'], '"1"')
  assert.deepEqual(await list(new Reply(200, [{ name: 'TWO' }])), [{ name: 'two' }])
  await list([{ name: 'TWO' }])
  assert.equal(front50.background.at(-1)?.headers['if-none-match'], undefined)
})

test('a 304 for a list that was never read is an error', async (t) => {
  const { cache, list } = await openCache(t)
  assert.deepEqual(await list(new Reply(304)), [])
  assert.notEqual(cache.freshness[0]?.staleness(), undefined)
})

test('applications without one of the included accounts are left out', async (t) => {
  const { list } = await openCache(t, ['prod'])
  const stored = [
    { name: 'ONE', accounts: 'test' },
    { name: 'TWO', accounts: 'test, prod' },
    { name: 'THREE' },
  ]
  assert.deepEqual(
    (await list(stored)).map(({ name }) => name),
    ['two', 'three'],
  )
})

test('a service that stays away is logged once, and its return', async (t) => {
  const { list, lines } = await openCache(t)
  for (const stored of [new Reply(503), new Reply(503), new Reply(500), new Reply(500), [], []])
    await list(stored)
  assert.deepEqual(
    lines
      .map((line) => JSON.parse(line) as { level: number; service: string; msg: string })
      .map(({ level, service, msg }) => [level, service, msg]),
    [
      [40, 'front50', 'the application list cannot be refreshed'],
      [40, 'front50', 'the application list cannot be refreshed'],
      [30, 'front50', 'the application list is refreshed again'],
    ],
  )
})
