import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import dns from 'node:dns'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import test, { type TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { GatewayError } from '../../packages/base/errors.ts'
import { createServiceCalls } from '../../packages/external/call-service.ts'
import { anonymousIdentity } from '../../packages/gateway/upstreams/identity.ts'
import { RetryBudget } from '../../packages/gateway/upstreams/retry-budget.ts'
import { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'
import { about, examineSettings } from '../doctor/support.ts'
import { createFiles, createIssuers } from '../login/x509/support.ts'
import { startGateway } from '../support/gateway.ts'
import { brokenOff, Reply, silence, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

type Settings = ConstructorParameters<typeof Upstreams>[0]

const bounds = { connectTimeoutMs: 1000, readTimeoutMs: 0, maxConnections: 10, maxWaiting: 10 }

function open(
  t: TestContext,
  settings: Partial<Settings> & { baseUrls: readonly string[] },
  surroundings: ConstructorParameters<typeof Upstreams>[1] = {},
): Upstreams {
  const { baseUrls, ...others } = settings
  const [baseUrl = ''] = baseUrls
  const upstreams = new Upstreams(
    {
      services: { orca: { kind: 'external', baseUrl, baseUrls } },
      bounds,
      keepAliveMs: 10_000,
      maxAnswerBytes: 1_000_000,
      ...others,
    },
    surroundings,
  )
  t.after(() => upstreams.close())
  return upstreams
}

function read(upstreams: Upstreams, path = '/tasks') {
  return upstreams.call('orca', { path }, anonymousIdentity)
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error instanceof GatewayError ? error.code : `none: ${String(error)}`
}

async function serve(
  t: TestContext,
  handle: RequestListener,
  host = '127.0.0.1',
  port = 0,
): Promise<number> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

test('a failing service is suspended until it answers', async (t) => {
  const orca = await startUpstream(t, () => brokenOff)
  const lines: string[] = []
  const gateway = await startGateway(
    t,
    {
      services: {
        orca: { baseUrl: orca.url },
        default: { circuitBreaker: { openMs: 20, maxOpenMs: 20 } },
      },
    },
    { log: ({ msg }) => lines.push(String(msg)) },
  )
  const ask = () => fetch(`${gateway}/tasks/1`)
  const statuses: number[] = []
  for (let count = 0; count < 10; count++) statuses.push((await ask()).status)
  assert.equal(statuses[0], 502)
  assert.equal(statuses.at(-1), 503)

  const refused = await ask()
  const body = (await refused.json()) as { code: string; message: string }
  assert.equal(body.code, 'CIRCUIT_OPEN')
  assert.match(
    body.message,
    /^orca has failed repeatedly.* \d{4}-\d\d-\d\dT[\d:]+Z at the earliest/,
  )
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
  const metrics = await (await fetch(`${gateway}/spectator/metrics`)).text()
  assert.match(metrics, /fairlead_upstream_circuit_state\{service="orca",instance="1"\} [12]\n/)
  assert.match(metrics, /fairlead_upstream_circuit_opened_total\{service="orca"\} 1\n/)
  const { troubles } = (await (await fetch(`${gateway}/health/readiness`)).json()) as {
    troubles: string[]
  }
  assert.match(troubles.join(), /orca, instance 1, has failed repeatedly/)
  const write = await fetch(`${gateway}/tasks/1/cancel`, { method: 'PUT' })
  assert.equal(write.status, 503)

  const calls = orca.requests.length
  await waitUntil(() => orca.background.length >= 3, 'probes')
  assert.equal(orca.requests.length, calls)
  orca.answer({ 'GET /tasks/1': { id: '1' } })
  await waitUntil(async () => (await ask()).status === 200, 'recovery')
  assert.ok(lines.some((line) => line.includes('calls to it are suspended')))
  assert.ok(lines.some((line) => line.includes('calls to it are resumed')))
  const after = await fetch(`${gateway}/health/readiness`)
  assert.equal(((await after.json()) as { troubles?: string[] }).troubles, undefined)
})

test('errors that a service answers never suspend it', async (t) => {
  const orca = await startUpstream(t, { 'GET /tasks': new Reply(503) })
  const upstreams = open(t, { baseUrls: [orca.url] })
  for (let count = 0; count < 30; count++) assert.equal((await read(upstreams)).status, 503)
  assert.equal(orca.background.length, 30)
})

test('calls go where the embedded back ends are', async (t) => {
  const both = [
    await startUpstream(t, { 'GET /orca/tasks': [] }),
    await startUpstream(t, { 'GET /orca/tasks': [] }),
  ]
  const baseUrls = both.map(({ url }) => url)
  let embeddedUrl: string | undefined
  const services = { orca: { kind: 'embedded', service: 'orca', remote: { baseUrls } } } as const
  const upstreams = open(t, { baseUrls, services }, { embeddedUrl: () => embeddedUrl })
  const countAll = async () => {
    for (let count = 0; count < 10; count++) assert.equal((await read(upstreams)).status, 200)
    return both.map(({ requests, background }) => requests.length + background.length)
  }

  for (const [index, url] of baseUrls.entries()) {
    embeddedUrl = url
    assert.deepEqual(await countAll(), index === 0 ? [10, 0] : [10, 10])
  }
})

test('an answer to a call under way closes the circuit', async (t) => {
  const held: ServerResponse[] = []
  const port = await serve(t, ({ url, socket }, outgoing) => {
    if (url === '/held') held.push(outgoing)
    else socket.destroy()
  })
  const upstreams = open(t, {
    baseUrls: [`http://127.0.0.1:${port}`],
    circuit: { failures: 1, windowMs: 10_000, openMs: 1_000_000, maxOpenMs: 1_000_000 },
  })
  const earlier = read(upstreams, '/held')
  await waitUntil(() => held.length === 1, 'the first call')
  await codeOf(read(upstreams, '/broken'))
  assert.equal(await codeOf(read(upstreams, '/held')), 'CIRCUIT_OPEN')

  held[0]?.end('{}')
  await earlier
  const later = read(upstreams, '/held')
  await waitUntil(() => held.length === 2, 'the next call')
  held[1]?.end('{}')
  assert.equal((await later).status, 200)
})

test('half of the calls have to fail', async (t) => {
  const port = await serve(t, ({ url, socket }, outgoing) => {
    if (url === '/broken') socket.destroy()
    else outgoing.end('{}')
  })
  const upstreams = open(t, { baseUrls: [`http://127.0.0.1:${port}`], retry: false })
  assert.equal(await codeOf(read(upstreams, '/broken')), 'UPSTREAM_UNREACHABLE')
  for (let count = 0; count < 20; count++) {
    assert.equal((await read(upstreams)).status, 200)
    assert.equal((await read(upstreams)).status, 200)
    assert.equal(await codeOf(read(upstreams, '/broken')), 'UPSTREAM_UNREACHABLE')
  }
})

for (const [what, answer] of [
  ['a line feed without a carriage return', 'HTTP/1.1 200 OK\ncontent-length: 2\n\n{}'],
  [
    'a header of 80 KB',
    `HTTP/1.1 200 OK\r\nx-filler: ${'x'.repeat(80_000)}\r\ncontent-length: 2\r\n\r\n{}`,
  ],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
] as const) {
  test(`an operation that answers with ${what} leaves the others of its service alone`, async (t) => {
    const port = await serve(t, ({ url, socket }, outgoing) => {
      if (url?.startsWith('/networks')) socket.end(answer)
      else outgoing.end('[]')
    })
    const upstreams = open(t, { baseUrls: [`http://127.0.0.1:${port}`] })
    for (let count = 0; count < 15; count++)
      assert.equal(await codeOf(read(upstreams, '/networks')), 'UPSTREAM_UNREADABLE')
    assert.equal((await read(upstreams)).status, 200)
    const gateway = await startGateway(t, {
      services: { clouddriver: { baseUrl: `http://127.0.0.1:${port}` } },
    })
    for (let count = 0; count < 15; count++) {
      const refused = await fetch(`${gateway}/networks`)
      assert.equal(refused.status, 502)
      assert.match(await refused.text(), /not valid HTTP/)
    }
    assert.equal((await fetch(`${gateway}/instanceTypes`)).status, 200)
  })
}

test('of several addresses, one that speaks no HTTP is left out', async (t) => {
  const wrong = await serve(t, ({ socket }) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'))
  const right = await serve(t, (_incoming, outgoing) => outgoing.end('{}'))
  const upstreams = open(t, { baseUrls: [wrong, right].map((port) => `http://127.0.0.1:${port}`) })
  for (let count = 0; count < 20; count++) await codeOf(read(upstreams))
  assert.deepEqual(
    upstreams.endpoints().map(({ circuit }) => circuit === 'closed'),
    [false, true],
  )
  assert.equal((await read(upstreams)).status, 200)
})

test('the demand of a proxy for a login is not passed on', async (t) => {
  const clouddriver = await startUpstream(
    t,
    () => new Reply(407, '', { 'proxy-authenticate': 'Basic' }),
  )
  const gateway = await startGateway(t, { services: { clouddriver: { baseUrl: clouddriver.url } } })
  for (const accept of ['application/json', 'application/x-yaml']) {
    const answer = await fetch(`${gateway}/networks`, { headers: { accept } })
    assert.equal(answer.status, 502)
    assert.match(await answer.text(), /A proxy on the way to clouddriver/)
  }
})

test('a client that leaves is no failure of the service', async (t) => {
  const orca = await startUpstream(t, () => silence)
  const upstreams = open(t, {
    baseUrls: [orca.url],
    circuit: { failures: 1, windowMs: 10_000, openMs: 1000, maxOpenMs: 1000 },
  })
  const gone = new AbortController()
  const left = upstreams.call('orca', { path: '/tasks', signal: gone.signal }, anonymousIdentity)
  await waitUntil(() => orca.background.length === 1, 'the call')
  gone.abort()
  await assert.rejects(left)
  assert.equal(upstreams.endpoints()[0]?.circuit, 'closed')
})

test('retries stay within a fifth of the calls', async (t) => {
  let asked = 0
  const port = await serve(t, ({ socket }) => {
    asked++
    socket.destroy()
  })
  const results: string[] = []
  const surroundings = { onRetry: (_service: string, result: string) => results.push(result) }
  const upstreams = open(
    t,
    { baseUrls: [`http://127.0.0.1:${port}`], circuit: false },
    surroundings,
  )
  for (let count = 0; count < 100; count++)
    assert.equal(await codeOf(read(upstreams)), 'UPSTREAM_UNREACHABLE')
  const retried = results.filter((result) => result === 'retried').length
  assert.equal(asked, 100 + retried)
  assert.ok(results.includes('over-budget'))
})

test('a retry budget refills slowly and has a bound', () => {
  const budget = new RetryBudget()
  const takeAll = (nowMs: number) => {
    for (let count = 0; ; count++) if (!budget.take(nowMs)) return count
  }
  assert.equal(takeAll(0), 10)
  for (let count = 0; count < 50; count++) budget.count()
  assert.equal(takeAll(0), 10)
  assert.equal(takeAll(5000), 5)
  assert.equal(takeAll(1_000_000), 10)
  for (let count = 0; count < 100_000; count++) budget.count()
  assert.ok(takeAll(1_000_000) <= 101)
})

test('of several addresses, those that answer are called', async (t) => {
  const dead = await startUpstream(t, () => brokenOff)
  const busy = await startUpstream(t, () => new Reply(503))
  const sound = await startUpstream(t, { 'GET /tasks': [], 'POST /ops': { ref: '/tasks/1' } })
  const upstreams = open(t, { baseUrls: [dead.url, busy.url, sound.url] })
  for (let count = 0; count < 40; count++) assert.equal((await read(upstreams)).status, 200)
  await waitUntil(
    () => upstreams.endpoints().filter(({ circuit }) => circuit !== 'closed').length === 2,
    'two open circuits',
  )
  const calls = dead.background.filter(({ path }) => path === '/tasks').length
  for (let count = 0; count < 5; count++) {
    const made = await upstreams.call(
      'orca',
      { method: 'POST', path: '/ops', body: {} },
      anonymousIdentity,
    )
    assert.equal(made.status, 200)
  }
  assert.equal(dead.background.filter(({ path }) => path === '/tasks').length, calls)
})

test('a change that was sent is never repeated elsewhere', async (t) => {
  const first = await startUpstream(t, () => brokenOff)
  const second = await startUpstream(t, () => new Reply(503))
  const upstreams = open(t, { baseUrls: [first.url, second.url], circuit: false })
  const outcomes: string[] = []
  for (let count = 0; count < 4; count++) {
    const call = upstreams.call(
      'orca',
      { method: 'POST', path: '/ops', body: {} },
      anonymousIdentity,
    )
    outcomes.push(
      await call.then(
        ({ status }) => String(status),
        ({ code }: GatewayError) => code,
      ),
    )
  }
  assert.deepEqual(outcomes.toSorted(), [
    '503',
    '503',
    'UPSTREAM_UNREACHABLE',
    'UPSTREAM_UNREACHABLE',
  ])
  assert.equal(first.background.length + second.background.length, 4)
})

test('a streamed read is retried at another address', async (t) => {
  const dead = await startUpstream(t, () => brokenOff)
  const busy = await startUpstream(t, () => new Reply(502))
  const sound = await startUpstream(t, { 'GET /networks': { aws: [] } })
  const kayenta = await startUpstream(t, { 'PUT /canaryConfig/1': { canaryConfigId: '1' } })
  const gateway = await startGateway(t, {
    services: {
      clouddriver: { baseUrls: [dead.url, busy.url, sound.url] },
      kayenta: { baseUrls: ['http://127.0.0.1:1', kayenta.url] },
    },
  })
  for (let count = 0; count < 20; count++) {
    const answer = await fetch(`${gateway}/networks`)
    assert.equal(answer.status, 200)
    assert.deepEqual(await answer.json(), { aws: [] })
  }
  // A change of which nothing was sent, too, as long as its body is at hand.
  for (let count = 0; count < 3; count++) {
    const headers = { 'content-type': 'application/x-yaml' }
    const answer = await fetch(`${gateway}/v2/canaryConfig/1`, {
      method: 'PUT',
      headers,
      body: 'name: good',
    })
    assert.equal(answer.status, 200)
  }
  assert.deepEqual(
    kayenta.requests.map(({ body }) => body),
    Array(3).fill('{"name":"good"}'),
  )
})

test('calls wait their turn within a bound', async (t) => {
  const held: { url: string | undefined; outgoing: ServerResponse }[] = []
  const port = await serve(t, ({ url }, outgoing) => void held.push({ url, outgoing }))
  const upstreams = open(t, {
    baseUrls: [`http://127.0.0.1:${port}`],
    bounds: { ...bounds, maxConnections: 1, maxWaiting: 2 },
  })
  const gone = new AbortController()
  const calls = [
    read(upstreams, '/1'),
    upstreams.call('orca', { path: '/2', signal: gone.signal }, anonymousIdentity),
    read(upstreams, '/3'),
  ]
  assert.equal(await codeOf(read(upstreams, '/4')), 'UPSTREAM_OVERLOADED')
  assert.deepEqual([...upstreams.pending()], [['orca', { pending: 3, waiting: 2 }]])
  gone.abort()
  await assert.rejects(calls[1] as Promise<unknown>)
  await waitUntil(() => held.length === 1, 'the first call')
  held[0]?.outgoing.end('{}')
  await waitUntil(() => held.length === 2, 'the next call')
  held[1]?.outgoing.end('{}')
  await Promise.all([calls[0], calls[2]])
  assert.deepEqual(
    held.map(({ url }) => url),
    ['/1', '/3'],
  )
  assert.deepEqual([...upstreams.pending()], [['orca', { pending: 0, waiting: 0 }]])
})

test('a call waits no longer than the read timeout', async (t) => {
  const orca = await startUpstream(t, () => silence)
  const upstreams = open(t, {
    baseUrls: [orca.url],
    bounds: { ...bounds, maxConnections: 1, readTimeoutMs: 30 },
  })
  // Undici looks at timeouts twice a second, so the call ahead is answered later.
  const first = codeOf(read(upstreams))
  assert.equal(await codeOf(read(upstreams)), 'UPSTREAM_OVERLOADED')
  assert.equal(await first, 'UPSTREAM_TIMEOUT')
})

test('changes and lists have timeouts of their own', { timeout: 60_000 }, async (t) => {
  const orca = await startUpstream(t, () => silence)
  const limits = { ...bounds, readTimeoutMs: 0, changeTimeoutMs: 50, listTimeoutMs: 50 }
  const upstreams = open(t, { baseUrls: [orca.url], bounds: limits })
  const leaving = new AbortController()
  let isRead = false
  const read = codeOf(
    upstreams.call('orca', { path: '/tasks', signal: leaving.signal }, anonymousIdentity),
  ).finally(() => {
    isRead = true
  })
  const others = [
    { path: '/pipelines', isList: true } as const,
    { method: 'PUT', path: '/pipelines/1/pause' } as const,
  ]
  const codes = await Promise.all(
    others.map((call) => codeOf(upstreams.call('orca', call, anonymousIdentity))),
  )
  assert.deepEqual([codes, isRead], [['UPSTREAM_TIMEOUT', 'UPSTREAM_TIMEOUT'], false])
  leaving.abort()
  await read
})

const asked: Record<'read' | 'list' | 'change', [method: string, path: string][]> = {
  read: [
    ['GET', '/tasks/t1'],
    ['GET', '/applications/web/tasks'],
    ['GET', '/pipelines/p1'],
  ],
  list: [
    ['GET', '/applications/web/pipelines'],
    ['GET', '/executions?pipelineConfigIds=p1'],
  ],
  change: [
    ['PUT', '/pipelines/p1/pause'],
    ['PUT', '/tasks/t1/cancel'],
    ['POST', '/tasks'],
    ['DELETE', '/pipelines/p1'],
  ],
}

for (const [late, timeouts] of [
  [['change'], { readTimeoutMs: 0, changeTimeoutMs: 50, listTimeoutMs: 0 }],
  [['list'], { readTimeoutMs: 0, changeTimeoutMs: 0, listTimeoutMs: 50 }],
  [['read', 'change'], { readTimeoutMs: 50, listTimeoutMs: 0 }],
] as const) {
  test(`a timeout of 0 is none: ${JSON.stringify(timeouts)}`, { timeout: 60_000 }, async (t) => {
    const orca = await startUpstream(t, () => silence)
    const gateway = await startGateway(t, {
      services: {
        orca: { baseUrl: orca.url, ...timeouts },
        default: { circuitBreaker: { enabled: false } },
      },
    })
    const send = async ([method, path]: [string, string]) => {
      const body = method === 'POST' ? '{"application":"web","job":[{"type":"wait"}]}' : undefined
      const headers: Record<string, string> =
        body === undefined ? {} : { 'content-type': 'application/json' }
      return (await fetch(gateway + path, { method, headers, ...(body !== undefined && { body }) }))
        .status
    }
    const ended: number[] = []
    const patient = (['read', 'list', 'change'] as const)
      .filter((kind) => !(late as readonly string[]).includes(kind))
      .flatMap((kind) => asked[kind])
      .map((one) => send(one).finally(() => ended.push(1)))
    const impatient = await Promise.all(late.flatMap((kind) => asked[kind].map(send)))
    assert.deepEqual([new Set(impatient), ended.length], [new Set([504]), 0])
    orca.answer(({ path }) =>
      path === '/pipelines' || path.startsWith('/v2/') ? [] : { id: 't1', ref: '/tasks/t1' },
    )
    orca.release([])
    for (const status of await Promise.all(patient))
      assert.ok(status < 300 || status === 502, String(status))
  })
}

test('the timeout of a call bounds its wait and its whole answer', async (t) => {
  const port = await serve(t, (_incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    const trickle = setInterval(() => outgoing.write(' '), 10)
    outgoing.on('close', () => clearInterval(trickle))
  })
  const limits = { ...bounds, maxConnections: 1, listTimeoutMs: 50 }
  const upstreams = open(t, { baseUrls: [`http://127.0.0.1:${port}`], bounds: limits })
  const list = () =>
    codeOf(upstreams.call('orca', { path: '/pipelines', isList: true }, anonymousIdentity))
  assert.deepEqual(await Promise.all([list(), list()]), ['UPSTREAM_TIMEOUT', 'UPSTREAM_OVERLOADED'])
})

test('a change of DNS is followed under load', async (t) => {
  const served: string[] = []
  const port = await serve(
    t,
    (_incoming, outgoing) => void outgoing.end(JSON.stringify(served.push('old'))),
  )
  await serve(
    t,
    (_incoming, outgoing) => void outgoing.end(JSON.stringify(served.push('new'))),
    '127.0.0.2',
    port,
  )
  let address = '127.0.0.1'
  const lookup: LookupFunction = (_name, options, done) =>
    options.all ? done(null, [{ address, family: 4 }]) : done(null, address, 4)
  t.mock.method(dns, 'lookup', lookup as typeof dns.lookup)
  const upstreams = open(t, { baseUrls: [`http://orca.test:${port}`] })
  await read(upstreams)
  assert.deepEqual(served, ['old'])
  address = '127.0.0.2'
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 60_000)
  await waitUntil(async () => {
    await read(upstreams)
    return served.at(-1) === 'new'
  }, 'the new address')
})

test('a service that hangs leaves the others alone', async (t) => {
  const orca = await startUpstream(t, () => silence)
  const clouddriver = await startUpstream(t, { 'GET /networks': { aws: [] } })
  const gateway = await startGateway(t, {
    services: {
      orca: { baseUrl: orca.url, maxRequests: 20, maxWaitingRequests: 20 },
      clouddriver: { baseUrl: clouddriver.url },
    },
  })
  const order: string[] = []
  const hanging = Array.from({ length: 60 }, async (_, index) => {
    const { status } = await fetch(`${gateway}/tasks/${index}`)
    order.push(`orca ${status}`)
  })
  // The health check takes a place as well.
  const running = () => orca.requests.length + orca.background.length
  await waitUntil(
    () => running() === 20 && order.length === 60 - 20 - orca.requests.length,
    'a full queue',
  )
  const refused = order.length
  assert.deepEqual([...new Set(order)], ['orca 503'])
  for (let count = 0; count < 20; count++) {
    assert.equal((await fetch(`${gateway}/networks`)).status, 200)
    order.push('clouddriver')
  }
  orca.answer(() => ({ id: '1' }))
  orca.release({ id: '1' })
  await Promise.all(hanging)
  assert.deepEqual(order.slice(refused), [
    ...Array(20).fill('clouddriver'),
    ...Array(60 - refused).fill('orca 200'),
  ])
})

test('cached lists state their age while a service is away', async (t) => {
  const front50 = await startUpstream(t, { 'GET /v2/applications': [{ name: 'web' }] })
  const clouddriver = await startUpstream(t, {
    'GET /credentials?expand=true': [{ name: 'prod' }],
    'GET /applications': [],
  })
  const gateway = await startGateway(t, {
    services: {
      front50: { baseUrl: front50.url, applicationRefreshIntervalMs: 10 },
      clouddriver: { baseUrl: clouddriver.url },
    },
  })
  const read = async (path: string) => {
    const answer = await fetch(gateway + path)
    const names = ((await answer.json()) as { name: string }[]).map(({ name }) => name)
    return {
      status: answer.status,
      names,
      age: answer.headers.get('age'),
      warning: answer.headers.get('warning'),
    }
  }
  const fresh = { status: 200, age: null, warning: null }
  await waitUntil(async () => (await read('/applications')).names.length > 0, 'applications')
  assert.deepEqual(await read('/applications'), { ...fresh, names: ['web'] })
  await waitUntil(async () => (await read('/credentials')).names.length > 0, 'accounts')
  assert.deepEqual(await read('/credentials'), { ...fresh, names: ['prod'] })

  front50.answer(() => brokenOff)
  await waitUntil(async () => (await read('/applications')).warning !== null, 'a warning')
  const stale = await read('/applications')
  assert.deepEqual([stale.status, stale.names], [200, ['web']])
  assert.match(stale.age ?? '', /^\d+$/)
  assert.match(
    stale.warning ?? '',
    /^110 fairlead "front50 does not answer; what it reported \d+ seconds ago is shown"$/,
  )
  assert.equal((await read('/credentials')).warning, null)

  front50.answer({ 'GET /v2/applications': [{ name: 'web' }, { name: 'new' }] })
  await waitUntil(async () => (await read('/applications')).names.length === 2, 'recovery')
  assert.deepEqual(await read('/applications'), { ...fresh, names: ['web', 'new'] })
})

/** A service as a process of its own, which a signal stops: the kernel then still accepts connections and keeps the open ones. */
async function startProcess(t: TestContext, answers: Record<string, unknown>) {
  const program = `
    const answers = ${JSON.stringify(answers)}
    const server = require('node:http').createServer((incoming, outgoing) => {
      const answer = answers[incoming.url.split('?')[0]]
      outgoing.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}))
    })
    server.keepAliveTimeout = 600_000
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await ended
  })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    url: `http://127.0.0.1:${String(port).trim()}`,
    signal: (name: NodeJS.Signals) => child.kill(name),
  }
}

test('a stopped process of one service leaves the others alone', {
  timeout: 120_000,
}, async (t) => {
  const clouddriver = await startProcess(t, {
    '/networks': { aws: [] },
    '/credentials': [{ name: 'prod' }],
    '/applications': [],
    '/applications/web': { name: 'web', clusters: { prod: [{ name: 'web-main' }] } },
    '/search': [{ results: [] }],
  })
  const front50 = await startUpstream(t, {
    'GET /v2/applications': [{ name: 'web' }],
    'GET /v2/applications/web': { name: 'web' },
    'GET /v2/projects': [{ id: '1', name: 'shop' }],
    'GET /pipelines/web': [{ id: 'p', name: 'main' }],
  })
  const orca = await startUpstream(t, () => [])
  const lines: Record<string, unknown>[] = []
  const gateway = await startGateway(
    t,
    {
      services: {
        clouddriver: { baseUrl: clouddriver.url, readTimeoutMs: 300 },
        front50: { baseUrl: front50.url, applicationRefreshIntervalMs: 10 },
        orca: { baseUrl: orca.url },
      },
    },
    { log: (line) => lines.push(line) },
  )
  const read = async (path: string) => {
    const answer = await fetch(gateway + path)
    return {
      path,
      status: answer.status,
      body: (await answer.json()) as unknown,
      age: answer.headers.get('age'),
    }
  }
  const readAll = (paths: readonly string[]) => Promise.all(paths.map(read))
  const cached = ['/applications', '/credentials']
  const others = [
    '/projects',
    '/applications/web/pipelineConfigs',
    '/applications/*/executions/search',
    ...cached,
  ]
  // More than one, so that several connections stay open and idle.
  const dependent = ['/networks', '/networks', '/search?q=web&type=applications']
  await waitUntil(
    async () => (await readAll(cached)).every(({ body }) => (body as unknown[]).length === 1),
    'both lists',
  )
  const before = await readAll(others)
  const detail = await read('/applications/web')
  const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status)
  assert.deepEqual(statusesOf(await readAll(dependent)), [200, 200, 200])

  clouddriver.signal('SIGSTOP')
  assert.deepEqual(statusesOf(await readAll([...dependent, '/networks'])), [504, 504, 504, 504])
  const calls = front50.requests.length + orca.requests.length
  const withoutAge = (answers: { age: unknown }[]) =>
    answers.map((answer) => ({ ...answer, age: null }))
  assert.deepEqual(withoutAge(await readAll(others)), before)
  assert.equal(front50.requests.length + orca.requests.length - calls, 3)
  await waitUntil(async () => (await read('/applications')).age !== null, 'the age of the list')
  const whileStopped = await read('/applications/web')
  const { clusters, ...definition } = whileStopped.body as { clusters: unknown }
  assert.deepEqual(
    [whileStopped.status, clusters, definition],
    [200, {}, { name: 'web', attributes: { name: 'web' } }],
  )
  const told = await fetch(`${gateway}/applications/web`)
  assert.equal(
    told.headers.get('warning'),
    '199 fairlead "clouddriver does not answer, so its part may be missing"',
  )
  const requestId = told.headers.get('x-spinnaker-request-id')
  const line = lines.find(
    (line) => line['requestId'] === requestId && line['services'] !== undefined,
  )
  assert.deepEqual([line?.['application'], line?.['services']], ['web', ['clouddriver']])

  clouddriver.signal('SIGCONT')
  await waitUntil(async () => (await read('/networks')).status === 200, 'the service')
  const resumed = await read('/applications/web')
  assert.deepEqual(resumed, detail)
  assert.deepEqual(Object.keys((resumed.body as { clusters: object }).clusters), ['prod'])
})

test('services that demand client certificates are called with that of the key store', async (t) => {
  const files = createFiles(t)
  const { authority, server: certificate } = await createIssuers()
  const own = await authority.issue({ subject: 'CN=gateway', usage: 'client' })
  const keyStore = files.write('gate.pem', `${own.key}\n${own.cert}`)
  const trustStore = files.write('ca.pem', authority.certificate)
  const callers: unknown[] = []
  const tls = {
    cert: certificate.cert,
    key: certificate.key,
    ca: authority.certificate,
    requestCert: true,
  }
  const server = createSecureServer(tls, ({ url, socket }, outgoing) => {
    callers.push([url?.split('?')[0], (socket as TLSSocket).getPeerCertificate().subject.CN])
    outgoing.setHeader('content-type', 'application/json').end(url === '/networks' ? '{}' : '[]')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const clouddriver = { baseUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const anonymous = { enabled: true }

  const without = await startGateway(t, { anonymous, services: { clouddriver } })
  assert.equal((await fetch(`${without}/networks`)).status, 502)
  assert.deepEqual(callers, [])

  const settings = {
    anonymous,
    services: { clouddriver },
    okHttpClient: { keyStore: `file:${keyStore}`, trustStore },
  }
  const gateway = await startGateway(t, settings)
  assert.equal((await fetch(`${gateway}/networks`)).status, 200)
  assert.ok(
    callers.some((caller) => isDeepStrictEqual(caller, ['/networks', 'gateway'])),
    JSON.stringify(callers),
  )
  const [finding] = about(await examineSettings(t, settings), 'Service clouddriver')
  // A busy machine answers late, which is a warning.
  assert.match(String(finding?.found), /^it answers 200 after \d+ ms$/)

  const { call, close } = createServiceCalls({
    services: { clouddriver: clouddriver.baseUrl },
    timeoutMs: 60_000,
    maxAnswerBytes: 1000,
    tls: { ca: [authority.certificate], cert: own.cert, key: own.key },
  })
  t.after(close)
  assert.equal((await call('clouddriver', { method: 'GET', path: '/back-end' })).status, 200)
  assert.deepEqual(callers.at(-1), ['/back-end', 'gateway'])
})
