/** Names of any script, in a gateway with all back ends embedded, from the request to the run. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { findCharacterObjection } from '../../../packages/base/names/user-name.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { isComplete, type Status } from '../../../packages/engine/orchestration/statuses.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import { startBackends } from '../../support/backends.ts'
import { startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Execution {
  status: Status
  cancellationReason?: string
  trigger: { type: string }
  name: string
  application: string
}

const names = [
  'приложение 🚀',
  'مرحبا بالعالم',
  '‮evil',
  '<script>alert(1)</script>',
  '100% %41',
  "' OR 1=1 --",
]

/** No application is named by invisible characters; a pipeline may be. */
function applicationOf(name: string): string {
  return findCharacterObjection(name) === undefined ? name : 'demo'
}

async function startStandalone(t: TestContext) {
  const url = await startGateway(t, {}, { embedded: true })
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json().catch(() => undefined)) as unknown }
  }
  return { ask }
}

test('names of any characters start by hand and webhook', async (t) => {
  const { ask } = await startStandalone(t)
  const start = async (name: string, index: number) => {
    const id = `p${index}`
    const triggers = [{ type: 'webhook', source: id, enabled: true }]
    const definition = {
      id,
      application: applicationOf(name),
      name,
      stages: [{ type: 'wait', waitTime: 0 }],
      triggers,
    }
    assert.equal((await ask('POST', '/pipelines', definition)).status, 200, name)
    assert.equal((await ask('POST', `/webhooks/webhook/${id}`, {})).status, 200)
    // Paths may hold neither an encoded slash nor an encoded percent sign.
    const byHand = !/[/%]/.test(name)
    if (byHand) {
      assert.equal(
        (await ask('POST', `/pipelines/v2/${encodeURIComponent(applicationOf(name))}/${id}`, {}))
          .status,
        202,
        name,
      )
    }
    let runs: Execution[] = []
    const areDone = async () => {
      runs = (await ask('GET', `/executions?pipelineConfigIds=${id}&limit=10`)).body as Execution[]
      return runs.length === (byHand ? 2 : 1) && runs.every(({ status }) => status === 'SUCCEEDED')
    }
    await waitUntil(areDone, `the runs of ${name}`)
    for (const run of runs)
      assert.deepEqual([run.name, run.application], [name, applicationOf(name)])
  }
  await Promise.all(names.map(start))
})

const stages = [{ refId: '1', type: 'wait', waitTime: 0 }]

test('events of every kind start pipelines of any name', async (t) => {
  const now = { ms: Date.parse('2031-01-01T00:58:00Z') }
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5 })
  const { ask } = await startBackends(t, [definitionsBackend, orchestrationBackend, events], {
    now: () => now.ms,
    others: async () => ({ status: 404, body: undefined }),
  })
  const all = [...names.slice(0, 4), 'nul\u0000 and\nline', '🚀'.repeat(127), `${'x'.repeat(254)}%`]
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const answer = await ask('echo', 'POST', path, body, headers)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  for (const [index, name] of all.entries()) {
    const [id, parent] = [`p${index}`, `parent${index}`]
    const triggers: JsonObject[] = [
      { type: 'webhook', source: name },
      { type: 'git', source: 'github', project: name, slug: 'repo', branch: '(?s).*' },
      { type: 'jenkins', master: name, job: name },
      { type: 'docker', account: name, repository: name, tag: '(?s).*' },
      { type: 'pubsub', pubsubSystem: 'google', subscriptionName: name },
      { type: 'pipeline', pipeline: parent, status: ['successful'] },
      { type: 'cron', id: name, cronExpression: '0 * * * * ?' },
    ]
    const definition = {
      id,
      application: applicationOf(name),
      name,
      stages,
      triggers: triggers.map((each) => ({ enabled: true, ...each })),
    }
    const saved = await ask('front50', 'POST', '/pipelines', definition)
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    await post('/webhooks/webhook', { source: name })
    await post('/webhooks/git/github', {
      repository: { name: 'repo', owner: { name } },
      ref: `refs/heads/${name}`,
      after: '1',
    })
    const lastBuild = { building: false, result: 'SUCCESS', number: 1 }
    await post('/', {
      details: { type: 'build' },
      content: { master: name, project: { name, lastBuild } },
    })
    await post('/', {
      details: { type: 'docker' },
      content: { account: name, repository: name, tag: name },
    })
    const messageDescription = { pubsubSystem: 'google', subscriptionName: name }
    await post('/', { details: { type: 'pubsub' }, content: { messageDescription }, payload: {} })
    const content = {
      application: applicationOf(name),
      pipelineNameOrId: name,
      trigger: { executionId: `manual${index}` },
    }
    const byHand = await ask('echo', 'POST', '/', { details: { type: 'manual' }, content })
    assert.equal(byHand.status, 200)
    await ask('orca', 'POST', '/orchestrate', {
      id: parent,
      application: 'other',
      name: 'parent',
      stages,
    })
  }
  for (const [index, name] of all.entries()) {
    const kinds = ['webhook', 'git', 'jenkins', 'docker', 'pubsub', 'pipeline', 'cron', 'manual']
    let runs: Execution[] = []
    const started = () => new Set(runs.map(({ trigger }) => trigger.type))
    const areThere = async () => {
      // A time that a busy scheduler sees too late is missed; the next minute comes.
      if (!started().has('cron')) now.ms += 20_000
      runs = (await ask('orca', 'GET', `/pipelines?pipelineConfigIds=p${index}&limit=500`))
        .body as Execution[]
      return (
        kinds.every((kind) => started().has(kind)) && runs.every(({ status }) => isComplete(status))
      )
    }
    await waitUntil(areThere, () => `runs of ${name.slice(0, 20)}: ${[...started()]} of ${kinds}`)
    for (const run of runs) {
      assert.deepEqual(
        [run.status, run.name, run.application],
        ['SUCCEEDED', name, applicationOf(name)],
        String(run.cancellationReason),
      )
    }
  }
})
