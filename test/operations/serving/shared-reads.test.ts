/** Identical reads at the same moment share one call to the service. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../../packages/gateway/login/form/users.ts'
import { basic } from '../../login/support.ts'
import { runGateway } from '../../support/gateway.ts'
import {
  type RecordedRequest,
  Reply,
  silence,
  startUpstream,
  type Upstream,
} from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'

const password = 'correct horse'
const applications = ['web', 'api'].map((name) => ({
  name,
  authorizations: ['READ', 'WRITE', 'EXECUTE'],
}))
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

async function start(t: test.TestContext): Promise<Setup> {
  const [orca, clouddriver] = await Promise.all([startUpstream(t), startUpstream(t, () => [])])
  const fiat = await startUpstream(t, ({ method, path }) => {
    const name = path.split('/').at(-1) ?? ''
    return method === 'GET'
      ? { name, admin: false, serviceAccounts: [], roles: [], ...views[name] }
      : new Reply(200)
  })
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password } },
    permissions: { enforce: 'gateway' },
    services: {
      fiat: { enabled: true, baseUrl: fiat.url },
      orca: { enabled: true, baseUrl: orca.url },
      clouddriver: { enabled: true, baseUrl: clouddriver.url },
    },
  })
  const users = openUsers(dataDir)
  for (const name of Object.keys(views)) await users.add(name, password, ['dev'])
  users.close()
  const ask = async ({ user, path, headers, ...others }: Asked): Promise<Answer> => {
    const answer = await fetch(url + path, {
      headers: { ...basic(user, password), ...headers },
      ...others,
    })
    return { status: answer.status, text: await answer.text() }
  }
  const metricOf = async (name: string) => {
    const text = await (await fetch(`${url}/metrics`, { headers: basic('rita', password) })).text()
    return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)`, 'm').exec(text)?.[1] ?? 0)
  }
  // Passwords and views are known from now on.
  for (const user of Object.keys(views))
    await ask({ user, path: '/applications/web/loadBalancers' })
  const before = await metricOf('fairlead_requests_in_flight')
  return {
    orca,
    ask,
    calls: () => orca.requests.splice(0),
    async send(requests) {
      const answers = requests.map(ask)
      for (const answer of answers) answer.catch(() => {})
      const waiting = async () =>
        (await metricOf('fairlead_requests_in_flight')) >= before + requests.length
      await waitUntil(waiting, 'the requests')
      // What arrives later, and takes the same steps, has passed them last.
      for (const user of Object.keys(views))
        await ask({ user, path: '/applications/web/loadBalancers' })
      return answers
    },
    metric: () => metricOf('fairlead_shared_reads_total'),
  }
}

/** The gateway filters it by what the caller may see. */
const path = '/applications/web/pipelines'
const runs = [
  { id: 'e1', application: 'web' },
  { id: 'e2', application: 'api' },
]

function idsIn({ text }: Answer): string[] {
  return (JSON.parse(text) as { id: string }[]).map(({ id }) => id)
}

test('identical reads share one call as far as rights are the same', async (t) => {
  const { orca, calls, send, metric } = await start(t)
  orca.answer(() => silence)
  const names = ['rita', 'sam', 'tom', 'una']
  const answers = await send(
    names.flatMap((user) => Array.from({ length: 5 }, () => ({ user, path }))),
  )
  const asked = calls()
  assert.deepEqual(asked.length, 3)
  const users = asked.map(({ headers }) => String(headers['x-spinnaker-user']))
  assert.deepEqual(users.filter((user) => user === 'rita' || user === 'sam').length, 1)
  assert.ok(users.includes('tom') && users.includes('una'))
  orca.release(runs)
  for (const [index, answer] of (await Promise.all(answers)).entries()) {
    assert.deepEqual([answer.status, idsIn(answer)], [200, index < 15 ? ['e1', 'e2'] : ['e1']])
  }
  assert.equal(await metric(), 17)

  orca.answer(() => silence)
  const others = await send([
    { user: 'rita', path },
    { user: 'rita', path: `${path}?limit=1` },
    { user: 'rita', path, headers: { 'x-ratelimit-app': 'deck' } },
    { user: 'rita', path, method: 'HEAD' },
    { user: 'rita', path: '/applications/api/pipelines' },
  ])
  assert.equal(calls().length, 5)
  orca.release([])
  await Promise.all(others)
})

test('reads that are streamed have a call each', async (t) => {
  const { orca, calls, send } = await start(t)
  orca.answer(() => silence)
  const tasks = '/applications/web/tasks'
  const answers = await send(['rita', 'rita', 'sam'].map((user) => ({ user, path: tasks })))
  assert.equal(calls().length, 3)
  orca.release([{ id: 't1', application: 'web' }])
  for (const answer of await Promise.all(answers)) assert.deepEqual(idsIn(answer), ['t1'])
})

test('a client that goes away ends the call only if no other waits', async (t) => {
  const { orca, calls, send } = await start(t)
  orca.answer(() => silence)
  const [first, second] = [new AbortController(), new AbortController()]
  const answers = await send([
    { user: 'rita', path, signal: first.signal },
    { user: 'rita', path, signal: second.signal },
    { user: 'sam', path },
    { user: 'sam', path },
  ])
  for (const gone of [first, second]) gone.abort()
  await Promise.allSettled(answers.slice(0, 2))
  assert.equal(calls().length, 1)
  orca.release(runs)
  for (const answer of await Promise.all(answers.slice(2)))
    assert.deepEqual(idsIn(answer), ['e1', 'e2'])
  assert.equal(calls().length, 0)
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
  orca.answer(
    ({ headers }) => new Reply(403, { message: `${headers['x-spinnaker-user']} may not` }),
  )
  orca.release(new Reply(403, { message: 'someone may not' }))
  const texts = (await Promise.all(refused)).map(({ text }) => text)
  assert.equal(texts.filter((text) => text.includes('someone')).length, 1)
  assert.equal(texts.filter((text) => /rita|sam/.test(text)).length, 1)
  assert.equal(calls().length, 1)
})

test('after a change reads join no call that began before', async (t) => {
  const { orca, calls, send, ask } = await start(t)
  orca.answer(({ method, path: asked }) => {
    if (method !== 'GET') return new Reply(202)
    return asked === '/tasks/t1' ? { id: 't1', application: 'web' } : silence
  })
  const listed = () => calls().filter((call) => call.path.includes(path)).length
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
