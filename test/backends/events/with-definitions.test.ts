import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { permissionsBackend } from '../../../packages/engine/permissions/permissions.ts'
import type { SecretSettings } from '../../../packages/engine/secrets/settings.ts'
import { startBackends } from '../../support/backends.ts'
import { createRecording } from './recording.ts'

interface StoreTestOptions {
  now?: () => number
  authorization?: boolean
  secrets?: SecretSettings
}

async function startStoreAndEvents(t: TestContext, options: StoreTestOptions = {}) {
  const orchestrator = createRecording([])
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5 })
  const backends = await startBackends(t, [definitionsBackend, permissionsBackend, events], {
    others: (service, call) => orchestrator.call(service, call),
    now: options.now,
    settings: {
      authorization: options.authorization,
      ...(options.secrets && { secrets: options.secrets }),
    },
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
  assert.equal(
    (await backends.ask('echo', 'POST', '/', { details: { type: 'manual' }, content })).status,
    200,
  )
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

test('a webhook whose secret cannot be read for now is refused with 503', async (t) => {
  const rules = [{ applications: ['demo'], paths: ['hook'] }]
  const login = { kind: 'token', token: 'x' } as const
  const vault = {
    address: 'https://127.0.0.1:1',
    login,
    namespace: undefined,
    mount: 'kv',
    cacheMs: 0,
    rules,
  }
  const { backends, save } = await startStoreAndEvents(t, { secrets: { vault } })
  const trigger = { type: 'git', source: 'gitea', project: 'org', slug: 'app', enabled: true }
  await save({ triggers: [{ ...trigger, secret: 'secret:vault:hook#key' }] })
  const push = {
    ref: 'refs/heads/main',
    after: 'a'.repeat(40),
    repository: { name: 'app', owner: { login: 'org' } },
  }
  const { status, body } = await backends.ask('echo', 'POST', '/webhooks/git/gitea', push)
  assert.equal(status, 503)
  assert.match(JSON.stringify(body), /Vault at 127\.0\.0\.1:1 cannot be asked/)
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
  assert.equal(
    (
      await backends.ask('front50', 'POST', '/serviceAccounts', {
        name: 'bot',
        memberOf: ['robots'],
      })
    ).status,
    200,
  )
  await save({ triggers: [{ type: 'webhook', source: 'ci', enabled: true, runAsUser: 'bot' }] })
  assert.equal((await protect({ READ: ['ops'], EXECUTE: ['ops'] })).status, 200)
  assert.equal(await startsAfterWebhook(), 0)
  await protect({ READ: ['ops'], EXECUTE: ['ops', 'robots'] })
  assert.equal(await startsAfterWebhook(), 1)
  assert.equal(orchestrator.starts[0]!.headers['x-spinnaker-user'], 'bot')
})

test('a trigger for an account that did not exist fires once it is released', async (t) => {
  const { orchestrator, backends } = await startStoreAndEvents(t, { authorization: true })
  await backends.ask('fiat', 'PUT', '/roles/ann', ['ops'])
  await backends.ask('front50', 'PUT', '/permissions/applications/demo', {
    name: 'demo',
    permissions: { READ: ['ops'], WRITE: ['ops'], EXECUTE: ['ops', 'robots'] },
  })
  const trigger = { type: 'webhook', source: 'ci', enabled: true, runAsUser: 'Later' }
  const pipeline = { id: 'p', application: 'demo', name: 'build', stages: [], triggers: [trigger] }
  const saved = await backends.ask('front50', 'POST', '/pipelines', pipeline, {
    'x-spinnaker-user': 'ann',
  })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  await backends.ask('front50', 'POST', '/serviceAccounts', { name: 'later', memberOf: ['robots'] })
  const startsAfterWebhook = async () => {
    assert.equal((await backends.ask('echo', 'POST', '/webhooks/webhook/ci', {})).status, 200)
    await new Promise((resolve) => setTimeout(resolve, 50))
    return orchestrator.starts.length
  }
  assert.equal(await startsAfterWebhook(), 0)
  const denied = await backends.ask('front50', 'PUT', '/pipelines/p/release', undefined, {
    'x-spinnaker-user': 'ann',
  })
  assert.equal(denied.status, 403)
  assert.deepEqual((await backends.ask('front50', 'PUT', '/pipelines/p/release')).body, [])
  assert.equal(await startsAfterWebhook(), 1)
  assert.equal(orchestrator.starts[0]?.headers['x-spinnaker-user'], 'Later')
})
