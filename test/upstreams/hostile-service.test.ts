import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { runGateway } from '../support/gateway.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

/** What a service does with a connection once a request has arrived. `turn` resolves now and then, until the socket is closed. */
type Behaviour = (socket: Socket, turn: () => Promise<boolean>) => void | Promise<void>

const json = 'content-type: application/json\r\n'

function sends(...pieces: (string | Buffer)[]): Behaviour {
  return (socket) => {
    for (const piece of pieces) socket.write(piece)
  }
}

function sendsAndEnds(...pieces: (string | Buffer)[]): Behaviour {
  return (socket) => {
    socket.end(Buffer.concat(pieces.map((piece) => Buffer.from(piece))))
  }
}

function answers(body: string | Buffer, headers = json, status = '200 OK'): Behaviour {
  const head = `HTTP/1.1 ${status}\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return sends(Buffer.concat([Buffer.from(head), Buffer.from(body)]))
}

/** Where the way of an answer that is read differs; how it breaks off is the same for every service. */
const tellingScenarios = [
  'never answers',
  'resets',
  'stops within the body',
  'trickles a body',
  'sends 103 without end',
  'sends a text',
  'sends a page',
  'sends nothing',
  'sends invalid JSON',
  'sends 204 with a body',
  'sends 304',
  'sends status 999',
  'redirects in a circle',
  'has content types twice',
]

/** Repeats a piece until the other side has enough. */
function repeats(piece: string, begin = '', pauseMs = 0): Behaviour {
  return async (socket, turn) => {
    socket.write(begin)
    while (await turn()) {
      if (socket.write(piece)) await pause(pauseMs)
      else await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), pause(200)])
    }
  }
}

interface Scenario {
  readonly name: string
  readonly does: Behaviour
  /** The answer counts as good for a read that is streamed. */
  readonly good?: boolean
  /** It reads no upload to its end, so that the connection is reset; a response without length is then not complete. */
  readonly resetsUploads?: boolean
  /** Not for reads that are streamed: what they send is the service's own affair. */
  readonly parsedOnly?: boolean
  /** The names of the operations that are asked, where each costs much. */
  readonly only?: readonly string[]
}

const bomb = gzipSync(Buffer.alloc(135_000_000, 32), { level: 9 })

const scenarios: Scenario[] = [
  { name: 'never answers', does: () => {} },
  {
    name: 'resets',
    does: (socket) => {
      socket.resetAndDestroy()
    },
  },
  {
    name: 'closes',
    does: (socket) => {
      socket.end()
    },
  },
  { name: 'stops within the status line', does: sends('HTTP/1.1 20') },
  { name: 'closes within the headers', does: sendsAndEnds('HTTP/1.1 200 OK\r\ncontent-ty') },
  {
    name: 'resets after the headers',
    does: async (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${json}content-length: 100\r\n\r\n`)
      await pause(20)
      socket.resetAndDestroy()
    },
  },
  {
    name: 'stops after the headers',
    does: sends(`HTTP/1.1 200 OK\r\n${json}content-length: 100\r\n\r\n`),
  },
  {
    name: 'stops within the body',
    does: sends(`HTTP/1.1 200 OK\r\n${json}content-length: 100\r\n\r\n{"a":`),
  },
  {
    name: 'announces more than it sends',
    does: sendsAndEnds(`HTTP/1.1 200 OK\r\n${json}content-length: 100\r\n\r\n{"a":1}`),
  },
  {
    name: 'sends more than it announced',
    does: sends(`HTTP/1.1 200 OK\r\n${json}content-length: 2\r\n\r\n{}{"more":1}`),
    good: true,
  },
  {
    name: 'announces no number',
    does: sends(`HTTP/1.1 200 OK\r\n${json}content-length: x\r\n\r\n{}`),
  },
  {
    name: 'announces a negative length',
    does: sends(`HTTP/1.1 200 OK\r\n${json}content-length: -2\r\n\r\n{}`),
  },
  {
    name: 'announces two lengths',
    does: sends(`HTTP/1.1 200 OK\r\n${json}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`),
  },
  {
    name: 'announces a length and chunks',
    does: sends(
      `HTTP/1.1 200 OK\r\n${json}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ),
  },
  {
    name: 'sends a malformed chunk',
    does: sends(`HTTP/1.1 200 OK\r\n${json}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n`),
  },
  {
    name: 'ends before the last chunk',
    does: sendsAndEnds(`HTTP/1.1 200 OK\r\n${json}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n`),
  },
  {
    name: 'sends headers without end',
    does: repeats(`x-filler: ${'x'.repeat(500)}\r\n`, 'HTTP/1.1 200 OK\r\n'),
  },
  { name: 'trickles headers', does: repeats('x', 'HTTP/1.1 200 OK\r\nx-slow: ', 30) },
  {
    name: 'trickles a body',
    does: repeats(
      '1\r\n \r\n',
      `HTTP/1.1 200 OK\r\n${json}transfer-encoding: chunked\r\n\r\n1\r\n[\r\n`,
      30,
    ),
  },
  {
    name: 'sends 102 and 103 first',
    does: sends(
      `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n${json}content-length: 2\r\n\r\n{}`,
    ),
    good: true,
  },
  {
    name: 'sends 100 unasked',
    does: sends(
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n${json}content-length: 2\r\n\r\n{}`,
    ),
  },
  { name: 'sends 103 without end', does: repeats('HTTP/1.1 103 Early Hints\r\n\r\n', '', 5) },
  {
    name: 'switches protocols',
    does: sends(
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    ),
  },
  {
    name: 'sends trailers',
    does: sends(
      `HTTP/1.1 200 OK\r\n${json}transfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2\r\n{}\r\n0\r\nx-sum: 1\r\n\r\n`,
    ),
    good: true,
  },
  {
    name: 'ends the body with the connection',
    does: sendsAndEnds(`HTTP/1.1 200 OK\r\n${json}connection: close\r\n\r\n{}`),
    good: true,
    resetsUploads: true,
  },
  {
    name: 'sends a bomb of gzip',
    does: answers(bomb, `${json}content-encoding: gzip\r\n`),
    parsedOnly: true,
    only: ['a read as YAML', 'a read that is inspected', 'a cached list', 'a change'],
  },
  { name: 'sends no gzip as gzip', does: answers('no gzip', `${json}content-encoding: gzip\r\n`) },
  {
    name: 'cuts gzip',
    does: answers(gzipSync('{"a":1}').subarray(0, 15), `${json}content-encoding: gzip\r\n`),
  },
  { name: 'names an unknown encoding', does: answers('{}', `${json}content-encoding: zip\r\n`) },
  { name: 'sends invalid JSON', does: answers('{"a":'), parsedOnly: true },
  { name: 'sends a text', does: answers('all is well', 'content-type: text/plain\r\n') },
  { name: 'sends a page', does: answers('<html>Login</html>', 'content-type: text/html\r\n') },
  { name: 'sends nothing', does: answers('') },
  {
    name: 'sends 204 with a body',
    does: sends('HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n{}'),
  },
  { name: 'sends 304', does: sends('HTTP/1.1 304 Not Modified\r\n\r\n') },
  { name: 'sends status 999', does: answers('{}', json, '999 Odd') },
  { name: 'sends status 600', does: answers('{}', json, '600 Odd') },
  { name: 'sends status 20', does: answers('{}', json, '20 Odd') },
  { name: 'speaks no HTTP', does: sendsAndEnds('SSH-2.0-OpenSSH_9.6\r\n') },
  {
    name: 'fails without end',
    does: repeats(
      'x'.repeat(10_000),
      `HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n2710\r\n`,
    ),
  },
  {
    name: 'redirects in a circle',
    does: sends('HTTP/1.1 302 Found\r\nlocation: /networks\r\ncontent-length: 0\r\n\r\n'),
  },
  {
    name: 'redirects elsewhere',
    does: sends('HTTP/1.1 302 Found\r\nlocation: http://example.com/\r\ncontent-length: 0\r\n\r\n'),
  },
  {
    name: 'has odd bytes in headers',
    does: answers('{}', 'content-type: application/\xe9json\r\nx-odd: \xff\xfe\r\n'),
  },
  {
    name: 'has control characters in headers',
    does: answers('{}', 'content-type: application/json\x01\r\n'),
  },
  { name: 'has content types twice', does: answers('{}', `${json}${json}`), good: true },
]

const good = answers('{"aws":[]}')

/** A service at the level of bytes; each connection serves one request, as `behaviour` says. */
async function startHostile(t: TestContext) {
  let behaviour: Behaviour = good
  let isGood = true
  const sockets = new Set<Socket>()
  let sentBytes = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    let asked = false
    socket.on('error', () => {})
    socket.once('close', () => {
      sentBytes += socket.bytesWritten
      sockets.delete(socket)
    })
    socket.on('data', () => {
      if (asked && !isGood) return
      asked = true
      void behaviour(socket, async () => {
        await pause(0)
        return !socket.destroyed && sockets.has(socket)
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    behave: (next: Behaviour, serves = next === good) => {
      behaviour = next
      isGood = serves
      sentBytes = 0
      if (next === good) for (const socket of sockets) socket.destroy()
    },
    sentBytes: () => sentBytes + [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0),
  }
}

interface Operation {
  readonly name: string
  readonly path: string
  readonly init?: RequestInit
  /** As the document has it. */
  readonly documented: string
  readonly streams?: boolean
}

const posted = (body: string, type = 'application/json') => ({
  method: 'POST',
  body,
  headers: { 'content-type': type },
})
const operations: Operation[] = [
  { name: 'a streamed read', path: '/networks', documented: 'get /networks', streams: true },
  {
    name: 'its headers',
    path: '/networks',
    documented: 'get /networks',
    init: { method: 'HEAD' },
    streams: true,
  },
  {
    name: 'a read as YAML',
    path: '/networks',
    documented: 'get /networks',
    init: { headers: { accept: 'application/x-yaml' } },
  },
  {
    name: 'a read that is inspected',
    path: '/applications/web/clusters/prod/web-main',
    documented: 'get /applications/{application}/clusters/{account}/{clusterName}',
  },
  {
    name: 'a read of several services',
    path: '/applications/web',
    documented: 'get /applications/{application}',
  },
  { name: 'a search', path: '/search?q=web', documented: 'get /search', streams: true },
  { name: 'a cached list', path: '/applications', documented: 'get /applications' },
  { name: 'another cached list', path: '/credentials', documented: 'get /credentials' },
  {
    name: 'a change',
    path: '/pipelines/p1/cancel',
    documented: 'put /pipelines/{id}/cancel',
    init: { method: 'PUT' },
  },
  {
    name: 'a change with a body',
    path: '/v2/canaryConfig',
    documented: 'post /v2/canaryConfig',
    init: posted('{"name":"a","applications":["web"]}'),
    streams: true,
  },
  {
    name: 'a task',
    path: '/tasks',
    documented: 'post /tasks',
    init: posted('{"application":"web","job":[{"type":"x"}]}'),
  },
  {
    name: 'an upload',
    path: '/local/images/web/1',
    documented: 'put /local/images/{name}/{version}',
    init: {
      method: 'PUT',
      body: new Uint8Array(200_000),
      headers: { 'content-type': 'application/x-tar' },
    },
    streams: true,
  },
  {
    name: 'a webhook',
    path: '/webhooks/git/github',
    documented: 'post /webhooks/{type}/{source}',
    init: posted('{}'),
    streams: true,
  },
]

type Outcome = { status: number; text: string; type: string } | 'broken'

async function ask(url: string, init: RequestInit = {}): Promise<Outcome> {
  const limit = AbortSignal.timeout(300_000)
  try {
    const answer = await fetch(url, { redirect: 'manual', ...init, signal: limit })
    return {
      status: answer.status,
      text: await answer.text(),
      type: answer.headers.get('content-type') ?? '',
    }
  } catch (error) {
    assert.ok(!limit.aborted, `no end of ${url}`)
    assert.match(String((error as Error).cause ?? error), /terminated|closed|reset|other side/i)
    return 'broken'
  }
}

interface ApiDocument {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>
}

function checkOutcome(
  document: ApiDocument,
  operation: Operation,
  scenario: Scenario,
  outcome: Outcome,
): void {
  const what = `${operation.name} from a service that ${scenario.name}: ${JSON.stringify(outcome)}`
  if (outcome === 'broken') {
    const isReset = scenario.resetsUploads === true && operation.name === 'an upload'
    assert.ok(operation.streams && (!scenario.good || isReset), what)
    return
  }
  const [method = '', path = ''] = operation.documented.split(' ')
  const { responses = {} } = document.paths[path]?.[method] ?? {}
  const { status, text, type } = outcome
  assert.notEqual(status, 500, what)
  // Errors of services keep their status.
  assert.ok(
    Object.hasOwn(responses, String(status)) || status === 500 || (status >= 400 && status <= 599),
    what,
  )
  assert.ok(!text.includes('UNEXPECTED') && !text.includes('127.0.0.1'), what)
  if (status >= 400 && operation.init?.method !== 'HEAD') {
    const error: { message?: string } = /yaml/.test(type)
      ? { message: text }
      : (JSON.parse(text) as { message?: string })
    assert.ok((error.message?.length ?? 0) > 10, what)
  }
  if (scenario.good && operation.streams && operation.path === '/networks')
    assert.equal(status, 200, what)
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}

/** A gateway all of whose services are hostile, with what tells whether it came to harm. */
async function startLane(t: TestContext) {
  const hostile = await startHostile(t)
  const names = ['clouddriver', 'orca', 'front50', 'kayenta', 'echo', 'igor', 'rosco']
  const problems: unknown[] = []
  const { url } = await runGateway(
    t,
    {
      services: {
        ...Object.fromEntries(names.map((name) => [name, { baseUrl: hostile.url }])),
        default: { circuitBreaker: { enabled: false } },
      },
      okHttpClient: { readTimeoutMs: 600 },
    },
    { log: (line) => void (line['code'] === 'UNEXPECTED' && problems.push(line)) },
  )
  const countInFlight = async () => {
    const text = await (await fetch(`${url}/spectator/metrics`)).text()
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith('fairlead_upstream_requests_in_flight'))
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument
  const play = async (scenario: Scenario) => {
    hostile.behave(scenario.does, scenario.good)
    const asked = operations.filter(
      ({ name, streams }) =>
        !(streams && scenario.parsedOnly) && (scenario.only?.includes(name) ?? true),
    )
    await Promise.all(
      asked.map(async (operation) => {
        checkOutcome(document, operation, scenario, await ask(url + operation.path, operation.init))
      }),
    )
    assert.equal(((await ask(`${url}/health`)) as { status: number }).status, 200)
    // Of each answer no more than its bound is taken, in and out of buffers.
    assert.ok(hostile.sentBytes() < 200_000_000, `${hostile.sentBytes()} bytes`)
    hostile.behave(good)
    // A machine under load may need more time than the gateway gives.
    const answer = await waitFor(async () => {
      const next = await ask(`${url}/networks`)
      return next !== 'broken' && next.status === 504 ? undefined : next
    }, 'an answer in time')
    assert.deepEqual(answer, { status: 200, text: '{"aws":[]}', type: 'application/json' })
    await waitUntil(async () => (await countInFlight()) === 0, 'an end of all calls')
    assert.deepEqual(problems, [])
  }
  return { play }
}

/** Gateways at a time; most scenarios wait for a timeout or a retry. */
const laneCount = 4

test('no answer of a service harms the gateway', { concurrency: true }, async (t) => {
  const lanes = await Promise.all(Array.from({ length: laneCount }, () => startLane(t)))
  const play = (lane: (typeof lanes)[number], scenario: Scenario) =>
    t.test(`a service that ${scenario.name} harms only its own operations`, () =>
      lane.play(scenario),
    )
  await Promise.all(lanes.map((lane) => lane.play({ name: 'serves', does: good })))
  const descriptors = openDescriptors()
  const left = [...scenarios]
  await Promise.all(
    lanes.map(async (lane) => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) await play(lane, next)
    }),
  )
  await waitUntil(
    () => openDescriptors() <= descriptors + 20,
    () => `${openDescriptors()} descriptors, ${descriptors} before`,
  )
})

test('no answer of the permission service harms the gateway', async (t) => {
  const hostile = await startHostile(t)
  const problems: unknown[] = []
  const { url, dataDir } = await runGateway(
    t,
    {
      fairlead: { admin: { password: 'battery staple' } },
      services: {
        fiat: { baseUrl: hostile.url, retry: { initialBackoffMillis: 1, maxBackoffMillis: 1 } },
        clouddriver: { baseUrl: hostile.url },
        default: { circuitBreaker: { enabled: false } },
      },
      okHttpClient: { readTimeoutMs: 400 },
    },
    { log: (line) => void (line['code'] === 'UNEXPECTED' && problems.push(line)) },
  )
  const users = openUsers(dataDir)
  await users.add('alice', 'battery staple', ['dev'])
  users.close()
  for (const scenario of scenarios.filter(({ name }) => tellingScenarios.includes(name))) {
    await t.test(
      `a permission service that ${scenario.name} lets no request in by mistake`,
      async () => {
        hostile.behave(scenario.does, scenario.good)
        const form = new URLSearchParams({ username: 'alice', password: 'battery staple' })
        const authorization = `Basic ${Buffer.from('alice:battery staple').toString('base64')}`
        const outcomes = await Promise.all([
          ask(`${url}/login`, { method: 'POST', body: form }),
          ask(`${url}/networks`, { headers: { authorization } }),
          ask(`${url}/auth/user`, { headers: { authorization } }),
        ])
        for (const outcome of outcomes) {
          assert.notEqual(outcome, 'broken', scenario.name)
          const { status, text } = outcome as { status: number; text: string }
          assert.ok(
            [200, 302, 401, 403, 502, 503, 504].includes(status),
            `${scenario.name}: ${status} ${text}`,
          )
        }
        assert.notEqual((outcomes[1] as { status: number }).status, 500)
        assert.deepEqual(problems, [])
        hostile.behave(good)
      },
    )
  }
})
