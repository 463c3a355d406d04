import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import test from 'node:test'
import { reservedConnections } from '../../packages/gateway/http/connections.ts'
import { noteProven, Overload } from '../../packages/gateway/http/overload.ts'
import { defaultMaxConnections } from '../../packages/gateway/http/ports.ts'
import { startGateway } from '../support/gateway.ts'
import { openRawConnection, type RawConnection } from '../support/raw-connection.ts'
import { silence, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

interface Sent {
  url?: string
  priority?: string
  /** No login has counted on the connection. */
  stranger?: boolean
}

/** Requests take a millisecond to start. Time and iterations of the event loop pass as the test says. */
function create(settings: Partial<ConstructorParameters<typeof Overload>[0]> = {}) {
  let nowMs = 0
  let iteration = 0
  let next: (() => void) | undefined
  const changes: boolean[] = []
  const outcomes: string[] = []
  const overload = new Overload(
    { enabled: true, maxDelayMs: 100, maxRequests: 1000, ...settings },
    {
      keptPaths: ['/health', '/login', '/login/oauth2/code/{registration}'],
      contextPath: '/gate',
      onChange: (isOverloaded) => changes.push(isOverloaded),
      onShed: (reason) => outcomes.push(reason),
      now: () => nowMs,
      iteration: () => iteration,
      later: (run) => {
        next = run
      },
    },
  )
  const response = {
    once: () => {},
    writeHead: () => ({ end: () => {} }),
  } as unknown as ServerResponse
  const known = {} as Socket
  noteProven(known)
  const send = (name: string, { url = '/tasks', priority, stranger = false }: Sent = {}) => {
    const headers = priority === undefined ? {} : { 'x-spinnaker-priority': priority }
    const request = {
      method: 'GET',
      url,
      headers,
      socket: stranger ? {} : known,
    } as unknown as IncomingMessage
    overload.enter(request, response, () => {
      nowMs++
      outcomes.push(name)
      overload.leave()
    })
  }
  /** Ends the iteration, which lasts as long as given, and takes what has come of requests meanwhile. */
  const turn = (ms = 1) => {
    iteration++
    nowMs += ms
    const run = next
    next = undefined
    run?.()
    return outcomes.splice(0)
  }
  return { overload, send, turn, changes, outcomes }
}

test('an iteration starts few requests, the others wait in order', () => {
  const { overload, send, turn } = create()
  for (let number = 0; number < 8; number++) send(String(number))
  assert.equal(overload.waiting, 6)
  const started = [turn(), turn(), turn(), turn()]
  assert.deepEqual(started.flat(), ['0', '1', '2', '3', '4', '5', '6', '7'])
  assert.ok(started.every(({ length }) => length <= 4))
  send('8')
  assert.deepEqual([overload.waiting, turn()], [0, ['8']])
})

test('a calm process lets nothing wait', () => {
  const { overload, send, turn } = create()
  for (let number = 0; number < 100; number++) {
    send('a')
    assert.deepEqual([overload.waiting, turn()], [0, ['a']])
  }
})

test('low priority waits for high, and strangers have one turn in four', () => {
  const { send, turn } = create()
  for (let number = 0; number < 2; number++) send('now')
  for (let number = 0; number < 8; number++) {
    send('stranger', { stranger: true, priority: 'high' })
    send('low')
    if (number < 2) send('high', { priority: 'high' })
  }
  const order = Array.from({ length: 18 }, () => turn(0)).flat()
  assert.deepEqual(order.slice(0, 4), ['now', 'now', 'high', 'high'])
  assert.equal(order.slice(4, 12).filter((name) => name === 'stranger').length, 2)
  assert.equal(order.length, 20)
})

test('what waits too long is rejected, low priority first', () => {
  const { overload, send, turn, changes } = create()
  for (let number = 0; number < 2; number++) send('now')
  for (let number = 0; number < 3; number++) {
    send('low')
    send('stranger', { stranger: true })
    send('high', { priority: 'high' })
  }
  assert.deepEqual(turn(150), ['now', 'now', ...Array(6).fill('delay'), 'high'])
  assert.deepEqual(turn(100), ['delay', 'delay'])
  assert.deepEqual([overload.waiting, overload.running, changes], [0, 0, [true]])
  send('low')
  assert.deepEqual(turn(), ['low'])
  overload.close()
})

test('probes and logins are served without a wait', () => {
  const { send, turn } = create()
  for (let number = 0; number < 10; number++) send('task')
  for (const url of [
    '/gate/health',
    '/health?a=b',
    '/gate/login',
    '/gate/login/oauth2/code/github?code=1',
  ])
    send('kept', { url, stranger: true })
  for (const url of ['/gate/loginx', '/gate/logi', '/gate/health/x', '/gatehealth'])
    send('task', { url })
  assert.equal(turn().filter((name) => name === 'kept').length, 4)
})

/** What the processor of a machine takes, in milliseconds: to read a request, to answer it, and to reject it. */
interface Costs {
  readonly read: number
  readonly answer: number
  readonly reject: number
}

const simulatedMs = 12_000
const serviceMs = 5

interface Simulation {
  readonly clients: number
  /** Between the requests of a client. */
  readonly paceMs: number
  readonly costs: Costs
  /** Whether clients wait as long as `Retry-After` says. */
  readonly isPatient?: boolean
  readonly lastsMs?: number
}

interface Outcomes {
  /** How long clients waited for each response, in milliseconds. */
  readonly answered: number[]
  readonly rejected: number[]
}

/**
 * Clients that wait for the response to a request before they send the next one, at best after `paceMs`, on a processor of its own
 * time. Counts the second half.
 */
function simulate({
  clients,
  paceMs,
  costs,
  isPatient = false,
  lastsMs = simulatedMs,
}: Simulation): Outcomes {
  const { read, answer, reject } = costs
  let nowMs = 0
  let iteration = 0
  let next: (() => void)[] = []
  const calendar = new Calendar()
  const outcomes: Outcomes = { answered: [], rejected: [] }
  const overload = new Overload(
    { enabled: true, maxDelayMs: 1000, maxRequests: 5000 },
    {
      keptPaths: [],
      contextPath: '',
      now: () => nowMs,
      iteration: () => iteration,
      later: (run) => next.push(run),
      soon: (run) => calendar.add(nowMs + 20, run),
    },
  )
  const socket = {} as Socket
  noteProven(socket)
  const request = {
    method: 'GET',
    url: '/tasks',
    headers: {},
    socket,
  } as unknown as IncomingMessage
  const isCounted = () => nowMs > lastsMs / 2
  const send = (sentAtMs: number) => {
    const finish = (outcome: keyof Outcomes, atMs: number, retryAfterMs = 0) => {
      if (isCounted()) outcomes[outcome].push(atMs - sentAtMs)
      sendAt(Math.max(atMs + retryAfterMs, sentAtMs + paceMs))
    }
    const writeHead = (_status: number, headers: Record<string, string>) => ({
      end: () => {
        nowMs += reject
        finish('rejected', nowMs, isPatient ? 1000 * Number(headers['retry-after']) : 0)
      },
    })
    overload.enter(request, { once: () => {}, writeHead } as unknown as ServerResponse, () => {
      nowMs += answer
      const atMs = nowMs + serviceMs
      calendar.add(atMs, () => {
        overload.leave()
        finish('answered', atMs)
      })
    })
  }
  const sendAt = (atMs: number) => {
    calendar.add(atMs, () => {
      nowMs += read
      send(atMs)
    })
  }
  for (let client = 0; client < clients; client++) sendAt((paceMs * client) / clients)
  for (; nowMs < lastsMs; iteration++) {
    const beganMs = nowMs
    calendar.pass(beganMs)
    const runs = next
    next = []
    for (const run of runs) run()
    if (nowMs === beganMs) nowMs += 0.5
  }
  overload.close()
  return outcomes
}

/** What happens when, to a millisecond. */
class Calendar {
  readonly #byMs = new Map<number, (() => void)[]>()
  #passedMs = -1

  add(atMs: number, run: () => void): void {
    this.#byMs
      .getOrInsertComputed(Math.max(this.#passedMs + 1, Math.ceil(atMs)), () => [])
      .push(run)
  }

  /** Runs all until then. */
  pass(untilMs: number): void {
    while (this.#passedMs < Math.floor(untilMs)) {
      const due = this.#byMs.get(++this.#passedMs) ?? []
      this.#byMs.delete(this.#passedMs)
      for (const run of due) run()
    }
  }
}

const slowest = (waits: readonly number[]) =>
  waits.reduce((longest, ms) => Math.max(longest, ms), 0)

function offerThreeTimes(
  clients: number,
  costs: Costs,
  more: Partial<Simulation> = {},
): { share: number; over: Outcomes } {
  const peak = simulate({ clients: 50, paceMs: 0, costs, ...more })
  const ratePerMs = (3 * peak.answered.length) / ((more.lastsMs ?? simulatedMs) / 2)
  const over = simulate({ clients, paceMs: clients / ratePerMs, costs, ...more })
  return { share: over.answered.length / peak.answered.length, over }
}

const fast = { read: 0.04, answer: 0.15, reject: 0.06 }
const slow = { read: 0.15, answer: 0.6, reject: 0.25 }

for (const [machine, costs] of [
  ['a fast machine', fast],
  ['a slow machine', slow],
] as const) {
  for (const clients of [3000, 12_000]) {
    test(`${clients} clients on ${machine} leave nine tenths of the goodput`, () => {
      const { share, over } = offerThreeTimes(clients, costs)
      assert.ok(share >= 0.9, String(share))
      if (clients > 5000) assert.ok(over.rejected.length > 0)
    })
  }
}

test('a request whose turn would come too late is rejected at once', () => {
  const { over } = offerThreeTimes(3000, slow)
  assert.ok(over.rejected.length > 500)
  assert.ok(slowest(over.rejected) < 50, `${slowest(over.rejected)} ms`)
})

test('clients that wait as told are answered within the bound', () => {
  const { share, over } = offerThreeTimes(3000, slow, { isPatient: true, lastsMs: 40_000 })
  assert.ok(share >= 0.9, String(share))
  assert.ok(slowest(over.answered) < 2000, `${slowest(over.answered)} ms`)
  assert.ok(slowest(over.rejected) < 2000, `${slowest(over.rejected)} ms`)
})

test('clients beyond the bound are served in order', () => {
  const { share, over } = offerThreeTimes(12_000, slow, { lastsMs: 40_000 })
  assert.ok(share >= 0.9, String(share))
  assert.ok(slowest(over.rejected) < 12_000, `${slowest(over.rejected)} ms`)
})

test('switched off, every request is served at once', () => {
  const { send, outcomes } = create({ enabled: false, maxRequests: 3 })
  for (let number = 0; number < 100; number++) send('task')
  assert.equal(outcomes.length, 100)
})

test('requests beyond the bound get 503, probes do not', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': silence,
    'GET /applications/a/clusters': silence,
  })
  const gateway = await startGateway(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    http: { overload: { maxRequests: 2 } },
  })
  const running = [fetch(`${gateway}/networks`), fetch(`${gateway}/applications/a/clusters`)]
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
  await waitUntil(
    () => kept.every(({ received }) => received().startsWith('HTTP/1.1 200')),
    'two answers',
  )
  const third = open()
  await waitUntil(
    () => third.socket.closed || third.received().includes('TOO_MANY_CONNECTIONS'),
    'a refusal',
  )
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

test('beyond the bound of connections, only probes are answered', async (t) => {
  const gateway = await startGateway(
    t,
    { http: { maxConnections: 3 } },
    { connectionTimes: { farewellMs: 60_000 } },
  )
  const open = () => openRawConnection(t, gateway)
  const ask = (connection: RawConnection, path: string) => {
    connection.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
    return connection.next()
  }
  const kept = [await open(), await open(), await open()]
  for (const one of kept) assert.equal((await ask(one, '/version')).status, 200)

  const refused = await ask(await open(), '/version')
  const probe = await open()
  const probed = await ask(probe, '/health')

  assert.equal(refused.status, 503)
  assert.match(refused.body, /TOO_MANY_CONNECTIONS/)
  assert.match(
    refused.body,
    /More than 3 connections are open. Close some, or raise http.maxConnections/,
  )
  assert.deepEqual([probed.status, probed.headers['connection']], [200, 'close'])
  await probe.ended
  for (const one of kept) assert.equal((await ask(one, '/version')).status, 200)

  kept[0]?.socket.destroy()
  await waitUntil(async () => (await ask(await open(), '/version')).status === 200, 'a free place')
})

test('beyond the bound, a connection without a request ends soon', async (t) => {
  const gateway = await startGateway(
    t,
    { http: { maxConnections: 1 } },
    { connectionTimes: { farewellMs: 100 } },
  )
  const first = await openRawConnection(t, gateway)
  await (await openRawConnection(t, gateway)).ended
  assert.ok(!first.socket.closed)
})

test('what is reserved beyond the bound of connections is bounded, too', async (t) => {
  const gateway = await startGateway(
    t,
    { http: { maxConnections: 1 } },
    { connectionTimes: { farewellMs: 60_000 } },
  )
  const connections: RawConnection[] = []
  for (let opened = 0; opened < 1 + reservedConnections; opened++)
    connections.push(await openRawConnection(t, gateway))
  const last = await openRawConnection(t, gateway)
  await last.ended
  assert.ok(!connections[0]?.socket.closed)
})

test('without a setting, the bound of connections follows the descriptor limit', () => {
  assert.equal(defaultMaxConnections(1024), 736)
  assert.equal(defaultMaxConnections(Number.POSITIVE_INFINITY), 10_000)
  assert.equal(defaultMaxConnections(16), 1)
})
