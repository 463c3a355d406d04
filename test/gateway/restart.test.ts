import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Browser } from '../login/browser.ts'
import { createHome, type ServeProcess, startServe } from '../support/serve.ts'

const rounds = 3
const password = 'correct-horse-battery'
const json = { 'content-type': 'application/json' }

/** What the gateway has acknowledged, and must therefore still know after every death. */
interface Acknowledged {
  /** Cookies. */
  sessions: string[]
  /** Names of definitions. */
  definitions: string[]
  /** Ids of executions that wait for seconds, and of those that wait for a judgment. */
  waiting: string[]
  judged: string[]
}

const stages = {
  waiting: [{ refId: '1', type: 'wait', name: 'Wait', waitTime: 1, requisiteStageRefIds: [] }],
  judged: [{ refId: '1', type: 'manualJudgment', name: 'Judge', judgmentInputs: [], requisiteStageRefIds: [] }],
}

function start(t: TestContext, home: string): ServeProcess {
  return startServe(t, { anonymous: { enabled: false } }, { home, embedded: true, env: { FAIRLEAD_ADMIN_PASSWORD: password } })
}

/** Logs in, saves definitions and runs them, until the gateway dies; whatever was answered is noted. */
async function work(url: string, name: string, acknowledged: Acknowledged): Promise<void> {
  for (let turn = 0; ; turn++) {
    const browser = new Browser(url)
    const login = await browser.login('admin', password)
    assert.equal(login.status, 302)
    acknowledged.sessions.push(browser.cookie)
    const kind = turn % 2 === 0 ? 'waiting' : 'judged'
    const definition = { application: 'web', name: `${name}-${turn}`, stages: stages[kind] }
    const saved = await browser.visit('/pipelines', { method: 'POST', headers: json, body: JSON.stringify(definition) })
    assert.equal(saved.status, 200, saved.text)
    acknowledged.definitions.push(definition.name)
    const path = `/pipelines/web/${definition.name}`
    const started = await browser.visit(path, { method: 'POST', headers: json, body: '{"type":"manual"}' })
    assert.equal(started.status, 202, started.text)
    acknowledged[kind].push(String((JSON.parse(started.text) as { ref: string }).ref.split('/').at(-1)))
  }
}

/** Kills the process while three clients work. */
async function dieAtWork(gateway: ServeProcess, round: number, acknowledged: Acknowledged): Promise<void> {
  const url = await gateway.listening
  const clients = [1, 2, 3].map((client) => work(url, `r${round}-c${client}`, acknowledged))
  const ends = Promise.allSettled(clients)
  let working = true
  void ends.then(() => {
    working = false
  })
  // A login alone takes long on a busy machine; from the first execution on, any moment will do.
  const started = () => acknowledged.waiting.length + acknowledged.judged.length
  const before = started()
  while (working && started() === before) await pause(20)
  await pause(Math.random() * 600)
  gateway.signal('SIGKILL')
  await gateway.exited
  for (const end of await ends) {
    const reason: unknown = end.status === 'rejected' ? end.reason : undefined
    assert.ok(!(reason instanceof assert.AssertionError), String(reason))
  }
}

interface Execution {
  status: string
  stages: { id: string; status: string }[]
}

async function read<T>(url: string, cookie: string, path: string): Promise<T> {
  const answer = await fetch(url + path, { headers: { cookie } })
  const text = await answer.text()
  assert.equal(answer.status, 200, `${path}: ${text}`)
  return JSON.parse(text) as T
}

async function checkAcknowledged(url: string, { sessions, definitions, waiting, judged }: Acknowledged): Promise<string> {
  for (const cookie of sessions) assert.equal((await read<{ username: string }>(url, cookie, '/auth/user')).username, 'admin')
  const cookie = sessions[0] ?? assert.fail('nobody logged in')
  const names = (await read<{ name: string }[]>(url, cookie, '/applications/web/pipelineConfigs')).map(({ name }) => name)
  assert.deepEqual(
    definitions.filter((name) => !names.includes(name)),
    [],
  )
  assert.equal(new Set(names).size, names.length)
  for (const id of [...waiting, ...judged]) {
    const { status } = await read<Execution>(url, cookie, `/pipelines/${id}`)
    assert.ok(['NOT_STARTED', 'RUNNING', 'SUCCEEDED'].includes(status), `${id} is ${status}`)
  }
  return cookie
}

/** Waits for an execution to come to its end, and answers its question if it has one. */
async function finish(url: string, cookie: string, id: string): Promise<string> {
  for (;;) {
    const {
      status,
      stages: [stage],
    } = await read<Execution>(url, cookie, `/pipelines/${id}`)
    if (status !== 'RUNNING' && status !== 'NOT_STARTED') return status
    if (stage?.status === 'RUNNING') {
      const body = '{"judgmentStatus":"continue"}'
      await fetch(`${url}/pipelines/${id}/stages/${stage.id}`, { method: 'PATCH', headers: { ...json, cookie }, body })
    }
    await pause(200)
  }
}

test('after kill -9 the acknowledged state is there', {
  timeout: 300_000,
}, async (t) => {
  const home = createHome(t)
  const acknowledged: Acknowledged = { sessions: [], definitions: [], waiting: [], judged: [] }
  let gateway = start(t, home)
  for (let round = 0; round < rounds; round++) {
    await dieAtWork(gateway, round, acknowledged)
    gateway = start(t, home)
    await checkAcknowledged(await gateway.listening, acknowledged)
  }
  const url = await gateway.listening
  const cookie = await checkAcknowledged(url, acknowledged)

  assert.ok(acknowledged.definitions.length >= rounds, 'the clients came to nothing')
  const executions = [...acknowledged.waiting, ...acknowledged.judged]
  const ends = await Promise.all(executions.map((id) => finish(url, cookie, id)))
  assert.deepEqual(new Set(ends), new Set(['SUCCEEDED']))
  t.diagnostic(
    `${acknowledged.sessions.length} sessions, ${acknowledged.definitions.length} definitions, ${executions.length} executions`,
  )
})
