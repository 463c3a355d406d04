import assert from 'node:assert/strict'
import { get } from 'node:http'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startGateway } from '../support/gateway.ts'
import { brokenOff, Reply, silence, startUpstream } from '../support/upstream.ts'

/** Values by name and labels, as they stand in the exposition: `name{a="b"}`. */
async function readMetrics(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/spectator/metrics`)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
}

test('metrics are served where Gate has them without login, and at /metrics for a logged-in user', async (t) => {
  const gateway = await startGateway(t, { security: { user: { name: 'me', password: 'correct-horse' } } })
  const open = await fetch(`${gateway}/spectator/metrics`, { redirect: 'manual' })
  assert.equal(open.status, 200)
  assert.match(String(open.headers.get('content-type')), /^text\/plain; version=0\.0\.4/)
  assert.match(await open.text(), /^# HELP fairlead_requests_total/m)
  assert.equal((await fetch(`${gateway}/metrics`)).status, 401)
  const authorization = `Basic ${Buffer.from('me:correct-horse').toString('base64')}`
  assert.equal((await fetch(`${gateway}/metrics`, { headers: { authorization } })).status, 200)
})

test('requests are counted by operation, method and status, with duration and bytes', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': '{"aws":[]}', 'GET /instanceTypes': new Reply(418) })
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  for (const path of ['/networks', '/networks', '/instanceTypes', '/nothing', '/networks?limit=1'])
    await (await fetch(gateway + path)).text()
  await fetch(`${gateway}/networks`, { method: 'HEAD' })
  await pause(20)

  const metrics = await readMetrics(gateway)

  const at = (name: string) => metrics.get(name)
  assert.equal(
    at('fairlead_requests_total{operation="allUsingGET",method="GET",status="200"}') ?? 0,
    3,
    [...metrics.keys()].join('\n'),
  )
  assert.equal(at('fairlead_requests_total{operation="none",method="GET",status="404"}'), 1)
  assert.equal(at('fairlead_response_bytes_total{operation="allUsingGET"}'), 30)
  assert.equal(at('fairlead_request_duration_seconds_count{operation="allUsingGET"}'), 4)
  assert.equal(at('fairlead_upstream_requests_total{service="clouddriver",method="GET",status="418"}'), 1)
  assert.ok((at('fairlead_upstream_requests_total{service="clouddriver",method="GET",status="200"}') ?? 0) >= 4)
  assert.ok((at('fairlead_upstream_response_bytes_total{service="clouddriver"}') ?? 0) >= 30)
  assert.ok((at('fairlead_upstream_duration_seconds_count{service="clouddriver"}') ?? 0) >= 5)
})

test('requests in flight are counted in and out, however they end', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence, 'GET /instanceTypes': brokenOff })
  const gateway = await startGateway(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    server: { servlet: { 'context-path': '/gate' } },
  })
  const inFlight = async () => {
    await pause(50)
    const metrics = await readMetrics(gateway)
    return [
      metrics.get('fairlead_requests_in_flight'),
      metrics.get('fairlead_upstream_requests_in_flight{service="clouddriver"}'),
    ]
  }
  // The request that reads the metrics counts itself.
  assert.equal((await inFlight())[0], 1)
  const waiting = [1, 2, 3].map(() => get(`${gateway}/networks`).on('error', () => {}))
  while (clouddriver.requests.length < 3) await pause(10)
  assert.deepEqual(await inFlight(), [4, 3])

  for (const request of waiting) request.destroy()
  await fetch(`${gateway}/instanceTypes`)
  await fetch(gateway.replace('/gate', '/outside'))
  await fetch(`${gateway}/a%2Fb`)

  assert.deepEqual(await inFlight(), [1, 0])
  const metrics = await readMetrics(gateway)
  assert.equal(metrics.get('fairlead_requests_total{operation="allUsingGET",method="GET",status="499"}'), 3)
})

test('the process tells about its memory, processor time and event loop', async (t) => {
  const metrics = await readMetrics(await startGateway(t, {}))
  for (const name of [
    'fairlead_process_resident_memory_bytes',
    'fairlead_process_cpu_seconds_total',
    'fairlead_nodejs_eventloop_lag_seconds',
  ]) {
    assert.ok(metrics.has(name), name)
  }
})
