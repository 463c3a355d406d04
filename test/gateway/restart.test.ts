import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Browser } from '../login/browser.ts'
import { createHome, type ServeProcess, startServe } from '../support/serve.ts'
import { waitFor } from '../support/wait-until.ts'

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
  judged: [
    {
      refId: '1',
      type: 'manualJudgment',
      name: 'Judge',
      judgmentInputs: [],
      requisiteStageRefIds: [],
    },
  ],
}

function start(t: TestContext, home: string): ServeProcess {
  const settings = {
    anonymous: { enabled: false },
    kayenta: { file: { accounts: [{ name: 'files', folder: home }] } },
  }
  return startServe(t, settings, {
    home,
    embedded: true,
    env: { FAIRLEAD_ADMIN_PASSWORD: password },
  })
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
    const saved = await browser.visit('/pipelines', {
      method: 'POST',
      headers: json,
      body: JSON.stringify(definition),
    })
    assert.equal(saved.status, 200, saved.text)
    acknowledged.definitions.push(definition.name)
    const path = `/pipelines/web/${definition.name}`
    const started = await browser.visit(path, {
      method: 'POST',
      headers: json,
      body: '{"type":"manual"}',
    })
    assert.equal(started.status, 202, started.text)
    acknowledged[kind].push(
      String((JSON.parse(started.text) as { ref: string }).ref.split('/').at(-1)),
    )
  }
}

/** Three intervals, each judged for itself; the figures are lost once the first is. @returns the id of the execution */
async function analyze(url: string, home: string): Promise<string> {
  const browser = new Browser(url)
  await browser.login('admin', password)
  const post = async (path: string, body: object) => {
    const { status, text } = await browser.visit(path, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(body),
    })
    assert.ok(status < 300, text)
    return JSON.parse(text || '{}') as { ref: string }
  }
  const file = join(home, 'latency.csv')
  const seconds = Array.from(
    { length: 120 },
    (_, index) => Math.floor(Date.now() / 1000) + index - 30,
  )
  writeFileSync(file, ['timestamp,value', ...seconds.map((time) => `${time},20`)].join('\n'))
  const metric = {
    name: 'latency',
    groups: ['all'],
    query: { type: 'file', metricName: 'latency' },
  }
  await post('/v2/canaryConfig', {
    id: 'latency',
    name: 'latency',
    applications: ['web'],
    metrics: [metric],
  })
  const scopes = [{ controlScope: 'a', experimentScope: 'b', step: 1 }]
  const times = {
    lifetimeDuration: 'PT6S',
    canaryAnalysisIntervalMins: 1 / 30,
    lookbackMins: 1 / 30,
  }
  const stage = {
    refId: '1',
    type: 'kayentaCanary',
    canaryConfig: { canaryConfigId: 'latency', scopes, ...times },
  }
  await post('/pipelines', { application: 'web', name: 'canary', stages: [stage] })
  const id = String((await post('/pipelines/web/canary', { type: 'manual' })).ref.split('/').at(-1))
  await waitFor(
    async () => (await scoresOf(url, browser.cookie, id)).length > 0 || undefined,
    'the first judgment',
  )
  writeFileSync(file, 'timestamp,value')
  return id
}

async function scoresOf(url: string, cookie: string, id: string): Promise<unknown[]> {
  const { stages } = await read<Execution>(url, cookie, `/pipelines/${id}`)
  return stages.flatMap(({ type, context }) =>
    type === 'runCanary' ? (context['canaryScore'] ?? []) : [],
  )
}

/** Kills the process while three clients work. */
async function dieAtWork(
  gateway: ServeProcess,
  round: number,
  acknowledged: Acknowledged,
): Promise<void> {
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
  stages: { id: string; status: string; type: string; context: Record<string, unknown> }[]
}

async function read<T>(url: string, cookie: string, path: string): Promise<T> {
  const answer = await fetch(url + path, { headers: { cookie } })
  const text = await answer.text()
  assert.equal(answer.status, 200, `${path}: ${text}`)
  return JSON.parse(text) as T
}

async function checkAcknowledged(
  url: string,
  { sessions, definitions, waiting, judged }: Acknowledged,
): Promise<string> {
  for (const cookie of sessions)
    assert.equal((await read<{ username: string }>(url, cookie, '/auth/user')).username, 'admin')
  const cookie = sessions[0] ?? assert.fail('nobody logged in')
  const names = (
    await read<{ name: string }[]>(url, cookie, '/applications/web/pipelineConfigs')
  ).map(({ name }) => name)
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
      await fetch(`${url}/pipelines/${id}/stages/${stage.id}`, {
        method: 'PATCH',
        headers: { ...json, cookie },
        body,
      })
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
  const canary = await analyze(await gateway.listening, home)
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
  assert.equal(
    await finish(url, cookie, canary),
    'SUCCEEDED',
    'an interval without data is no evidence against a canary',
  )
  assert.deepEqual(new Set(await scoresOf(url, cookie, canary)), new Set([100]))
  t.diagnostic(
    `${acknowledged.sessions.length} sessions, ${acknowledged.definitions.length} definitions, ${executions.length} executions`,
  )
})
