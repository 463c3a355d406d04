/** The client of the permission service while that is silent, slow or dead: who waits, for how long, and what comes after. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import type { User } from '../../packages/gateway/http/request-state.ts'
import { Permissions } from '../../packages/gateway/permissions/fiat-permissions.ts'
import type { PermissionSettings } from '../../packages/gateway/permissions/settings.ts'
import { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'
import { type Clock, createClock, silentLog } from '../sessions/support.ts'
import {
  type Answers,
  brokenOff,
  type RecordedRequest,
  Reply,
  silence,
  startUpstream,
} from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const settings: PermissionSettings = {
  enforcement: 'services',
  cacheMaxEntries: 100,
  cacheTtlMs: 20_000,
  lookupTimeoutMs: 600_000,
  loginTimeoutMs: 100,
  syncTimeoutMs: 60_000,
  lastKnownForMs: 0,
  retry: { initialBackoffMs: 5, multiplier: 1.5, maxElapsedMs: 20 },
  enabled: true,
  legacyFallback: false,
  refreshable: true,
  sessionFilter: true,
  serviceAccountFilter: { enabled: true, matchAuthorizations: ['WRITE', 'EXECUTE'] },
}

/** For a service that is silent: what it never answers, no machine is too slow for. */
const impatient = { lookupTimeoutMs: 200 }

function user(username: string): User {
  return {
    username,
    email: null,
    firstName: null,
    lastName: null,
    roles: [],
    allowedAccounts: [],
    method: 'form',
  }
}

function view(name: string) {
  return { name, admin: false, accounts: [], applications: [], serviceAccounts: [], roles: [] }
}

/** Answers everybody with a view. */
const alive: Answers = (request: RecordedRequest) => view(request.path)

async function open(
  t: test.TestContext,
  answers: Answers,
  changed: Partial<PermissionSettings> = {},
) {
  const fiat = await startUpstream(t, answers)
  return { fiat, ...openAt(t, fiat.url, changed), asked: () => fiat.background.length }
}

function openAt(t: test.TestContext, baseUrl: string, changed: Partial<PermissionSettings>) {
  const clock = createClock()
  const upstreams = openUpstreams(t, baseUrl)
  const permissions = new Permissions({
    settings: { ...settings, ...changed },
    upstreams,
    log: silentLog,
    now: clock.now,
  })
  t.after(() => permissions.close())
  return { clock, permissions }
}

function openUpstreams(t: test.TestContext, baseUrl: string): Upstreams {
  const upstreams = new Upstreams({
    services: { fiat: { kind: 'external', baseUrl } },
    bounds: { connectTimeoutMs: 1000, readTimeoutMs: 0, maxConnections: 100, maxWaiting: 1000 },
    keepAliveMs: 1000,
    maxAnswerBytes: 1_000_000,
  })
  t.after(() => upstreams.close())
  return upstreams
}

/** A service that never answers, and knows how many requests are open. */
async function startSilent(t: test.TestContext) {
  let begun = 0
  let ended = 0
  const server = createServer((_, answer) => {
    begun++
    answer.once('close', () => ended++)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begun: () => begun,
    /** Waits until no more than that many are open. */
    until: async (many: number) => {
      while (begun - ended > many) await new Promise((resolve) => setTimeout(resolve, 5))
    },
  }
}

const alice = user('alice')
const bob = user('bob')

/** Asks until the answer has come in time. The clock goes on, so that each question is a new one. */
async function waitUntilKnown(permissions: Permissions, who: User, clock: Clock): Promise<void> {
  await waitUntil(async () => {
    clock.nowMs += 1000
    return (await permissions.lookUp(who)).kind === 'view'
  }, `a view of ${who.username}`)
}

test('auth-scenario 236: a silent service is waited for within a bound', async (t) => {
  const answers = (request: RecordedRequest) =>
    request.path.endsWith('alice') ? silence : view('bob')
  const { permissions, clock } = await open(t, answers, impatient)
  await waitUntilKnown(permissions, bob, clock)
  let isOver = false
  const asking = Promise.resolve(permissions.lookUp(alice)).finally(() => {
    isOver = true
  })
  assert.equal((await permissions.lookUp(bob)).kind, 'view')
  assert.equal(isOver, false)
  assert.equal((await asking).kind, 'unavailable')
})

test('a late answer applies from then on', async (t) => {
  const { permissions, fiat, asked } = await open(t, () => silence, impatient)
  assert.equal((await permissions.lookUp(alice)).kind, 'unavailable')
  fiat.release(view('alice'))
  while ((await permissions.lookUp(alice)).kind !== 'view') await new Promise(setImmediate)
  assert.equal(asked(), 1)
})

test('a repeated request does not wait again', async (t) => {
  const { permissions, asked } = await open(t, () => silence, impatient)
  await permissions.lookUp(alice)
  for (let again = 0; again < 20; again++)
    assert.equal((await permissions.lookUp(alice)).kind, 'unavailable')
  assert.equal(asked(), 1)
})

test('a recovered service is noticed by the next question', async (t) => {
  const { permissions, fiat, clock } = await open(t, () => silence, impatient)
  await permissions.lookUp(alice)
  fiat.answer(alive)
  await waitUntilKnown(permissions, alice, clock)
  await waitUntilKnown(permissions, bob, clock)
})

test('two questions at most stay open per user', async (t) => {
  const open = await startSilent(t)
  const { permissions, clock } = openAt(t, open.url, impatient)
  for (let round = 0; round < 5; round++) {
    await permissions.lookUp(alice)
    clock.nowMs += 1000
  }
  await open.until(2)
  assert.equal(open.begun(), 5)
})

test('a silent service holds few connections', async (t) => {
  const open = await startSilent(t)
  const { permissions } = openAt(t, open.url, impatient)
  const ask = (name: string, many: number) =>
    Promise.all(
      Array.from({ length: many }, (_, index) => permissions.lookUp(user(`${name}${index}`))),
    )
  await ask('first', 60)
  await open.until(10)
  const begun = open.begun()
  const answers = await ask('late', 200)
  assert.ok(answers.every(({ kind }) => kind === 'unavailable'))
  await open.until(10)
  assert.ok(open.begun() - begun <= 20, String(open.begun() - begun))
})

test('every waiting request is answered after recovery', async (t) => {
  const { permissions, fiat } = await open(t, () => new Reply(500))
  await permissions.lookUp(alice)
  fiat.answer(alive)
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => permissions.lookUp(user(`user${index}`))),
  )
  assert.deepEqual([...new Set(answers.map(({ kind }) => kind))], ['view'])
})

/** One more question, unless the first takes a quarter of a minute. */
const persistent = { retry: { initialBackoffMs: 20, multiplier: 1000, maxElapsedMs: 15_000 } }

for (const [what, answer] of [
  ['answers 500', new Reply(500)],
  ['answers 503', new Reply(503)],
  ['breaks off', brokenOff],
] as const) {
  test(`a service that ${what} is retried, then once per request`, async (t) => {
    const { permissions, fiat, asked, clock } = await open(t, () => answer, persistent)
    assert.equal((await permissions.lookUp(alice)).kind, 'unavailable')
    const perQuestion = answer === brokenOff ? 2 : 1
    assert.ok(asked() > perQuestion)
    const before = asked()
    assert.equal((await permissions.lookUp(bob)).kind, 'unavailable')
    assert.equal(asked() - before, perQuestion)
    fiat.answer(alive)
    await waitUntilKnown(permissions, alice, clock)
  })
}

test('after a while a failure is retried as before', async (t) => {
  const { permissions, asked, clock } = await open(t, () => new Reply(500), persistent)
  await permissions.lookUp(alice)
  clock.nowMs += 10_001
  const before = asked()
  await permissions.lookUp(alice)
  assert.ok(asked() - before > 1)
})

test('an unreadable answer is final for its user only', async (t) => {
  const { permissions } = await open(t, (request: RecordedRequest) =>
    request.path.endsWith('alice') ? 'gibberish' : view('bob'),
  )
  assert.equal((await permissions.lookUp(alice)).kind, 'unavailable')
  assert.equal((await permissions.lookUp(bob)).kind, 'view')
})

test('an expired view is not used while the service is silent', async (t) => {
  const { permissions, fiat, clock } = await open(t, alive, impatient)
  await waitUntilKnown(permissions, alice, clock)
  fiat.answer(() => silence)
  clock.nowMs += 20_001
  assert.equal((await permissions.lookUp(alice)).kind, 'unavailable')
})

test('a view stays the same object while the service says the same', async (t) => {
  const { permissions, fiat, clock } = await open(t, alive)
  const viewOf = () => permissions.viewOf(alice)
  const before = await viewOf()
  clock.nowMs += 20_001
  assert.equal(await viewOf(), before)
  assert.equal(fiat.background.length, 2)
  fiat.answer(() => ({
    name: 'alice',
    admin: true,
    accounts: [],
    applications: [],
    serviceAccounts: [],
    roles: [],
  }))
  clock.nowMs += 20_001
  assert.equal((await viewOf())?.admin, true)
})

test('the last known view applies for a configured time', async (t) => {
  const { permissions, fiat, clock } = await open(t, alive, { lastKnownForMs: 60_000 })
  await permissions.lookUp(alice)
  fiat.answer(() => new Reply(500))
  clock.nowMs += 20_001
  assert.equal((await permissions.lookUp(alice)).kind, 'view')
  assert.equal((await permissions.lookUp(bob)).kind, 'unavailable')
  clock.nowMs += 60_000
  assert.equal((await permissions.lookUp(alice)).kind, 'unavailable')
})

test('a definite answer or logout ends the last view', async (t) => {
  const { permissions, fiat, clock } = await open(t, alive, { lastKnownForMs: 60_000 })
  await permissions.lookUp(alice)
  await permissions.lookUp(bob)
  fiat.answer((request: RecordedRequest) =>
    request.path.endsWith('bob') ? new Reply(404) : new Reply(500),
  )
  clock.nowMs += 20_001
  assert.equal((await permissions.lookUp(bob)).kind, 'unknown')
  await permissions.reportLogout('alice')
  assert.equal((await permissions.lookUp(alice)).kind, 'unavailable')
})

test('a login waits for a silent service within a bound', async (t) => {
  const { permissions } = await open(t, () => silence)
  await assert.rejects(permissions.reportLogin(alice, { call: 'roles', attempts: 5 }), {
    code: 'LOGIN_UNAVAILABLE',
    message: /Try again in a moment/,
  })
})

test('a logout does not wait for a silent service', async (t) => {
  const { permissions, fiat } = await open(t, () => silence, { loginTimeoutMs: 60_000 })
  await permissions.reportLogout('alice')
  assert.deepEqual(
    fiat.background.map(({ method, path }) => `${method} ${path}`),
    ['DELETE /roles/alice'],
  )
})

test('whether an application may be created is asked within a bound', async (t) => {
  const { permissions } = await open(t, () => silence, impatient)
  await assert.rejects(permissions.mayCreateApplication(alice, 'web'), {
    code: 'PERMISSIONS_UNAVAILABLE',
    status: 503,
  })
})

test('closing ends every question, and nobody waits any longer', async (t) => {
  const { permissions } = await open(t, () => silence, { lookupTimeoutMs: 600_000 })
  const asking = permissions.lookUp(alice)
  permissions.close()
  assert.equal((await asking).kind, 'unavailable')
  assert.equal((await permissions.lookUp(bob)).kind, 'unavailable')
})

test('one question per user is open at a time', async (t) => {
  let version = 0
  const fiat = await startUpstream(t, () => silence)
  const patient = { ...settings, lookupTimeoutMs: 60_000 }
  const upstreams = openUpstreams(t, fiat.url)
  const permissions = new Permissions({
    settings: patient,
    upstreams,
    log: silentLog,
    version: () => version,
  })
  t.after(() => permissions.close())
  const asked = async (times: number) => {
    while (fiat.background.length < times) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const asking = Array.from({ length: 20 }, () => {
    version++
    return permissions.viewOf(alice)
  })
  await asked(1)
  fiat.release({ ...view('alice'), admin: false })
  await asked(2)
  fiat.release({ ...view('alice'), admin: true })
  const views = await Promise.all(asking)
  assert.deepEqual(
    views.map((one) => one?.admin),
    [false, ...Array.from({ length: 19 }, () => true)],
  )
  assert.equal(fiat.background.length, 2)
})
