import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { createFiles, createIssuers } from '../login/x509/support.ts'
import { freePort } from '../support/free-port.ts'
import { runGateway } from '../support/gateway.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { createHome, type ServeProcess, startServe } from '../support/serve.ts'
import { silence, startUpstream, type Upstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Longer than any test: what waits for this bound is a defect. */
const lifecycle = { 'timeout-per-shutdown-phase': '1h' }

/** A request over a connection that the client would keep. */
function ask(t: TestContext, url: string): Promise<IncomingMessage> {
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  return new Promise((resolve, reject) => get(url, { agent }, resolve).once('error', reject))
}

async function read(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Until the process accepts no connections any more. */
async function untilClosed(url: string): Promise<void> {
  const isOpen = () =>
    fetch(`${url}/health`, { headers: { connection: 'close' } }).then(
      ...([() => true, () => false] as const),
    )
  while (await isOpen()) await pause(10)
}

async function untilAsked(service: Upstream, times = 1): Promise<void> {
  while (service.requests.length < times) await pause(10)
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`after ${signal} running requests finish and the process exits 0`, async (t) => {
    const clouddriver = await startUpstream(t, { 'GET /networks': silence })
    const services = { clouddriver: { baseUrl: clouddriver.url } }
    const embedded = signal === 'SIGTERM'
    const gateway = startServe(t, { services, spring: { lifecycle } }, { embedded })
    const url = await gateway.listening
    const slow = ask(t, `${url}/networks`)
    slow.catch(() => {})
    await untilAsked(clouddriver)

    gateway.signal(signal)
    await untilClosed(url)
    clouddriver.release('{"aws":[]}')

    assert.equal((await slow).headers.connection, 'close')
    assert.equal(await read(await slow), '{"aws":[]}')
    assert.deepEqual(await gateway.exited, { code: 0, signal: null })
    assert.match(
      JSON.stringify(gateway.log()),
      new RegExp(`${signal}: finishing what is in flight`),
    )
  })
}

test('during a drain readiness fails while ports serve', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': '{"aws":[]}',
    'GET /networks/aws': silence,
  })
  const legacyServerPort = await freePort()
  const gateway = startServe(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    server: { 'drain-ms': '1h' },
    spring: { lifecycle },
    default: { legacyServerPort },
  })
  const url = await gateway.listening
  const urls = [url, `http://127.0.0.1:${legacyServerPort}`]
  const kept = await Promise.all(urls.map((base) => openRawConnection(t, base)))
  const silent = await Promise.all(urls.map((base) => openRawConnection(t, base)))
  const request = 'GET /networks HTTP/1.1\r\nhost: gate\r\n\r\n'
  for (const connection of kept) {
    connection.send(request)
    assert.equal((await connection.next()).headers['connection'], 'keep-alive')
  }

  gateway.signal('SIGTERM')
  while ((await fetch(`${url}/readyz`)).status !== 503) await pause(10)
  for (const base of urls) {
    assert.deepEqual(await (await fetch(`${base}/readyz`)).json(), {
      status: 'DOWN',
      waitingFor: ['shutdown'],
    })
    assert.equal((await fetch(`${base}/livez`)).status, 200)
    assert.equal((await fetch(`${base}/health`)).status, 503)
    assert.equal((await fetch(`${base}/networks`)).status, 200)
  }
  for (const connection of kept) {
    connection.send(request)
    assert.equal((await connection.next()).headers['connection'], 'close')
    await connection.ended
  }
  const running = ask(t, `${url}/networks/aws`)
  while (!clouddriver.requests.some(({ path }) => path === '/networks/aws')) await pause(10)

  gateway.signal('SIGTERM')
  await untilClosed(url)
  clouddriver.release('[]')
  assert.equal((await running).headers.connection, 'close')
  assert.equal(await read(await running), '[]')
  assert.deepEqual(await gateway.exited, { code: 0, signal: null })
  for (const connection of silent) await connection.ended
})

test('without probes of readiness nothing waits for a balancer', async (t) => {
  const http = { drainMs: 3_600_000, drainsAlways: false }
  const { gateway, url } = await runGateway(t, {}, { http })
  for (const path of ['/health', '/readyz'])
    assert.equal((await fetch(`${url}${path}`)).status, 200)
  await gateway.drain()
  assert.equal((await fetch(`${url}/readyz`)).status, 503)
})

test('a balancer that probes readiness gets its time', async (t) => {
  const http = { drainMs: 3_600_000, drainsAlways: false }
  const { gateway, url } = await runGateway(t, {}, { http })
  for (const path of ['/health', '/readyz', '/readyz'])
    assert.equal((await fetch(`${url}${path}`)).status, 200)
  const hurry = new AbortController()
  let isOver = false
  const drained = gateway.drain(hurry.signal).then(() => {
    isOver = true
  })
  assert.equal((await fetch(`${url}/readyz`)).status, 503)
  assert.equal(isOver, false)
  hurry.abort()
  await drained
})

test('idle connections serve one more request after a drain', async (t) => {
  const clouddriver = await startUpstream(t, { 'POST /ops': { id: 'one' }, 'GET /networks': '{}' })
  const hour = 3_600_000
  const { gateway, url, stop } = await runGateway(
    t,
    {
      anonymous: { enabled: true },
      services: { clouddriver: { baseUrl: clouddriver.url } },
      server: { 'drain-ms': '1h' },
      spring: { lifecycle },
    },
    { connectionTimes: { lastIdleMs: hour } },
  )
  const request = 'GET /networks HTTP/1.1\r\nhost: gate\r\n\r\n'
  const before = await openRawConnection(t, url)
  const drained = gateway.drain(AbortSignal.abort())
  const during = await openRawConnection(t, url)
  during.send(request)
  assert.equal((await during.next()).headers['connection'], 'keep-alive')
  await drained
  const closed = stop()
  await untilClosed(url)
  for (const connection of [before, during]) {
    connection.send(request)
    const { status, headers } = await connection.next()
    assert.deepEqual(
      { status, connection: headers['connection'] },
      { status: 200, connection: 'close' },
    )
  }
  await closed
})

for (const [what, begin] of [
  ['a handshake that nobody finishes', '\x16\x03\x01'],
  ['a connection that says nothing', ''],
  ['a request that was answered', 'GET /livez HTTP/1.1\r\nhost: gate\r\n\r\n'],
] as const) {
  test(`${what} does not hold up the end`, async (t) => {
    const { server } = await createIssuers()
    const files = createFiles(t)
    const ssl = {
      certificate: files.write('gate.pem', server.cert),
      'certificate-private-key': files.write('gate.key', server.key),
    }
    const encrypted = what.includes('handshake')
    const { url, stop } = await runGateway(t, {
      server: encrypted ? { ssl } : {},
      spring: { lifecycle },
    })
    const connection = await openRawConnection(t, url)
    connection.send(begin)
    if (begin.startsWith('GET')) await connection.next()
    await stop()
    await connection.ended
  })
}

test('requests are served until the call of a webhook is answered', async (t) => {
  const target = await startUpstream(t, { 'POST /start': silence })
  const home = createHome(t)
  const settings = {
    'user-configured-url-restrictions': {
      rejectLocalhost: false,
      rejectVerbatimIps: false,
      allowedAddresses: ['127.0.0.1/32'],
    },
  }
  const first = startServe(t, settings, { embedded: true, home })
  const url = await first.listening
  const stages = [
    {
      refId: '1',
      type: 'webhook',
      name: 'Call',
      method: 'POST',
      url: `${target.url}/start`,
      payload: {},
    },
  ]
  const execution = { application: 'web', name: 'call', type: 'manual', stages }
  const headers = { 'content-type': 'application/json' }
  const started = await fetch(`${url}/pipelines/start`, {
    method: 'POST',
    headers,
    body: JSON.stringify(execution),
  })
  const { ref } = (await started.json()) as { ref: string }
  await untilAsked(target)

  first.signal('SIGTERM')
  for (let count = 0; count < 20; count++, await pause(10))
    assert.equal((await fetch(url + ref)).status, 200)
  target.release('{}')
  assert.deepEqual(await first.exited, { code: 0, signal: null })

  const again = await startServe(t, settings, { embedded: true, home }).listening
  const read = async () =>
    (await (await fetch(again + ref)).json()) as { status: string; stages: { context: object }[] }
  await waitUntil(async () => (await read()).status === 'SUCCEEDED', 'the end of the execution')
  assert.equal(target.requests.length, 1)
  assert.ok(!('repeated.call' in ((await read()).stages[0]?.context ?? {})))
})

test('what is not finished within the bound is broken off', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const gateway = startServe(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    spring: { lifecycle: { 'timeout-per-shutdown-phase': '300ms' } },
  })
  const slow = assert.rejects(ask(t, `${await gateway.listening}/networks`), { code: 'ECONNRESET' })
  await untilAsked(clouddriver)
  gateway.signal('SIGTERM')
  await slow
  assert.deepEqual(await gateway.exited, { code: 0, signal: null })
})

test('server.shutdown: immediate waits for nothing', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const services = { clouddriver: { baseUrl: clouddriver.url } }
  const gateway = startServe(t, {
    services,
    server: { shutdown: 'immediate' },
    spring: { lifecycle },
  })
  const slow = assert.rejects(ask(t, `${await gateway.listening}/networks`), { code: 'ECONNRESET' })
  await untilAsked(clouddriver)
  gateway.signal('SIGTERM')
  await slow
  assert.deepEqual(await gateway.exited, { code: 0, signal: null })
})

test('a second signal after the drain exits at once', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const gateway = startServe(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    spring: { lifecycle },
  })
  const url = await gateway.listening
  const slow = assert.rejects(ask(t, `${url}/networks`))
  await untilAsked(clouddriver)
  gateway.signal('SIGTERM')
  await untilClosed(url)
  gateway.signal('SIGTERM')
  await slow
  assert.deepEqual(await gateway.exited, { code: 1, signal: null })
})

/** A start that must fail: its exit status and what it says. */
async function failToStart(gateway: ServeProcess): Promise<{ code: number | null; says: string }> {
  gateway.listening.catch(() => {})
  const { code } = await gateway.exited
  return { code, says: gateway.errors() }
}

test('a port in use ends the start with a solution', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => void taken.close())
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  const { code, says } = await failToStart(startServe(t, { server: { port } }, { embedded: true }))
  assert.equal(code, 1)
  assert.match(
    says,
    new RegExp(`^Fairlead cannot start: Port ${port} is in use\\..*SERVER_PORT`, 'm'),
  )
  assert.ok(!says.includes('    at '), says)
})

test('a damaged database ends the start with a solution', async (t) => {
  const home = createHome(t)
  writeFileSync(join(home, 'data', 'backends.db'), 'something else'.repeat(1000))
  const outcome = await failToStart(startServe(t, {}, { home, embedded: true }))
  assert.equal(outcome.code, 1)
  assert.match(outcome.says, /backends\.db cannot be used: .*backup/)
  assert.ok(!outcome.says.includes('    at '), outcome.says)
})

test('a process with embedded back ends', async (t) => {
  const home = createHome(t)
  const gateway = startServe(t, {}, { embedded: true, home })
  const url = await gateway.listening

  await t.test('while back ends start, readiness names them and requests wait', async () => {
    const health = (await fetch(`${url}/health`)).status
    const first = await fetch(`${url}/health/readiness`)
    const body = (await first.json()) as { status: string; waitingFor?: string[] }
    if (first.status === 503)
      assert.deepEqual(body, { status: 'DOWN', waitingFor: ['embedded back ends'] })
    else assert.deepEqual(body, { status: 'UP' })
    assert.ok(first.status === 200 || health === 503, 'health is no better than readiness')
    assert.equal((await fetch(`${url}/projects`)).status, 200)
    assert.equal((await fetch(`${url}/health`)).status, 200)
    assert.equal((await fetch(`${url}/health/readiness`)).status, 200)
  })

  await t.test('a data directory admits one process at a time', async (t) => {
    const { code, says } = await failToStart(startServe(t, {}, { home, embedded: true }))
    assert.equal(code, 1)
    assert.match(says, /Another Fairlead uses the data directory .*FAIRLEAD_DATA_DIR/)
    assert.equal((await fetch(`${url}/projects`)).status, 200, 'the first one goes on')
  })
})

test('embedded back ends that die restart; reads wait for them', async (t) => {
  const workers: Worker[] = []
  const remember = (worker: Worker) => void workers.push(worker)
  process.on('worker', remember)
  t.after(() => void process.off('worker', remember))
  const lines: Record<string, unknown>[] = []
  const { url } = await runGateway(
    t,
    {},
    { embedded: true, ownThread: true, log: (line) => lines.push(line) },
  )
  const saved = await fetch(`${url}/pipelines`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      application: 'web',
      name: 'main',
      stages: [],
      triggers: [
        { type: 'webhook', source: 'ci', enabled: true, payloadConstraints: { branch: '(' } },
      ],
    }),
  })
  assert.equal(saved.status, 200, await saved.text())
  const saying = (text: string) => lines.findIndex(({ msg }) => msg === text)
  const ignoring = 'a pattern of a trigger is unusable and matches nothing'
  await fetch(`${url}/webhooks/webhook/ci`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"branch":"main"}',
  })
  await waitUntil(() => saying(ignoring) !== -1, ignoring)

  for (let death = 0; death < 3; death++) {
    const workersBefore = workers.length
    void workers.at(-1)?.terminate()
    const reads = await Promise.all(
      Array.from({ length: 5 }, () => fetch(`${url}/applications/web/pipelineConfigs`)),
    )
    for (const answer of reads) {
      assert.equal(answer.status, 200)
      assert.equal(((await answer.json()) as unknown[]).length, 1)
    }
    assert.equal(workers.length, workersBefore + 1)
  }
  assert.equal((await fetch(`${url}/health/readiness`)).status, 200)
  // The worker's own lines reach the same log, in order and with all their fields.
  const warned = saying(ignoring)
  assert.ok(
    saying('the embedded back ends are ready') < warned &&
      warned < saying('the embedded back ends stopped and are started again'),
  )
  const { level, service, pattern } = lines[warned] ?? {}
  assert.deepEqual({ level, service, pattern }, { level: 40, service: 'echo', pattern: '"("' })
})

test('a write during a crash is 502 or done', async (t) => {
  const workers: Worker[] = []
  const remember = (worker: Worker) => void workers.push(worker)
  process.on('worker', remember)
  t.after(() => void process.off('worker', remember))
  const { url } = await runGateway(t, {}, { embedded: true, ownThread: true })
  const writes = Array.from({ length: 20 }, async (_, index) => {
    if (index === 10) void workers.at(-1)?.terminate()
    const answer = await fetch(`${url}/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        application: 'web',
        description: 'none',
        job: [{ type: 'wait', waitTime: 0 }],
      }),
    })
    const body = (await answer.json()) as Record<string, unknown>
    assert.ok(
      answer.status === 200
        ? typeof body['ref'] === 'string'
        : body['code'] === 'UPSTREAM_UNREACHABLE',
      JSON.stringify(body),
    )
    assert.doesNotMatch(String(body['message'] ?? ''), /orca/)
    return answer.status
  })
  for (const status of await Promise.all(writes)) assert.ok([200, 502].includes(status))
})

test('a gateway stopped before readiness exits with 0', async (t) => {
  const settings = { anonymous: { enabled: false }, server: { 'drain-ms': 0 } }
  const gateway = startServe(t, settings, { embedded: true })
  await gateway.listening
  gateway.signal('SIGTERM')
  assert.deepEqual(await gateway.exited, { code: 0, signal: null })
})
