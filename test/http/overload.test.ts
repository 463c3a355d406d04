import assert from 'node:assert/strict'
import { connect } from 'node:net'
import test from 'node:test'
import { Overload } from '../../src/http/overload.ts'
import { startGateway } from '../support/gateway.ts'
import { silence, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

type Request = Parameters<Overload['enter']>[0]
type Response = Parameters<Overload['enter']>[1]

function create(settings: Partial<ConstructorParameters<typeof Overload>[0]> = {}) {
  const changes: boolean[] = []
  const overload = new Overload(
    { enabled: true, maxDelayMs: 100, maxRequests: 3, ...settings },
    {
      keptPaths: ['/health', '/login', '/login/oauth2/code/{registration}'],
      contextPath: '/gate',
      onChange: (isOverloaded) => changes.push(isOverloaded),
    },
  )
  const response = { once: () => {}, writeHead: () => ({ end: () => {} }) } as unknown as Response
  const enter = (url: string, priority?: string) => {
    const headers = priority === undefined ? {} : { 'x-spinnaker-priority': priority }
    const isServed = overload.enter({ method: 'GET', url, headers } as unknown as Request, response)
    if (isServed) overload.leave()
    return isServed
  }
  const sample = (delayMs: number, times: number) => {
    for (let count = 0; count < times; count++) overload.sample(delayMs)
  }
  return { overload, enter, sample, changes, response }
}

const seldom = (enter: () => boolean) => Array.from({ length: 200 }, enter).filter(Boolean).length

test('low priority is rejected first, then all but probes and logins', () => {
  const { enter, sample, changes } = create()
  sample(150, 3)
  assert.equal(
    seldom(() => enter('/gate/tasks')),
    200,
  )
  sample(150, 10)
  assert.equal(
    seldom(() => enter('/gate/tasks')),
    0,
  )
  assert.equal(
    seldom(() => enter('/gate/tasks', 'low')),
    0,
  )
  assert.equal(
    seldom(() => enter('/gate/tasks', 'high')),
    200,
  )
  sample(250, 10)
  assert.equal(
    seldom(() => enter('/gate/tasks', 'high')),
    0,
  )
  for (const path of ['/gate/health', '/health?a=b', '/gate/login', '/gate/login/oauth2/code/github?code=1'])
    assert.equal(
      seldom(() => enter(path)),
      200,
      path,
    )
  assert.equal(
    seldom(() => enter('/gate/loginx')),
    0,
  )
  assert.deepEqual(changes, [true])
})

test('the share that is rejected falls slowly, and short delays are ignored', () => {
  const { enter, sample, changes } = create()
  sample(1000, 3)
  sample(0, 1)
  sample(1000, 3)
  assert.deepEqual(changes, [])
  sample(1000, 20)
  sample(0, 25)
  const served = seldom(() => enter('/tasks'))
  assert.ok(served > 40 && served < 160, `${served} of 200`)
  sample(0, 30)
  assert.equal(
    seldom(() => enter('/tasks')),
    200,
  )
  assert.deepEqual(changes, [true, false])
})

test('switched off, every request is served', () => {
  const { overload, enter, sample } = create({ enabled: false })
  sample(10_000, 100)
  for (let count = 0; count < 10; count++) overload.enter({ headers: {} } as unknown as Request, {} as Response)
  assert.ok(enter('/tasks'))
})

test('requests beyond the bound get 503, probes do not', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const gateway = await startGateway(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    http: { overload: { maxRequests: 2 } },
  })
  const running = [fetch(`${gateway}/networks`), fetch(`${gateway}/networks`)]
  await waitUntil(() => clouddriver.requests.length === 2, 'two requests')
  const refused = await fetch(`${gateway}/version`)
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.match(((await refused.json()) as { message: string }).message, /overloaded/)
  assert.equal((await fetch(`${gateway}/health`)).status, 200)
  assert.match(
    await (await fetch(`${gateway}/spectator/metrics`)).text(),
    /fairlead_requests_shed_total\{reason="concurrency"\} 1\n/,
  )
  clouddriver.release({})
  assert.deepEqual(
    (await Promise.all(running)).map(({ status }) => status),
    [200, 200],
  )
  assert.equal((await fetch(`${gateway}/version`)).status, 200)
})

test('an address may open so many connections', async (t) => {
  const gateway = await startGateway(t, { http: { maxConnectionsPerAddress: 2 } })
  const open = () => {
    const socket = connect(Number(new URL(gateway).port), '127.0.0.1')
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    return { socket, received: () => received }
  }
  const kept = [open(), open()]
  for (const { socket } of kept) socket.write('GET /health HTTP/1.1\r\nhost: a\r\n\r\n')
  await waitUntil(() => kept.every(({ received }) => received().startsWith('HTTP/1.1 200')), 'two answers')
  const third = open()
  await waitUntil(() => third.socket.closed || third.received().includes('TOO_MANY_CONNECTIONS'), 'a refusal')
  assert.match(third.received(), /^HTTP\/1\.1 503 .*retry-after: 1/s)
  kept[0]?.socket.destroy()
  await waitUntil(async () => {
    const next = open()
    next.socket.write('GET /health HTTP/1.1\r\nhost: a\r\n\r\n')
    await waitUntil(() => next.received() !== '' || next.socket.closed, 'an answer')
    next.socket.destroy()
    return next.received().startsWith('HTTP/1.1 200')
  }, 'a free place')
})
