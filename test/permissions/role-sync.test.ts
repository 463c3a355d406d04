/** POST /auth/roles/sync: the permission service may take minutes for it, and nobody waits that long. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { basic } from '../login/support.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { InTurn, Reply, silence, startUpstream } from '../support/upstream.ts'

const view = {
  name: 'admin',
  admin: true,
  accounts: [],
  applications: [],
  serviceAccounts: [],
  roles: [],
}
const root = basic('admin', 'correct horse')

function answers(sync: unknown) {
  return {
    'GET /authorize/admin': view,
    'PUT /roles/admin': new Reply(200),
    'GET /authorize/alice': { ...view, admin: false },
    'PUT /roles/alice': new Reply(200),
    'POST /roles/sync': sync,
  }
}

async function start(t: test.TestContext, sync: unknown, settings: GatewaySettings = {}) {
  const fiat = await startUpstream(t, answers(sync))
  const lines: Record<string, unknown>[] = []
  const running = await runGateway(
    t,
    {
      fairlead: { admin: { password: 'correct horse' } },
      ...settings,
      // A silent service needs no patience, and one that answers is given all that a busy machine takes.
      services: { fiat: { baseUrl: fiat.url, readTimeoutMs: sync === silence ? 50 : 60_000 } },
    },
    { log: (line) => lines.push(line) },
  )
  const ask = (path: string, method = 'GET', headers = root) =>
    fetch(`${running.url}${path}`, { method, headers, redirect: 'manual' })
  const calls = () => fiat.background.filter(({ path }) => path === '/roles/sync')
  /** Waits for a line of the log. */
  const logged = async (message: string) => {
    while (!lines.some(({ msg }) => msg === message))
      await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return { ...running, fiat, ask, calls, logged }
}

test('the outcome of a short synchronisation is the answer', async (t) => {
  const { ask, calls } = await start(t, 12)
  const answer = await ask('/auth/roles/sync', 'POST')
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), '')
  assert.deepEqual(
    calls().map(({ method, body }) => `${method} ${body}`),
    ['POST []'],
  )
})

for (const status of [400, 404, 500, 503]) {
  test(`a synchronisation answered with ${status} is ${status}`, async (t) => {
    const { ask } = await start(t, new Reply(status, { message: 'nobody was synchronised' }))
    const answer = await ask('/auth/roles/sync', 'POST')
    assert.equal(answer.status, status)
    const { message, upstream } = (await answer.json()) as Record<string, unknown>
    assert.equal(message, `fiat answered ${status}: nobody was synchronised`)
    assert.deepEqual(upstream, { service: 'fiat', status })
  })
}

test('a long synchronisation drops older views at its end', async (t) => {
  const { ask, fiat, logged } = await start(t, silence)
  assert.equal((await ask('/auth/user')).status, 200)
  const answer = await ask('/auth/roles/sync', 'POST')
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), '')
  const questions = () => fiat.background.filter(({ path }) => path === '/authorize/admin').length
  await ask('/auth/user')
  assert.equal(questions(), 1)
  fiat.release(12)
  await logged('the roles are synchronised')
  await ask('/auth/user')
  assert.equal(questions(), 2)
  assert.match(
    await (await ask('/metrics')).text(),
    /fairlead_role_synchronisations_total\{outcome="done"\} 1/,
  )
})

test('concurrent synchronisations join', async (t) => {
  const { ask, fiat, calls, logged } = await start(t, silence)
  const joined = await Promise.all([1, 2, 3].map(() => ask('/auth/roles/sync', 'POST')))
  assert.deepEqual(
    joined.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.equal(calls().length, 1)
  fiat.release(new Reply(503, { message: 'nobody' }))
  await logged('the roles could not be synchronised')
  assert.match(
    await (await ask('/metrics')).text(),
    /fairlead_role_synchronisations_total\{outcome="failed"\} 1/,
  )
  fiat.answer(answers(new InTurn(3)))
  assert.equal((await ask('/auth/roles/sync', 'POST')).status, 200)
  assert.equal(calls().length, 1)
})

test('a client that goes away does not end the synchronisation', async (t) => {
  const { url, fiat, calls, logged } = await start(t, silence)
  const gone = new AbortController()
  const asking = fetch(`${url}/auth/roles/sync`, {
    method: 'POST',
    headers: root,
    signal: gone.signal,
  })
  while (calls().length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  gone.abort()
  await assert.rejects(asking)
  fiat.release(1)
  await logged('the roles are synchronised')
})

test('a gateway that stops does not wait for a synchronisation', async (t) => {
  const { ask, calls, stop } = await start(t, silence)
  await ask('/auth/roles/sync', 'POST')
  assert.equal(calls().length, 1)
  // The service never answers, so that a gateway that waits for it would not stop at all.
  const deadline = sleep(30_000, 'still waits', { ref: false })
  assert.equal(await Promise.race([stop().then(() => 'stopped'), deadline]), 'stopped')
})

test('only administrators synchronise', async (t) => {
  const { ask, calls, dataDir } = await start(t, 1)
  const users = openUsers(dataDir)
  t.after(() => users.close())
  await users.add('alice', 'battery staple', [])
  assert.equal(
    (await ask('/auth/roles/sync', 'POST', basic('alice', 'battery staple'))).status,
    403,
  )
  assert.equal(calls().length, 0)
  const open = await runGateway(t, {})
  assert.equal((await fetch(`${open.url}/auth/roles/sync`, { method: 'POST' })).status, 200)
  const guarded = await runGateway(t, { fairlead: { admin: { password: 'correct horse' } } })
  assert.equal(
    (await fetch(`${guarded.url}/auth/roles/sync`, { method: 'POST', headers: root })).status,
    403,
  )
})
