import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type JsonObject, objectOf, objectsOf } from '../../../packages/base/json/values.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import type { BackendSettings } from '../../../packages/ports/backend.ts'
import { startBackends } from '../../support/backends.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createRecording } from './recording.ts'

interface LogTestOptions {
  readonly settings?: Partial<BackendSettings>
  readonly dataDir?: string
  readonly now?: () => number
}

async function startEvents(
  t: TestContext,
  pipelines: JsonObject[],
  { settings = {}, ...options }: LogTestOptions = {},
) {
  const recording = createRecording(pipelines)
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5 })
  const backends = await startBackends(t, [events], {
    others: (service, call) => recording.call(service, call),
    settings,
    ...options,
  })
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) =>
    (await backends.ask('echo', 'POST', path, body, headers)).body as JsonObject
  const list = async (query = '') =>
    (await backends.ask('echo', 'GET', `/events${query}`)).body as JsonObject[]
  return { recording, backends, post, list }
}

function pipelineWith(id: string, trigger: JsonObject, fields: JsonObject = {}): JsonObject {
  return {
    application: 'demo',
    name: `${id} name`,
    id,
    triggers: [{ enabled: true, ...trigger }],
    ...fields,
  }
}

/** The reason, or `started`, by the id of the pipeline. */
function resultsOf(event: JsonObject | undefined): Record<string, string> {
  const results = objectsOf(event?.['triggers']).map(({ pipelineId, executionId, reason }) => [
    String(pipelineId),
    executionId === undefined ? String(reason) : 'started',
  ])
  return Object.fromEntries(results) as Record<string, string>
}

const git = { type: 'git', source: 'github', project: 'org', slug: 'app' }
const push = {
  ref: 'refs/heads/main',
  after: 'abc123',
  repository: { name: 'app', owner: { name: 'org' } },
}

test('events-scenario 50: an event shows what it started, or why nothing', async (t) => {
  const expected = { id: 'e', matchArtifact: { type: 'docker/image' } }
  const { recording, post, list } = await startEvents(t, [
    pipelineWith('any', git),
    pipelineWith('twice', git, {
      triggers: [
        { ...git, enabled: true },
        { ...git, enabled: true },
      ],
    }),
    pipelineWith('release', { ...git, branch: 'release/.*' }),
    pipelineWith('off', { ...git, enabled: false }),
    pipelineWith('disabled', git, { disabled: true }),
    pipelineWith('requests', { ...git, events: ['pull_request:opened'] }),
    pipelineWith('secret', { ...git, secret: 'word' }),
    pipelineWith(
      'expecting',
      { ...git, expectedArtifactIds: ['e'] },
      { expectedArtifacts: [expected] },
    ),
    pipelineWith('other', { ...git, slug: 'elsewhere' }),
  ])
  const { eventId } = await post('/webhooks/git/github', push)
  await recording.untilStarts(2)
  const [event, ...others] = await list('?application=DEMO')
  assert.deepEqual(others, [])
  assert.equal(event?.['id'], eventId)
  assert.equal(event?.['outcome'], 'started')
  const { repository, branch, commit } = objectOf(event?.['summary'])
  assert.deepEqual([repository, branch, commit], ['org/app', 'main', 'abc123'])
  assert.deepEqual(resultsOf(event), {
    any: 'started',
    twice: 'An equal trigger of the pipeline has started it already.',
    release: 'The branch "main" does not match "release/.*".',
    off: 'The trigger is disabled.',
    disabled: 'The pipeline is disabled.',
    requests: 'The action "push:push" is not among the trigger\'s events.',
    secret:
      'The trigger has a secret, and the sender does not sign. Set the same secret at the sender.',
    expecting: 'The trigger expects an artifact, and the event brings none.',
  })
  const [started] = objectsOf(event?.['triggers'])
  assert.equal(started?.['executionId'], recording.starts[0]?.body['executionId'])
  assert.equal(started?.['pipeline'], 'any name')

  await post('/webhooks/git/github', push, {
    'x-hub-signature': `sha1=${createHmac('sha1', 'wrong').update('').digest('hex')}`,
  })
  const [signed] = await list('?application=demo&outcome=nothing')
  assert.match(resultsOf(signed)['secret'] ?? '', /^The signature is wrong/)
  assert.match(resultsOf(signed)['any'] ?? '', /signs, and the trigger has no secret/)
})

test('events-scenario 51: what concerns no pipeline is for administrators alone', async (t) => {
  const { post, list } = await startEvents(t, [
    pipelineWith('p', { type: 'docker', account: 'hub', repository: 'org/other' }),
  ])
  await post('/webhooks/docker/any', { account: 'hub', repository: 'org/app', tag: '1' })
  await post('/webhooks/strange/ci', {})
  await post('/webhooks/git/github', { hook_id: 7, zen: 'Keep it simple.' })
  assert.deepEqual(await list('?application=demo'), [])
  const reasons = (await list()).map(({ type, reason, outcome }) => [type, outcome, reason])
  assert.deepEqual(reasons, [
    [
      'git',
      'nothing',
      'It is a ping, a test of the connection, or the deletion of a tag, which start nothing.',
    ],
    ['strange', 'nothing', 'No type of trigger waits for events of the type "strange".'],
    ['docker', 'nothing', 'No trigger of a pipeline waits for this.'],
  ])
})

test('events-scenario 52: an event is shown without headers and secrets', async (t) => {
  const ci = {
    type: 'webhook',
    source: 'ci',
    payloadConstraints: { stage: 'prod', token: 'hidden' },
  }
  const { post, list, backends } = await startEvents(t, [pipelineWith('p', ci)])
  const body = {
    ...{
      token: 'hidden',
      stage: 'test',
      url: 'https://al:hidden@host/x',
      nested: { apiKey: 'hidden', list: [{ password: 'hidden' }] },
    },
    ...{ long: 'x'.repeat(10_000), many: Array.from({ length: 100 }, (_, index) => index) },
  }
  const { eventId } = await post('/webhooks/webhook/ci', body, { authorization: 'Bearer hidden' })
  const [event] = await list('?application=demo')
  assert.equal(resultsOf(event)['p'], 'The constraint "stage" is not satisfied.')
  const text = JSON.stringify(event)
  assert.doesNotMatch(text, /hidden/)
  assert.ok(text.length < 1500, text)
  assert.equal(objectOf(event?.['payload'])['stage'], 'test')

  assert.deepEqual(
    (await backends.ask('echo', 'GET', `/events/${eventId}?application=demo`)).body,
    event,
  )
  assert.equal(
    (await backends.ask('echo', 'GET', `/events/${eventId}?application=web`)).status,
    404,
  )
})

test('events-scenario 53: a flood of one sender leaves the events of others', async (t) => {
  const settings = { eventLog: { maxEvents: 100, maxDays: 14 } }
  const { post, list } = await startEvents(
    t,
    [
      pipelineWith('p', { type: 'webhook', source: 'ci', payloadConstraints: { a: 'b' } }),
      pipelineWith('q', { ...git, branch: 'none' }),
    ],
    {
      settings,
    },
  )
  await post('/', {
    details: { type: 'docker' },
    content: { account: 'hub', repository: 'app', tag: '1' },
  })
  await Promise.all(Array.from({ length: 60 }, () => post('/webhooks/webhook/ci', {})))
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => post(`/webhooks/webhook/${index}`, {})),
  )
  const spellings = ['github', 'GITHUB', 'GitHub', 'gitHub']
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => post(`/webhooks/git/${spellings[index % 4]}`, push)),
  )
  const kept = await list('?limit=200')
  const count = (matches: (event: JsonObject) => boolean) => kept.filter(matches).length
  assert.equal(
    count(({ source }) => source === 'ci'),
    25,
  )
  assert.equal(
    count(({ type, source }) => type === 'webhook' && source !== 'ci'),
    25,
  )
  assert.equal(
    count(({ type }) => type === 'docker'),
    1,
  )
  assert.equal(
    count(({ type }) => type === 'git'),
    25,
  )
})

test('events-scenario 54: events are filtered, paged and removed after some days', async (t) => {
  const dataDir = createFolder('event-log')
  t.after(() => removeFolder(dataDir))
  let now = Date.parse('2026-01-01T00:00:00Z')
  const trigger = { type: 'webhook', source: 'ci', payloadConstraints: { run: 'yes' } }
  const pipelines = [pipelineWith('p', trigger), pipelineWith('q', trigger, { application: 'web' })]
  const first = await startEvents(t, pipelines, { dataDir, now: () => now })
  for (const run of ['yes', 'no', 'yes']) {
    now += 1000
    await first.post('/webhooks/webhook/ci', { run })
  }
  await first.recording.untilStarts(4)
  await first.backends.stop()

  const { list, post } = await startEvents(t, pipelines, { dataDir, now: () => now })
  const times = async (query: string) =>
    (await list(query)).map(({ time }) => (Number(time) - now) / 1000)
  assert.deepEqual(await times('?application=demo&outcome=started'), [0, -2])
  assert.deepEqual(await times('?application=demo&pipeline=p%20name&outcome=nothing'), [-1])
  assert.deepEqual(await times('?application=demo&pipeline=q'), [])
  assert.deepEqual(await times('?type=git'), [])
  assert.deepEqual(await times(`?from=${now - 1000}`), [0, -1])
  const [newest] = await list('?limit=1')
  assert.deepEqual(await times(`?limit=1&cursor=${newest?.['id']}`), [-1])
  assert.deepEqual(Object.keys(resultsOf((await list('?application=web'))[0])), ['q'])

  now += 15 * 24 * 60 * 60_000
  await post('/webhooks/webhook/ci', {})
  assert.deepEqual(await times(''), [0])
})

test('an event that cannot be matched is logged as failed', async (t) => {
  const { recording, backends, list } = await startEvents(t, [])
  recording.answer = (service) =>
    service === 'front50' ? { status: 500, body: { message: 'broken' } } : undefined
  assert.equal((await backends.ask('echo', 'POST', '/webhooks/webhook/ci', {})).status, 503)
  const [event] = await list('?outcome=failed')
  assert.match(String(event?.['reason']), /cannot be read from the definition store/)
})

test('a user who may not execute, and the quiet period, are reasons', async (t) => {
  const settings = {
    authorization: true,
    quietPeriod: {
      enabled: true,
      startMs: 0,
      endMs: Number.MAX_SAFE_INTEGER,
      triggerTypes: ['webhook'],
    },
  }
  const ci = { type: 'webhook', source: 'ci' }
  const { recording, post, list } = await startEvents(
    t,
    [
      pipelineWith('p', { ...ci, runAsUser: 'bot' }),
      pipelineWith('q', ci, { respectQuietPeriod: true }),
    ],
    { settings },
  )
  recording.answer = (service, { path }) => {
    if (service !== 'fiat') return undefined
    const authorizations = path === '/authorize/bot' ? ['READ'] : ['EXECUTE']
    return { status: 200, body: { applications: [{ name: 'DEMO', authorizations }], accounts: [] } }
  }
  await post('/webhooks/webhook/ci', {})
  assert.deepEqual(resultsOf((await list('?application=demo'))[0]), {
    p: 'The user "bot" may not execute pipelines of demo. Set a user of the trigger who may, or grant it.',
    q: 'The quiet period suppresses triggers of the type webhook.',
  })
})

test('events-scenario 55: the end of a pipeline is an event of its dependents', async (t) => {
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 100_000 })
  const backends = await startBackends(t, [definitionsBackend, orchestrationBackend, events])
  const save = (body: JsonObject) =>
    backends.ask('front50', 'POST', '/pipelines', { stages: [], application: 'demo', ...body })
  // Without stages, a pipeline fails.
  await save({
    name: 'child',
    id: 'c',
    triggers: [{ type: 'pipeline', enabled: true, pipeline: 'p', status: ['failed'] }],
  })
  const expected = { id: 'x', matchArtifact: { type: 'docker/image' } }
  const expecting = {
    type: 'pipeline',
    enabled: true,
    pipeline: 'p',
    status: ['failed'],
    expectedArtifactIds: ['x'],
  }
  await save({ name: 'expecting', id: 'e', expectedArtifacts: [expected], triggers: [expecting] })
  await save({
    name: 'parent',
    id: 'p',
    triggers: [{ type: 'webhook', source: 'ci', enabled: true }],
  })
  await backends.ask('echo', 'POST', '/webhooks/webhook/ci', {})
  const list = async () =>
    (await backends.ask('echo', 'GET', '/events?application=demo')).body as JsonObject[]
  await waitUntil(async () => (await list()).length === 2, 'the parent to start the child')
  const [ended, webhook] = await list()
  assert.deepEqual(resultsOf(ended), { c: 'started', e: 'started' })
  const [, missing] = objectsOf(ended?.['triggers']).toSorted((one, other) =>
    String(one['pipelineId']) < String(other['pipelineId']) ? -1 : 1,
  )
  assert.match(String(missing?.['reason']), /artifact/)
  assert.deepEqual(ended?.['summary'], {
    application: 'demo',
    pipeline: 'parent',
    execution: objectsOf(webhook?.['triggers'])[0]?.['executionId'],
    status: 'TERMINAL',
  })
})
