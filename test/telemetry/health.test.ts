import assert from 'node:assert/strict'
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import pino from 'pino'
import type { ServiceName } from '../../packages/base/services/services.ts'
import { Health } from '../../packages/base/telemetry/health.ts'
import { askHealth } from '../../packages/gateway/upstreams/service-health.ts'
import { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'
import { runGateway, startGateway } from '../support/gateway.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { brokenOff, Reply, silence, startUpstream } from '../support/upstream.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const up = { 'GET /health': { status: 'UP' } }

async function ask(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(url)
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

test('probes are answered without login, and only users learn details', async (t) => {
  const { url, gateway } = await runGateway(t, {
    security: { user: { name: 'me', password: 'correct-horse' } },
    server: { servlet: { 'context-path': '/gate' }, 'drain-ms': '1h' },
  })
  const root = url.slice(0, -'/gate'.length)
  const probes = [url, root].flatMap((base) =>
    ['/health', '/readyz', '/livez'].map((path) => base + path),
  )
  for (const probe of probes)
    assert.deepEqual(await ask(probe), { status: 200, body: { status: 'UP' } }, probe)
  for (const path of ['/health/readiness', '/health/liveness', '/metrics'])
    assert.equal((await fetch(url + path)).status, 401)

  await gateway.drain(AbortSignal.abort())

  for (const probe of probes) {
    const expected = probe.endsWith('/livez')
      ? { status: 200, body: { status: 'UP' } }
      : { status: 503, body: { status: 'DOWN' } }
    assert.deepEqual(await ask(probe), expected, probe)
  }
  const authorization = `Basic ${Buffer.from('me:correct-horse').toString('base64')}`
  const answer = await fetch(`${url}/health/readiness`, { headers: { authorization } })
  assert.deepEqual(
    [answer.status, await answer.json()],
    [503, { status: 'DOWN', waitingFor: ['shutdown'] }],
  )
})

test('a dead service counts only when it is asked for', async (t) => {
  const orca = await startUpstream(t, { 'GET /health': new Reply(503, { status: 'DOWN' }) })
  const gateway = await startGateway(t, { services: { orca: { baseUrl: orca.url } } })
  const asked = await waitFor(
    async () => {
      const answer = await ask(`${gateway}/health?downstreamServices=true`)
      return answer.status === 503 ? answer : undefined
    },
    () => `the dead service to count, after ${orca.background.length} checks`,
  )
  assert.deepEqual(asked.body, { status: 'DOWN' })
  assert.deepEqual(await ask(`${gateway}/health`), { status: 200, body: { status: 'UP' } })
  assert.equal((await ask(`${gateway}/health?downstreamServices=false`)).status, 200)
})

test('healthy services leave health UP', async (t) => {
  const orca = await startUpstream(t, up)
  const gateway = await startGateway(t, { services: { orca: { baseUrl: orca.url } } })
  await waitUntil(() => orca.background.some(({ path }) => path === '/health'), 'a health check')
  // Its answer arrives between these.
  for (let count = 0; count < 10; count++)
    assert.equal((await ask(`${gateway}/health?downstreamServices=true`)).status, 200)
})

/** Checks every few milliseconds. */
function startHealth(
  t: Parameters<typeof startUpstream>[0],
  services: Partial<Record<ServiceName, string>>,
  readTimeoutMs = 60_000,
): Health {
  const upstreams = new Upstreams({
    services: Object.fromEntries(
      Object.entries(services).map(([name, baseUrl]) => [name, { kind: 'external', baseUrl }]),
    ),
    bounds: { connectTimeoutMs: 500, readTimeoutMs, maxConnections: 5, maxWaiting: 100 },
    keepAliveMs: 1000,
    maxAnswerBytes: 1000,
  })
  const health = new Health({
    services: (['orca', 'echo'] as const).filter((service) => upstreams.isEnabled(service)),
    ask: (service: ServiceName) => askHealth(upstreams, service),
    conditions: { 'embedded back ends': () => false, Redis: () => true },
    intervalMs: 20,
    log: pino({ level: 'silent' }),
  })
  t.after(async () => {
    health.close()
    await upstreams.close()
  })
  return health
}

test('health checks stop after success until they are requested', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const statuses: Record<string, number> = { orca: 200, echo: 500 }
  const asked: string[] = []
  const health = new Health({
    services: Object.keys(statuses),
    ask: async (service) => {
      asked.push(service)
      return statuses[service]
    },
    conditions: {},
    intervalMs: 20,
    log: pino({ level: 'silent' }),
  })
  const tick = async () => {
    t.mock.timers.tick(20)
    await immediate()
  }
  health.start()
  await tick()
  assert.deepEqual([health.failingServices(), asked.length], [['echo'], 4])

  statuses['echo'] = 200
  await tick()
  statuses['orca'] = 500
  await tick()
  await tick()
  assert.deepEqual([health.failingServices(), asked.length], [[], 6])

  health.recheck()
  await tick()
  assert.deepEqual(health.failingServices(), ['orca'])
  health.close()
})

for (const [name, answer] of [
  ['hangs', silence],
  ['breaks off', brokenOff],
] as const) {
  test(`a service that ${name} is not healthy`, async (t) => {
    const orca = await startUpstream(t, { 'GET /health': answer })
    const health = startHealth(t, { orca: orca.url }, 200)
    health.start()
    await waitUntil(() => health.failingServices().length > 0, 'a failing service')
    assert.deepEqual(health.failingServices(), ['orca'])
  })
}

test('readiness names every missing condition', (t) => {
  const health = startHealth(t, {})
  assert.deepEqual(health.waitingFor(), ['embedded back ends'])
  health.stop()
  assert.deepEqual(health.waitingFor(), ['shutdown', 'embedded back ends'])
})

test('liveness is UP, and readiness follows the embedded back ends', async (t) => {
  const { url } = await runGateway(t, {}, { embedded: true, ownThread: true })
  assert.deepEqual(await ask(`${url}/health/liveness`), { status: 200, body: { status: 'UP' } })
  assert.deepEqual(await ask(`${url}/health/readiness`), { status: 200, body: { status: 'UP' } })
})

test('readiness fails while the disk of the data directory is full', async (t) => {
  const disk = mountSmallDisk(t, '24m')
  if (disk === undefined) return
  const lines: Record<string, unknown>[] = []
  const { url } = await runGateway(
    t,
    {},
    { embedded: true, dataDir: join(disk, 'data'), log: (line) => lines.push(line) },
  )
  const isReady = async () => (await ask(`${url}/health/readiness`)).status === 200
  await waitUntil(isReady, 'readiness')

  const filler = Buffer.alloc(32 * 1024 * 1024)
  // Again each time: a file that is removed meanwhile, such as that of a check or a write-ahead log, makes room.
  const askWhileFull = (path: string) =>
    waitFor(async () => {
      assert.throws(() => appendFileSync(join(disk, 'filler'), filler), /ENOSPC/)
      const answer = await ask(url + path)
      return answer.status === 503 ? answer : undefined
    }, `a full disk that ${path} reports`)
  const { body } = await askWhileFull('/health/readiness')
  assert.deepEqual(body, { status: 'DOWN', waitingFor: ['room in the data directory'] })
  await askWhileFull('/readyz')
  assert.equal((await ask(`${url}/livez`)).status, 200)
  assert.ok(
    lines.some(({ msg }) => String(msg).startsWith('the data directory takes no more files')),
  )

  rmSync(join(disk, 'filler'))

  await waitUntil(isReady, 'readiness')
})
