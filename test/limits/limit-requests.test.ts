/** Who is limited, what the answers say about it, and who is not: over HTTP, with the clock in the test's hand. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { AuditRecord } from '../../packages/gateway/audit/event.ts'
import { readAuditFile } from '../../packages/gateway/audit/sqlite-sink.ts'
import { basic } from '../login/support.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { Reply, startUpstream } from '../support/upstream.ts'

const noonMs = Date.UTC(2026, 6, 1, 12)
const login = {
  security: { basicform: { enabled: true }, user: { name: 'alice', password: 'correct-horse' } },
}
const alice = basic('alice', 'correct-horse')

interface Limits {
  limits: Record<string, unknown>
  settings?: GatewaySettings
}

/** A gateway in front of an orchestrator, and a way to ask it; `passing` moves its clock. */
async function start(t: TestContext, { limits, settings = login }: Limits) {
  const orca = await startUpstream(t, (request: { path: string }) =>
    request.path.startsWith('/pipelines/busy')
      ? new Reply(429, { message: 'slow down' })
      : request.path.startsWith('/pipelines/')
        ? {}
        : [],
  )
  const lines: Record<string, unknown>[] = []
  let nowMs = noonMs
  const gateway = await runGateway(
    t,
    {
      ...settings,
      'rate-limit': { enabled: true, learning: false, capacity: 3, ...limits },
      services: { orca: { baseUrl: orca.url }, ...settings.services },
    },
    { now: () => nowMs, log: (line) => lines.push(line) },
  )
  const ask = async (path = '/pipelines/1', headers: Record<string, string> = alice) => {
    const answer = await fetch(gateway.url + path, { headers, redirect: 'manual' })
    return {
      status: answer.status,
      text: await answer.text(),
      headers: answer.headers,
      left: leftIn(answer.headers),
    }
  }
  const statuses = async (times: number, path?: string, headers?: Record<string, string>) => {
    const all: number[] = []
    for (let time = 0; time < times; time++) all.push((await ask(path, headers)).status)
    return all
  }
  const metric = async (name: string) =>
    (await (await fetch(`${gateway.url}/spectator/metrics`)).text())
      .split('\n')
      .filter((line) => line.startsWith(name))
  return { ...gateway, ask, statuses, metric, lines, orca, passing: (ms: number) => (nowMs += ms) }
}

function leftIn(headers: Headers): (string | null)[] {
  return ['capacity', 'remaining', 'reset', 'learning'].map((name) =>
    headers.get(`x-ratelimit-${name}`),
  )
}

test('requests are labelled, rejected beyond the capacity, then served', async (t) => {
  const { ask, passing, orca, metric, lines } = await start(t, { limits: {} })
  const reset = 'Wed, 01 Jul 2026 12:00:10 GMT'
  assert.deepEqual((await ask()).left, ['3', '2', reset, 'false'])
  passing(4000)
  assert.deepEqual((await ask()).left, ['3', '1', reset, 'false'])
  assert.deepEqual((await ask()).left, ['3', '0', reset, 'false'])
  const asked = orca.requests.length

  for (let time = 0; time < 2; time++) {
    const refused = await ask()
    assert.equal(refused.status, 429)
    assert.deepEqual(refused.left, ['3', '0', reset, 'false'])
    assert.equal(refused.headers.get('retry-after'), '6')
    assert.deepEqual(Object.keys(JSON.parse(refused.text)), ['message'])
    assert.match(refused.text, /alice may send 3 in 10 seconds/)
  }
  assert.equal(orca.requests.length, asked)
  assert.deepEqual(await metric('fairlead_rate_limited_total'), [
    'fairlead_rate_limited_total{kind="user",enforced="true"} 2',
  ])
  assert.equal(lines.filter(({ caller }) => caller === 'alice').length, 1)

  passing(6000)
  assert.deepEqual((await ask()).left, ['3', '2', 'Wed, 01 Jul 2026 12:00:20 GMT', 'false'])
})

test('learning counts and labels without rejecting', async (t) => {
  const { ask, metric } = await start(t, { limits: { learning: undefined, capacity: 1 } })
  const reset = 'Wed, 01 Jul 2026 12:00:10 GMT'

  assert.deepEqual((await ask()).left, ['1', '0', reset, 'true'])
  const beyond = await ask()
  assert.deepEqual([beyond.status, ...beyond.left], [200, '1', '0', reset, 'true'])
  assert.deepEqual(await metric('fairlead_rate_limited_total'), [
    'fairlead_rate_limited_total{kind="user",enforced="false"} 1',
  ])
})

const cases: [
  fact: string,
  limits: Record<string, unknown>,
  headers: Record<string, string>,
  served: number,
][] = [
  ['the web UI is not limited, in any case', {}, { 'x-ratelimit-app': 'Deck' }, 6],
  [
    'the web UI is limited when app:deck is enforced',
    { enforcing: ['app:deck'] },
    { 'x-ratelimit-app': 'deck' },
    3,
  ],
  [
    'a user may have a capacity of its own',
    { capacityByPrincipal: [{ principal: 'alice', override: 2 }] },
    {},
    2,
  ],
  [
    'a user of another name keeps the common capacity',
    { capacityByPrincipal: [{ principal: 'bob', override: 2 }] },
    {},
    3,
  ],
  [
    'a user with the capacity 0 is refused everything',
    { capacityByPrincipal: [{ principal: 'alice', override: 0 }] },
    {},
    0,
  ],
  [
    'a program may have a capacity of its own',
    { capacityBySourceApp: [{ sourceApp: 'batch', override: 1 }] },
    { 'x-ratelimit-app': 'batch' },
    1,
  ],
  [
    'the capacity of the user counts before that of the program',
    {
      capacityBySourceApp: [{ sourceApp: 'batch', override: 1 }],
      capacityByPrincipal: [{ principal: 'alice', override: 2 }],
    },
    { 'x-ratelimit-app': 'batch' },
    2,
  ],
  [
    'a program with the name of an inherited property is an ordinary one',
    {},
    { 'x-ratelimit-app': 'constructor' },
    3,
  ],
  [
    'somebody who is enforced is refused while others learn',
    { learning: true, enforcing: ['alice'] },
    {},
    3,
  ],
  ['somebody who is ignored is never refused', { ignoring: ['alice'] }, {}, 6],
  [
    'a program that is ignored is never refused',
    { ignoring: ['app:batch'] },
    { 'x-ratelimit-app': 'batch' },
    6,
  ],
  [
    'somebody who is ignored and enforced is refused',
    { ignoring: ['alice'], enforcing: ['alice'] },
    {},
    3,
  ],
]

for (const [fact, limits, headers, served] of cases) {
  test(fact, async (t) => {
    const { statuses } = await start(t, { limits })

    const expected = [...Array(served).fill(200), ...Array(6 - served).fill(429)]
    assert.deepEqual(await statuses(6, '/pipelines/1', { ...alice, ...headers }), expected)
  })
}

test('a user may have a period of its own', async (t) => {
  const { ask, statuses, passing } = await start(t, {
    limits: { rateSecondsByPrincipal: [{ principal: 'alice', override: 60 }] },
  })
  assert.equal((await ask()).left[2], 'Wed, 01 Jul 2026 12:01:00 GMT')
  passing(59_999)
  assert.deepEqual(await statuses(3), [200, 200, 429])
  passing(1)
  assert.deepEqual(await statuses(1), [200])
})

test('what is said about a user counts in every spelling', async (t) => {
  const limits = {
    capacityByPrincipal: [{ principal: 'Alice', override: 7 }],
    enforcing: ['ALICE'],
    learning: true,
  }
  const { ask } = await start(t, { limits })
  const { headers } = await ask()
  assert.deepEqual(
    [headers.get('x-ratelimit-capacity'), headers.get('x-ratelimit-learning')],
    ['7', 'false'],
  )
})

test('expensive operations cost several requests, probes none', async (t) => {
  const { ask, statuses } = await start(t, { limits: { capacity: 7 } })

  assert.deepEqual((await ask('/applications/web/pipelines')).left.slice(0, 2), ['7', '2'])
  assert.equal((await ask('/executions?pipelineConfigIds=1')).status, 429)
  assert.deepEqual((await ask()).left.slice(0, 2), ['7', '1'])
  assert.deepEqual(await statuses(2), [200, 429])
  assert.deepEqual(await statuses(3, '/health'), [200, 200, 200])
  assert.deepEqual((await ask('/health')).left, [null, null, null, null])
})

test('an operation above the capacity uses a whole period', async (t) => {
  const { statuses } = await start(t, { limits: { capacity: 2 } })

  assert.deepEqual(await statuses(2, '/applications/web/pipelines'), [200, 429])
})

test('programs without login are counted by name or address', async (t) => {
  const { statuses, ask } = await start(t, { limits: {}, settings: {} })

  assert.deepEqual(
    await statuses(4, '/pipelines/1', { 'x-ratelimit-app': 'spin' }),
    [200, 200, 200, 429],
  )
  assert.deepEqual(
    await statuses(1, '/pipelines/1', { 'x-ratelimit-app': 'x'.repeat(5000) }),
    [200],
  )
  assert.deepEqual(await statuses(4, '/pipelines/1', {}), [200, 200, 200, 429])
  assert.match((await ask('/pipelines/1', {})).text, /anonymous-127\.0\.0\.1 may send 3/)
  assert.deepEqual(
    await statuses(1, '/pipelines/1', { 'x-ratelimit-app': 'anonymous-127.0.0.1' }),
    [200],
  )
})

test('open paths are limited by address', async (t) => {
  const { ask } = await start(t, { limits: {} })
  const send = (app: string) => ask('/auth/user', { 'x-ratelimit-app': app })

  const answers = [await send('a'), await send('b'), await send('alice'), await send('c')]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 429],
  )
  assert.equal((await ask()).status, 200)
})

test('the login page and unknown paths are free', async (t) => {
  const { statuses } = await start(t, { limits: { capacity: 1 } })

  assert.deepEqual(await statuses(3, '/login', {}), [200, 200, 200])
  assert.deepEqual(await statuses(3, '/nothing'), [404, 404, 404])
  assert.deepEqual(await statuses(2), [200, 429])
})

test('what a service refuses with 429 is labelled as such', async (t) => {
  const { ask } = await start(t, { limits: { capacity: 10 } })
  for (const headers of [alice, { ...alice, 'x-ratelimit-app': 'deck' }]) {
    const answer = await ask('/pipelines/busy', headers)

    assert.equal(answer.status, 429)
    assert.deepEqual(answer.left, ['-1', '0', 'Wed, 01 Jul 2026 12:00:05 GMT', 'false'])
  }
})

test('without rate limits, no answer has their headers', async (t) => {
  const { ask, statuses } = await start(t, { limits: { enabled: false, capacity: 1 } })

  assert.deepEqual(await statuses(3), [200, 200, 200])
  for (const path of ['/pipelines/1', '/pipelines/busy'])
    assert.deepEqual((await ask(path)).left, [null, null, null, null])
})

test("a token has its own limit and its user's", async (t) => {
  const fiat = await startUpstream(t, ({ path }: { path: string }) =>
    path.startsWith('/authorize/')
      ? {
          name: 'alice',
          admin: true,
          accounts: [],
          roles: [],
          applications: [],
          serviceAccounts: [],
        }
      : {},
  )
  const { url, ask, statuses, metric } = await start(t, {
    limits: { capacity: 20, tokenCapacity: 2 },
    settings: {
      ...login,
      'api-tokens': { enabled: true },
      services: { fiat: { enabled: true, baseUrl: fiat.url } },
    },
  })
  const created: string[] = []
  for (const name of ['ci', 'cd']) {
    const answer = await fetch(`${url}/auth/apiTokens`, {
      method: 'POST',
      headers: { ...alice, 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    })
    assert.equal(answer.status, 201, await answer.clone().text())
    created.push(((await answer.json()) as { token: string }).token)
  }
  const [first = '', second = ''] = created
  const use = (token: string) => statuses(3, '/pipelines/1', { 'x-spinnaker-token': token })

  assert.deepEqual(await use(first), [200, 200, 429])
  assert.deepEqual(await use(second), [200, 200, 429])
  assert.deepEqual((await ask()).left.slice(0, 2), ['20', '13'])
  assert.deepEqual(await metric('fairlead_rate_limited_total'), [
    'fairlead_rate_limited_total{kind="token",enforced="true"} 2',
  ])
})

for (const enabled of [true, false]) {
  test(`wrong passwords are limited apart, ${enabled ? 'with' : 'without'} rate limits`, async (t) => {
    const { url, ask, statuses } = await start(t, { limits: { enabled, capacity: 2 } })
    const logIn = async (username: string, password: string) => {
      const body = new URLSearchParams({ username, password })
      const answer = await fetch(`${url}/login`, { method: 'POST', body, redirect: 'manual' })
      await answer.arrayBuffer()
      return new URL(answer.headers.get('location') ?? '').search
    }
    const wrong: string[] = []
    for (let time = 0; time < 11; time++) wrong.push(await logIn('mallory', 'guess'))
    assert.deepEqual(wrong, [...Array(10).fill('?error'), '?error=wait&minutes=2'])

    assert.deepEqual((await ask()).left.slice(0, 2), enabled ? ['2', '1'] : [null, null])
    assert.deepEqual(await statuses(2), enabled ? [200, 429] : [200, 200])
    assert.equal(await logIn('alice', 'correct-horse'), '')
  })
}

test('users, programs without login and addresses are counted each for themselves', async (t) => {
  const { statuses } = await start(t, { limits: { capacity: 1 } })
  const bob = { ...alice, 'x-ratelimit-app': 'batch' }
  assert.deepEqual(await statuses(2, '/pipelines/1', alice), [200, 429])
  assert.deepEqual(await statuses(1, '/pipelines/1', bob), [429])
  const open = await start(t, { limits: { capacity: 1 }, settings: {} })
  for (const app of ['one', 'two']) {
    assert.deepEqual(await open.statuses(2, '/pipelines/1', { 'x-ratelimit-app': app }), [200, 429])
  }
  assert.deepEqual(await open.statuses(2, '/pipelines/1', {}), [200, 429])
})

test('program names ignore case', async (t) => {
  const { statuses } = await start(t, {
    limits: { capacity: 3, capacityBySourceApp: [{ sourceApp: 'Batch', override: 1 }] },
  })
  assert.deepEqual(
    await statuses(2, '/pipelines/1', { ...alice, 'x-ratelimit-app': 'bATCH' }),
    [200, 429],
  )
})

test('refusals by limit are recorded once a minute', async (t) => {
  const { ask, statuses, passing, dataDir, stop } = await start(t, {
    limits: { capacity: 1, rateSeconds: 86_400 },
  })
  assert.deepEqual(await statuses(40), [200, ...Array(39).fill(429)])
  passing(61_000)
  assert.deepEqual(await statuses(2), [429, 429])
  assert.equal((await ask('/health')).status, 200)
  await stop()
  const records = [...readAuditFile(join(dataDir, 'audit.db'))].map(
    (line) => JSON.parse(line) as AuditRecord,
  )
  assert.deepEqual(
    records.map(({ kind, user, error, repeated }) => [kind, user, error, repeated]),
    [
      ['refusal', 'alice', 'RATE_LIMITED', undefined],
      ['refusal', 'alice', 'RATE_LIMITED', 38],
      ['refusal', 'alice', 'RATE_LIMITED', undefined],
      ['refusal', 'alice', 'RATE_LIMITED', 1],
    ],
  )
})
