import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { definitionsBackend } from '../../../src/backends/definitions/definitions.ts'
import { createEventsBackend } from '../../../src/backends/events/events.ts'
import { permissionsBackend } from '../../../src/backends/permissions/permissions.ts'
import { startBackends } from '../../support/backends.ts'
import { createRecording } from './recording.ts'

async function startStoreAndEvents(t: TestContext, options: { now?: () => number; authorization?: boolean } = {}) {
  const orchestrator = createRecording([])
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5 })
  const backends = await startBackends(t, [definitionsBackend, permissionsBackend, events], {
    others: (service, call) => orchestrator.call(service, call),
    now: options.now,
    settings: { authorization: options.authorization },
  })
  const save = async (pipeline: Record<string, unknown>) => {
    const answer = await backends.ask('front50', 'POST', '/pipelines', {
      application: 'demo',
      name: 'build',
      stages: [],
      ...pipeline,
    })
    assert.equal(answer.status, 200)
    return answer.body as Record<string, unknown>
  }
  return { orchestrator, backends, save }
}

test('a start uses the definition saved last', async (t) => {
  const { orchestrator, backends, save } = await startStoreAndEvents(t)
  const { id } = await save({ triggers: [{ type: 'webhook', source: 'ci', enabled: true }] })
  const content = { application: 'demo', pipelineNameOrId: 'build', trigger: {} }
  assert.equal((await backends.ask('echo', 'POST', '/', { details: { type: 'manual' }, content })).status, 200)
  await orchestrator.untilStarts(1)
  assert.equal((await backends.ask('echo', 'POST', '/webhooks/webhook/ci', {})).status, 200)
  await orchestrator.untilStarts(2)
  assert.deepEqual(
    orchestrator.starts.map(({ body }) => [
      body['id'],
      body['application'],
      (body['trigger'] as Record<string, unknown>)['type'],
    ]),
    [
      [id, 'demo', 'manual'],
      [id, 'demo', 'webhook'],
    ],
  )
  await save({ id, disabled: true, triggers: [{ type: 'webhook', source: 'ci', enabled: true }] })
  await backends.ask('echo', 'POST', '/', { details: { type: 'manual' }, content })
  await backends.ask('echo', 'POST', '/webhooks/webhook/ci', {})
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal(orchestrator.starts.length, 2)
})

test('a new cron trigger fires before the next regular read', async (t) => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z')
  const { orchestrator, save } = await startStoreAndEvents(t, { now: () => nowMs })
  await new Promise((resolve) => setTimeout(resolve, 30))
  await save({ triggers: [{ type: 'cron', cronExpression: '* * * * * ?', enabled: true }] })
  const moving = setInterval(() => {
    nowMs += 1_000
  }, 20)
  t.after(() => clearInterval(moving))
  await orchestrator.untilStarts(2)
})

test('events-scenario 29: embedded permissions decide which user a trigger may run as', async (t) => {
  const { orchestrator, backends, save } = await startStoreAndEvents(t, { authorization: true })
  const protect = (permissions: Record<string, string[]>) =>
    backends.ask('front50', 'PUT', '/permissions/applications/demo', { name: 'demo', permissions })
  const startsAfterWebhook = async () => {
    assert.equal((await backends.ask('echo', 'POST', '/webhooks/webhook/ci', {})).status, 200)
    await new Promise((resolve) => setTimeout(resolve, 50))
    return orchestrator.starts.length
  }
  assert.equal((await backends.ask('front50', 'POST', '/serviceAccounts', { name: 'bot', memberOf: ['robots'] })).status, 200)
  await save({ triggers: [{ type: 'webhook', source: 'ci', enabled: true, runAsUser: 'bot' }] })
  assert.equal((await protect({ READ: ['ops'], EXECUTE: ['ops'] })).status, 200)
  assert.equal(await startsAfterWebhook(), 0)
  await protect({ READ: ['ops'], EXECUTE: ['ops', 'robots'] })
  assert.equal(await startsAfterWebhook(), 1)
  assert.equal(orchestrator.starts[0]!.headers['x-spinnaker-user'], 'bot')
})
