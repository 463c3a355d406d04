/** Identical reads at the same moment share one call to the service. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { openUsers } from '../../../src/login/form/users.ts'
import { basic } from '../../login/support.ts'
import { runGateway } from '../../support/gateway.ts'
import { brokenOff, type RecordedRequest, Reply, silence, startUpstream, type Upstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'

const password = 'correct horse'
const applications = ['web', 'api'].map((name) => ({ name, authorizations: ['READ', 'WRITE', 'EXECUTE'] }))
/** Rita and Sam may do the same, Tom may use another account, Una reads one application only. */
const views: Record<string, object> = {
  rita: { accounts: [], applications },
  sam: { accounts: [], applications },
  tom: { accounts: [{ name: 'prod', authorizations: ['READ', 'WRITE'] }], applications },
  una: { accounts: [], applications: applications.slice(0, 1) },
}

interface Setup {
  readonly orca: Upstream
  /** Calls for reads that the service was asked for since the last time. */
  readonly calls: () => RecordedRequest[]
  /** Sends these at once; resolves when all of them wait for the service. */
  readonly send: (requests: readonly Asked[]) => Promise<Promise<Answer>[]>
  readonly ask: (asked: Asked) => Promise<Answer>
  readonly metric: () => Promise<number>
}

interface Asked {
  readonly user: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
  readonly method?: string
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** @param orcaUrl Of another service than the one that is started. */
async function start(
  t: test.TestContext,
  { enforce = 'gateway', orcaUrl }: { enforce?: string; orcaUrl?: string } = {},
): Promise<Setup> {
  const [orca, clouddriver] = await Promise.all([startUpstream(t), startUpstream(t, () => [])])
  const fiat = await startUpstream(t, ({ method, path }) => {
    const name = path.split('/').at(-1) ?? ''
    return method === 'GET' ? { name, admin: false, serviceAccounts: [], roles: [], ...views[name] } : new Reply(200)
  })
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password } },
    permissions: { enforce },
    services: {
      fiat: { enabled: true, baseUrl: fiat.url },
      orca: { enabled: true, baseUrl: orcaUrl ?? orca.url },
      clouddriver: { enabled: true, baseUrl: clouddriver.url },
    },
  })
  const users = openUsers(dataDir)
  for (const name of Object.keys(views)) await users.add(name, password, ['dev'])
  users.close()
  const ask = async ({ user, path, headers, ...others }: Asked): Promise<Answer> => {
    const answer = await fetch(url + path, { headers: { ...basic(user, password), ...headers }, ...others })
    return { status: answer.status, text: await answer.text() }
  }
  const metricOf = async (name: string) => {
    const text = await (await fetch(`${url}/metrics`, { headers: basic('rita', password) })).text()
    return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)`, 'm').exec(text)?.[1] ?? 0)
  }
  // Passwords and views are known from now on.
  for (const user of Object.keys(views)) await ask({ user, path: '/applications/web/loadBalancers' })
  const before = await metricOf('fairlead_requests_in_flight')
  return {
    orca,
    ask,
    calls: () => orca.requests.splice(0),
    async send(requests) {
      const answers = requests.map(ask)
      for (const answer of answers) answer.catch(() => {})
      const waiting = async () => (await metricOf('fairlead_requests_in_flight')) >= before + requests.length
      await waitUntil(waiting, 'the requests')
      // What arrives later, and takes the same steps, has passed them last.
      for (const user of Object.keys(views)) await ask({ user, path: '/applications/web/loadBalancers' })
      return answers
    },
    metric: () => metricOf('fairlead_shared_reads_total'),
  }
}

const path = '/applications/web/tasks'

test('identical reads share one call as far as rights are the same', async (t) => {
  const { orca, calls, send, metric } = await start(t)
  orca.answer(() => silence)
  const names = ['rita', 'sam', 'tom', 'una']
  const answers = await send(names.flatMap((user) => Array.from({ length: 5 }, () => ({ user, path }))))
  const asked = calls()
  assert.deepEqual(asked.length, 3)
  const users = asked.map(({ headers }) => String(headers['x-spinnaker-user']))
  assert.deepEqual(users.filter((user) => user === 'rita' || user === 'sam').length, 1)
  assert.ok(users.includes('tom') && users.includes('una'))
  orca.release([{ id: 't1', application: 'web' }])
  for (const answer of await Promise.all(answers)) {
    assert.deepEqual([answer.status, JSON.parse(answer.text)], [200, [{ id: 't1', application: 'web' }]])
  }
  assert.equal(await metric(), 17)

  orca.answer(() => silence)
  const others = await send([
    { user: 'rita', path },
    { user: 'rita', path: `${path}?limit=1` },
    { user: 'rita', path, headers: { 'accept-encoding': 'identity' } },
    { user: 'rita', path, headers: { 'if-none-match': '"1"' } },
    { user: 'rita', path, headers: { 'x-ratelimit-app': 'deck' } },
    { user: 'rita', path, method: 'HEAD' },
    { user: 'rita', path: '/applications/api/tasks' },
  ])
  assert.equal(calls().length, 7)
  orca.release([])
  await Promise.all(others)
})

test('reads that the gateway filters share their call, too', async (t) => {
  const { orca, calls, send } = await start(t)
  orca.answer(() => silence)
  const runs = '/applications/web/pipelines'
  const answers = await send(['rita', 'sam', 'una', 'una'].map((user) => ({ user, path: runs })))
  assert.equal(calls().length, 2)
  orca.release([
    { id: 'e1', application: 'web' },
    { id: 'e2', application: 'api' },
  ])
  const texts = (await Promise.all(answers)).map(({ text }) => (JSON.parse(text) as { id: string }[]).map(({ id }) => id))
  assert.deepEqual(texts, [['e1', 'e2'], ['e1', 'e2'], ['e1'], ['e1']])
})

test('a client that goes away ends the call only if no other waits', async (t) => {
  const { orca, calls, send } = await start(t)
  for (const shown of [path, '/applications/web/pipelines']) {
    orca.answer(() => silence)
    const [first, second] = [new AbortController(), new AbortController()]
    const answers = await send([
      { user: 'rita', path: shown, signal: first.signal },
      { user: 'rita', path: shown, signal: second.signal },
      { user: 'sam', path: shown },
      { user: 'sam', path: shown },
    ])
    for (const gone of [first, second]) gone.abort()
    await Promise.allSettled(answers.slice(0, 2))
    assert.equal(calls().length, 1)
    orca.release([{ id: 'x', application: 'web' }])
    for (const answer of await Promise.all(answers.slice(2))) assert.match(answer.text, /"x"/)
    assert.equal(calls().length, 0)
  }
})

test('errors are for those who wait, except those about another user', async (t) => {
  const { orca, calls, send } = await start(t)
  orca.answer(() => silence)
  const two = [
    { user: 'rita', path },
    { user: 'sam', path },
  ]
  const failing = await send(two)
  assert.equal(calls().length, 1)
  orca.release(new Reply(500, { message: 'out of order' }))
  assert.deepEqual(
    (await Promise.all(failing)).map(({ status }) => status),
    [500, 500],
  )
  orca.answer(() => silence)
  const refused = await send(two)
  assert.equal(calls().length, 1)
  orca.answer(({ headers }) => new Reply(403, { message: `${headers['x-spinnaker-user']} may not` }))
  orca.release(new Reply(403, { message: 'someone may not' }))
  const texts = (await Promise.all(refused)).map(({ text }) => text)
  assert.equal(texts.filter((text) => text.includes('someone')).length, 1)
  assert.equal(texts.filter((text) => /rita|sam/.test(text)).length, 1)
  assert.equal(calls().length, 1)
})

test('an answer that breaks off or is long is not shared', async (t) => {
  const { orca, calls, send } = await start(t)
  const long = randomBytes(1_600_000).toString('hex')
  for (const given of [brokenOff, new Reply(200, [{ long }])]) {
    orca.answer(() => silence)
    const answers = await send([
      { user: 'rita', path },
      { user: 'rita', path },
      { user: 'sam', path },
    ])
    assert.equal(calls().length, 1)
    orca.answer(() => new Reply(200, [{ long }]))
    orca.release(given)
    for (const { status, text } of await Promise.all(answers)) {
      assert.equal(status, 200)
      assert.ok(text.includes(long))
    }
    if (given !== brokenOff) assert.equal(calls().length, 2)
  }
})

interface StreamingService {
  readonly url: string
  /** The answers to its calls so far, of which nothing is sent unless a test does. */
  readonly answers: ServerResponse[]
  /** From now on it answers in full, at once. */
  answerAll(): void
}

const entry = (id: string) => `{"id":"${id}","application":"web","filler":"${randomBytes(100_000).toString('hex')}"}`
const [first, second] = [entry('e1'), entry('e2')]
const whole = `[${first},${second}]`
const json = { 'content-type': 'application/json' }

/** A service that sends its answers piece by piece, without a length. */
async function startStreaming(t: test.TestContext): Promise<StreamingService> {
  const answers: ServerResponse[] = []
  let isPrompt = false
  const server = createServer((request, response) => {
    if (!request.url?.includes('/tasks') || isPrompt) return void response.writeHead(200, json).end(isPrompt ? whole : '[]')
    answers.push(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    answerAll: () => {
      isPrompt = true
    },
  }
}

const three = ['rita', 'rita', 'sam'].map((user, index) => ({ user, path, headers: { 'x-spinnaker-request-id': `r${index}` } }))

/** Which of the three the service was asked for. */
function leaderOf({ answers }: StreamingService): number {
  return Number(String(answers[0]?.req.headers['x-spinnaker-request-id']).slice(1))
}

test('followers of a call that breaks off within its answer ask themselves', async (t) => {
  const service = await startStreaming(t)
  const { send, metric } = await start(t, { orcaUrl: service.url })
  const answers = await send(three)
  assert.equal(service.answers.length, 1)
  service.answerAll()
  const [answer] = service.answers
  answer?.writeHead(200, json).write(`[${first},`, () => answer.destroy())
  const outcomes = await Promise.allSettled(answers)
  for (const [index, outcome] of outcomes.entries()) {
    // The client of the call has seen a part of the answer; nothing may look complete.
    if (index === leaderOf(service)) assert.equal(outcome.status, 'rejected')
    else assert.ok(outcome.status === 'fulfilled' && outcome.value.status === 200 && outcome.value.text === whole)
  }
  assert.equal(await metric(), 0)
})

test('a call goes on when its client leaves within the answer', async (t) => {
  const service = await startStreaming(t)
  const { send } = await start(t, { orcaUrl: service.url })
  const clients = three.map((asked) => ({ ...asked, leaving: new AbortController() }))
  const answers = await send(clients.map(({ leaving, ...asked }) => ({ ...asked, signal: leaving.signal })))
  const [answer] = service.answers
  answer?.writeHead(200, json).write(`[${first},`)
  const leader = leaderOf(service)
  clients[leader]?.leaving.abort()
  await assert.rejects(answers[leader] as Promise<Answer>)
  answer?.end(`${second}]`)
  const followers = await Promise.all(answers.filter((_, index) => index !== leader))
  for (const { status, text } of followers) assert.deepEqual([status, text === whole], [200, true])
  assert.equal(service.answers.length, 1)
})

test('a call ends within its answer when all of its clients have left', async (t) => {
  const service = await startStreaming(t)
  const { send } = await start(t, { orcaUrl: service.url })
  const leaving = new AbortController()
  const answers = await send(three.map((asked) => ({ ...asked, signal: leaving.signal })))
  const [answer] = service.answers as [ServerResponse]
  const ended = new Promise((resolve) => answer.once('close', resolve))
  answer.writeHead(200, json).write(`[${first},`)
  leaving.abort()
  await Promise.allSettled(answers)
  await ended
  assert.equal(answer.writableFinished, false)
})

test('an answer that turns out to be long is not shared', async (t) => {
  const service = await startStreaming(t)
  const { send, metric } = await start(t, { orcaUrl: service.url })
  const answers = await send(three)
  const [answer] = service.answers
  service.answerAll()
  const long = `[${Array.from({ length: 8 }, (_, index) => entry(`e${index}`)).join()}]`
  answer?.writeHead(200, json).write(long.slice(0, 700_000))
  answer?.end(long.slice(700_000))
  const texts = (await Promise.all(answers)).map(({ text }) => text)
  const leader = leaderOf(service)
  assert.ok(texts.every((text, index) => text === (index === leader ? long : whole)))
  assert.equal(await metric(), 0)
})

test('after a change reads join no call that began before', async (t) => {
  const { orca, calls, send, ask } = await start(t)
  orca.answer(({ method, path: asked }) => {
    if (method !== 'GET') return new Reply(202)
    return asked === '/tasks/t1' ? { id: 't1', application: 'web' } : silence
  })
  const listed = () => calls().filter((call) => call.path === path).length
  const before = await send([
    { user: 'rita', path },
    { user: 'rita', path },
  ])
  assert.equal(listed(), 1)
  assert.equal((await ask({ user: 'sam', path: '/tasks/t1/cancel', method: 'PUT' })).status, 200)
  const after = await send([
    { user: 'rita', path },
    { user: 'rita', path },
  ])
  assert.equal(listed(), 1)
  orca.release([])
  await Promise.all([...before, ...after])
})

test('where services check, users share nothing with each other', async (t) => {
  const { orca, calls, send } = await start(t, { enforce: 'services' })
  orca.answer(() => silence)
  const answers = await send(['rita', 'rita', 'sam', 'sam'].map((user) => ({ user, path })))
  assert.deepEqual(
    calls()
      .map(({ headers }) => headers['x-spinnaker-user'])
      .sort(),
    ['rita', 'sam'],
  )
  orca.release([])
  await Promise.all(answers)
})
