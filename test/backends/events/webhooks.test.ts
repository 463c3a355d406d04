import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { pushedArtifacts } from '../../../packages/engine/events/pushed-artifacts.ts'
import type { BackendSettings } from '../../../packages/ports/backend.ts'
import type { CallService, ServiceAnswer } from '../../../packages/ports/service-call.ts'
import { startBackends } from '../../support/backends.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createRecording } from './recording.ts'

async function startEvents(
  t: TestContext,
  pipelines: JsonObject[],
  settings: Partial<BackendSettings> = {},
) {
  const recording = createRecording(pipelines)
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 1_000 })
  const backends = await startBackends(t, [events], {
    others: (service, call) => recording.call(service, call),
    settings,
  })
  const send = async (path: string, body?: unknown, headers: Record<string, string> = {}) =>
    (await backends.ask('echo', 'POST', path, body, headers)) as ServiceAnswer & {
      body: JsonObject
    }
  /** Sends, and says how many starts that caused. */
  const startsAfter = async (
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const before = recording.starts.length
    const answer = await send(path, body, headers)
    assert.equal(answer.status, 200)
    await new Promise((resolve) => setTimeout(resolve, 25))
    return recording.starts.length - before
  }
  const triggerOf = (start: number) => recording.starts[start]!.body['trigger'] as JsonObject
  return { recording, backends, send, startsAfter, triggerOf }
}

function pipelineWith(...triggers: JsonObject[]): JsonObject {
  return {
    application: 'demo',
    name: 'build',
    id: 'p1',
    triggers: triggers.map((trigger) => ({ enabled: true, ...trigger })),
  }
}

const ci = { type: 'webhook', source: 'ci' }

test('events-scenario 9: a webhook starts the pipelines that wait for its source', async (t) => {
  const { recording, send, triggerOf } = await startEvents(t, [pipelineWith(ci)])
  const { status, body } = await send(
    '/webhooks/webhook/ci',
    { parameters: { v: '2' }, x: 1 },
    { 'x-spinnaker-user': 'mallory' },
  )
  assert.equal(status, 200)
  assert.equal(body['eventProcessed'], true)
  await recording.untilStarts(1)
  assert.deepEqual(triggerOf(0), {
    ...ci,
    enabled: true,
    eventId: body['eventId'],
    payload: { parameters: { v: '2' }, x: 1 },
    parameters: { v: '2' },
  })
  assert.equal(recording.starts[0]!.headers['x-spinnaker-user'], 'anonymous')
  assert.match(String(recording.starts[0]!.body['executionId']), /^[0-9A-Z]{26}$/)
})

test('events-scenario 10: the source of a webhook is compared exactly', async (t) => {
  const { send, startsAfter } = await startEvents(t, [pipelineWith(ci)])
  assert.equal(await startsAfter('/webhooks/webhook/CI', {}), 0)
  assert.equal((await send('/webhooks/webhook/CI', {})).body['eventProcessed'], true)
  assert.equal(await startsAfter('/webhooks/WEBHOOK/ci', {}), 1)
  assert.equal(await startsAfter('/webhooks/webhook', { source: 'ci' }), 1)
})

test('disabled triggers and pipelines are not started by webhooks', async (t) => {
  const { startsAfter } = await startEvents(t, [
    pipelineWith({ ...ci, enabled: false }, { ...ci, enabled: undefined }),
    { ...pipelineWith(ci), disabled: true },
  ])
  assert.equal(await startsAfter('/webhooks/webhook/ci', {}), 0)
})

test('events-scenario 11: payload constraints must all hold', async (t) => {
  const payloadConstraints = { env: 'pro', '$.git.ref': '^main$' }
  const { startsAfter } = await startEvents(t, [pipelineWith({ ...ci, payloadConstraints })])
  assert.equal(
    await startsAfter('/webhooks/webhook/ci', { env: 'production', git: { ref: 'main' } }),
    1,
  )
  assert.equal(
    await startsAfter('/webhooks/webhook/ci', { env: 'production', git: { ref: 'maintenance' } }),
    0,
  )
  assert.equal(await startsAfter('/webhooks/webhook/ci', { git: { ref: 'main' } }), 0)
})

test('all patterns together have one budget for an event', async (t) => {
  const greedy = Array.from({ length: 60 }, (_, index) => ({
    ...ci,
    id: index,
    payloadConstraints: { text: `(a+)+N${index}$` },
  }))
  const { recording, send, startsAfter } = await startEvents(t, [pipelineWith(...greedy)])
  const { status, body } = await send('/webhooks/webhook/ci', { text: 'a'.repeat(100_000) })
  assert.equal(status, 422)
  assert.match(String(body['message']), /takes too long/)
  assert.deepEqual(recording.starts, [])
  assert.equal(await startsAfter('/webhooks/webhook/ci', { text: 'aaaN7' }), 1)
})

test('looking for values by JSON path spends from the same budget', async (t) => {
  const greedy = Array.from({ length: 60 }, (_, index) => ({
    ...ci,
    id: index,
    payloadConstraints: { [`$..a..b${index}`]: 'x' },
  }))
  const { send } = await startEvents(t, [pipelineWith(...greedy)])
  const { status } = await send('/webhooks/webhook/ci', {
    a: Array.from({ length: 30_000 }, (_, index) => ({ a: index })),
  })
  assert.equal(status, 422)
})

test('patterns are matched only for those who may start something', async (t) => {
  const greedy = { ...ci, payloadConstraints: { text: '(a+)+N$' } }
  const own = { ...pipelineWith({ ...ci, runAsUser: 'bot' }), application: 'own', id: 'own' }
  const { recording, send } = await startEvents(t, [pipelineWith(greedy), own], {
    authorization: true,
  })
  const views = {
    anonymous: [{ name: 'demo', authorizations: [] }],
    bot: [{ name: 'own', authorizations: ['EXECUTE'] }],
  }
  recording.answer = (service, { path }) =>
    service === 'fiat'
      ? { status: 200, body: { applications: views[path.split('/').at(-1) as 'bot'] } }
      : undefined
  assert.equal((await send('/webhooks/webhook/ci', { text: 'a'.repeat(1_000_000) })).status, 200)
  await recording.untilStarts(1)
  assert.equal(recording.starts[0]!.body['id'], 'own')
})

test('an event is rejected, not lost, while permissions are unavailable', async (t) => {
  const { recording, send } = await startEvents(t, [pipelineWith(ci)], { authorization: true })
  recording.answer = (service) => (service === 'fiat' ? { status: 500, body: {} } : undefined)
  const { status, body } = await send('/webhooks/webhook/ci', {})
  assert.equal(status, 503)
  assert.match(String(body['message']), /permission service.*try again/)
  assert.deepEqual(recording.starts, [])
})

test('events-scenario 12: a webhook without a body counts as an empty object', async (t) => {
  const { startsAfter, triggerOf } = await startEvents(t, [pipelineWith(ci)])
  assert.equal(await startsAfter('/webhooks/webhook/ci'), 1)
  assert.deepEqual(triggerOf(0)['payload'], {})
})

test('a webhook whose body is no JSON object is refused', async (t) => {
  const { backends, send } = await startEvents(t, [pipelineWith(ci)])
  assert.equal((await send('/webhooks/webhook/ci', [1])).status, 400)
  const text = await fetch(`${backends.url('echo')}/webhooks/webhook/ci`, {
    method: 'POST',
    body: 'payload=x',
  })
  assert.equal(text.status, 400)
})

test('numbers of a webhook keep every digit', async (t) => {
  const { backends, recording } = await startEvents(t, [
    pipelineWith({ ...ci, payloadConstraints: { '$.id': '890$' } }),
  ])
  const body = '{"id":12345678901234567890}'
  assert.equal(
    (await fetch(`${backends.url('echo')}/webhooks/webhook/ci`, { method: 'POST', body })).status,
    200,
  )
  await recording.untilStarts(1)
  assert.ok(
    JSON.stringify(recording.starts[0]!.body).includes('"payload":{"id":12345678901234567890}'),
  )
  const poisoned = '{"__proto__":{"enabled":true}}'
  assert.equal(
    (await fetch(`${backends.url('echo')}/webhooks/webhook/ci`, { method: 'POST', body: poisoned }))
      .status,
    400,
  )
})

test('a webhook cannot pass for a manual start', async (t) => {
  const { startsAfter } = await startEvents(t, [pipelineWith(ci)])
  assert.equal(
    await startsAfter('/webhooks/manual/x', {
      application: 'demo',
      pipelineNameOrId: 'build',
      trigger: {},
    }),
    0,
  )
})

test('a release of a plug-in says nothing about the trigger itself', async (t) => {
  const { recording, send, triggerOf } = await startEvents(t, [
    pipelineWith({ type: 'plugin', id: 't1' }),
  ])
  const foreign = {
    type: 'manual',
    runAsUser: 'root',
    user: 'root',
    executionId: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    enabled: false,
  }
  const release = { pluginEventType: 'published', pluginId: 'p', version: '1.0.0' }
  const { body } = await send('/webhooks/plugin/x', { ...foreign, ...release })
  await recording.untilStarts(1)
  const { eventId } = body
  assert.deepEqual(triggerOf(0), {
    type: 'plugin',
    id: 't1',
    enabled: true,
    eventId,
    pluginId: 'p',
    version: '1.0.0',
  })
})

test('equal triggers start a pipeline once', async (t) => {
  const { startsAfter } = await startEvents(t, [pipelineWith(ci, ci, { ...ci, id: 'other' })])
  assert.equal(await startsAfter('/webhooks/webhook/ci', {}), 2)
})

test('artifacts come from the body or source of a webhook', async (t) => {
  const { recording, startsAfter } = await startEvents(t, [
    pipelineWith(ci, { type: 'webhook', source: 'quay' }),
  ])
  await startsAfter('/webhooks/webhook/ci', { artifacts: [{ type: 'a' }, 'no artifact'] })
  await startsAfter('/webhooks/webhook/quay', {
    docker_url: 'quay.io/org/app',
    updated_tags: ['1', '2'],
  })
  assert.deepEqual(recording.starts[0]!.body['receivedArtifacts'], [{ type: 'a' }])
  assert.deepEqual(recording.starts[1]!.body['receivedArtifacts'], [
    { type: 'docker/image', name: 'quay.io/org/app', version: '1', reference: 'quay.io/org/app:1' },
    { type: 'docker/image', name: 'quay.io/org/app', version: '2', reference: 'quay.io/org/app:2' },
  ])
})

const release = {
  type: 'git',
  source: 'github',
  project: 'Org',
  slug: 'repo',
  branch: 'release/.*',
}

function push(ref: string): JsonObject {
  return { ref, after: 'abc123', repository: { name: 'repo', owner: { name: 'org' } } }
}

test('events-scenario 13: a push starts the pipelines that wait for its branch', async (t) => {
  const { startsAfter, triggerOf } = await startEvents(t, [pipelineWith(release)])
  assert.equal(await startsAfter('/webhooks/git/github', push('refs/heads/release/1')), 1)
  assert.equal(triggerOf(0)['branch'], 'release/1')
  assert.equal(triggerOf(0)['hash'], 'abc123')
  assert.equal(triggerOf(0)['action'], 'push:push')
  assert.equal(await startsAfter('/webhooks/git/github', push('refs/heads/main')), 0)
})

test('events-scenario 14: a ping of a code host is recognised', async (t) => {
  const { send } = await startEvents(t, [pipelineWith(release)])
  const answer = await send('/webhooks/git/github', { hook_id: 7, zen: 'x' })
  const reason =
    'It is a ping, a test of the connection, or the deletion of a tag, which start nothing.'
  assert.deepEqual(answer, { status: 200, body: { eventProcessed: false, eventId: null, reason } })
})

test('events-scenario 15: a pipeline with secret and signature needs both', async (t) => {
  const { recording, startsAfter } = await startEvents(t, [
    pipelineWith({ ...release, secret: 's' }),
  ])
  const sent = push('refs/heads/release/1')
  const signature = `sha1=${createHmac('sha1', 's').update(JSON.stringify(sent)).digest('hex')}`
  assert.equal(await startsAfter('/webhooks/git/github', sent, { 'X-Hub-Signature': signature }), 1)
  assert.ok(!JSON.stringify(recording.starts[0]!.body['trigger']).includes('secret'))
  for (const wrong of ['sha1=00', `${signature.slice(0, -1)}x`, '']) {
    assert.equal(await startsAfter('/webhooks/git/github', sent, { 'X-Hub-Signature': wrong }), 0)
  }
  assert.equal(await startsAfter('/webhooks/git/github', sent), 0)
  recording.pipelines[0] = pipelineWith(release)
  assert.equal(await startsAfter('/webhooks/git/github', sent, { 'X-Hub-Signature': signature }), 0)
})

test('every proof of a secret that code hosts send is accepted', async (t) => {
  const { startsAfter } = await startEvents(t, [pipelineWith({ ...release, secret: 's' })])
  const sent = push('refs/heads/release/1')
  const sign = (algorithm: string) =>
    `${algorithm}=${createHmac(algorithm, 's').update(JSON.stringify(sent)).digest('hex')}`
  const headers: [headers: Record<string, string>, starts: number][] = [
    [{ 'X-Hub-Signature-256': sign('sha256') }, 1],
    [{ 'X-Hub-Signature-256': sign('sha256'), 'X-Hub-Signature': sign('sha1') }, 1],
    [{ 'X-Hub-Signature': sign('sha256') }, 1],
    [{ 'X-Gitlab-Token': 's' }, 1],
    [{ 'X-Hub-Signature-256': 'sha256=00', 'X-Hub-Signature': sign('sha1') }, 0],
    [{ 'X-Hub-Signature-256': sign('sha512') }, 0],
    [{ 'X-Hub-Signature': 'sha256=00', 'X-Gitlab-Token': 's' }, 0],
    [{ 'X-Gitlab-Token': 'S' }, 0],
    [{ 'X-Gitlab-Token': '' }, 0],
  ]
  for (const [given, starts] of headers) {
    assert.equal(
      await startsAfter('/webhooks/git/github', sent, given),
      starts,
      JSON.stringify(given),
    )
  }
})

test('what proves a secret starts no trigger without one', async (t) => {
  const { startsAfter } = await startEvents(t, [
    pipelineWith(release, { ...release, source: 'gitlab' }),
  ])
  const sent = {
    ...push('refs/heads/release/1'),
    object_kind: 'push',
    project: { namespace: 'org', name: 'repo' },
  }
  for (const source of ['github', 'gitlab']) {
    const proofs: Record<string, string>[] = [
      { 'X-Gitlab-Token': 's' },
      { 'X-Gitlab-Token': '' },
      { 'X-Hub-Signature': 'sha1=00' },
      { 'X-Hub-Signature-256': 'sha256=00' },
    ]
    for (const proof of proofs)
      assert.equal(
        await startsAfter(`/webhooks/git/${source}`, sent, proof),
        0,
        JSON.stringify(proof),
      )
    assert.equal(await startsAfter(`/webhooks/git/${source}`, sent), 1, source)
  }
})

test('events-scenario 16: a filter of actions lets only those start a pipeline', async (t) => {
  const { startsAfter, triggerOf } = await startEvents(t, [
    pipelineWith({ ...release, events: ['pull_request:opened'] }),
  ])
  assert.equal(await startsAfter('/webhooks/git/github', push('refs/heads/release/1')), 0)
  const pullRequest = {
    action: 'opened',
    pull_request: {
      number: 12,
      draft: false,
      state: 'open',
      title: 'T',
      head: { sha: 'def', ref: 'release/1' },
    },
    repository: { name: 'repo', owner: { login: 'org' } },
  }
  assert.equal(await startsAfter('/webhooks/git/github', pullRequest), 1)
  assert.deepEqual(triggerOf(0)['properties'], {
    number: 12,
    draft: false,
    state: 'open',
    title: 'T',
  })
})

test('events-scenario 17: an unknown code host is refused', async (t) => {
  const { send } = await startEvents(t, [])
  for (const source of ['svn', '__proto__', 'constructor'])
    assert.equal((await send(`/webhooks/git/${source}`, {})).status, 400)
})

const zeros = '0'.repeat(40)

/** What each code host sends, and the trigger fields that come of it; null when it is not forwarded. */
const codeHosts: [
  source: string,
  headers: Record<string, string>,
  body: JsonObject,
  expected: JsonObject | null,
][] = [
  [
    'gitlab',
    {},
    {
      object_kind: 'push',
      ref: 'refs/heads/main',
      after: 'h',
      project: { namespace: 'P', name: 's' },
    },
    { hash: 'h', branch: 'main', action: 'push' },
  ],
  [
    'stash',
    {},
    {
      repository: { slug: 's', project: { key: 'P' } },
      refChanges: [{ toHash: 'h', refId: 'refs/heads/main' }],
    },
    { hash: 'h', branch: 'main', action: '' },
  ],
  [
    'stash',
    {},
    {
      repository: { slug: 's', project: { key: 'P' } },
      refChanges: [{ toHash: zeros, refId: 'refs/heads/x' }],
    },
    null,
  ],
  [
    'bitbucket',
    { 'x-event-key': 'repo:push' },
    {
      repository: { full_name: 's', owner: { username: 'P' } },
      push: { changes: [{ new: { name: 'main' }, commits: [{ hash: 'h' }] }] },
    },
    { hash: 'h', branch: 'main', action: 'repo:push' },
  ],
  [
    'bitbucket',
    { 'x-event-key': 'repo:push' },
    { repository: { full_name: 's' }, push: { changes: [{ new: null }] } },
    null,
  ],
  [
    'bitbucket',
    { 'x-event-key': 'pullrequest:fulfilled' },
    {
      repository: { full_name: 's', project: { key: 'P' } },
      pullrequest: { merge_commit: { hash: 'h' }, destination: { branch: { name: 'main' } } },
    },
    { hash: 'h', branch: 'main', action: 'pullrequest:fulfilled' },
  ],
  [
    'bitbucket',
    { 'x-event-key': 'repo:refs_changed' },
    {
      repository: { slug: 's', project: { key: 'P' } },
      changes: [{ toHash: 'h', refId: 'refs/heads/main' }],
    },
    { hash: 'h', branch: 'main', action: 'repo:refs_changed' },
  ],
  [
    'bitbucket',
    { 'x-event-key': 'pr:merged' },
    {
      pullRequest: {
        toRef: {
          id: 'refs/heads/main',
          latestCommit: 'old',
          repository: { slug: 's', project: { key: 'P' } },
        },
        properties: { mergeCommit: { id: 'h' } },
      },
    },
    { hash: 'h', branch: 'main', action: 'pr:merged' },
  ],
  ['bitbucket', {}, {}, null],
]

for (const [index, [source, headers, sent, expected]] of codeHosts.entries()) {
  test(`${source} ${headers['x-event-key'] ?? 'webhook'} ${expected === null ? 'starts nothing' : 'is understood'} (${index})`, async (t) => {
    const { send, recording, triggerOf } = await startEvents(t, [
      pipelineWith({ type: 'git', source, project: 'p', slug: 'S' }),
    ])
    const answer = await send(`/webhooks/git/${source}`, sent, headers)
    assert.equal(answer.body['eventProcessed'], expected !== null)
    if (expected === null) return assert.deepEqual(recording.starts, [])
    await recording.untilStarts(1)
    const { hash, branch, action } = triggerOf(0)
    assert.deepEqual({ hash, branch, action }, expected)
  })
}

const appBuild = { type: 'jenkins', master: 'ci-main', job: 'app' }

function buildEvent(lastBuild: JsonObject, master = 'ci-main'): JsonObject {
  return {
    details: { type: 'build', source: 'igor' },
    content: { master, project: { name: 'app', lastBuild } },
  }
}

test('events-scenario 18: a successful build starts the pipelines that wait for its job', async (t) => {
  const { recording, startsAfter, triggerOf } = await startEvents(t, [pipelineWith(appBuild)])
  recording.answer = (service, { path }) =>
    service === 'igor' && path.startsWith('/builds/status/7/')
      ? { status: 200, body: { number: 7 } }
      : undefined
  const success = { number: 7, building: false, result: 'SUCCESS', url: 'http://ci/7' }
  assert.equal(await startsAfter('/', buildEvent(success)), 1)
  assert.equal(triggerOf(0)['buildNumber'], 7)
  assert.deepEqual(triggerOf(0)['buildInfo'], { number: 7 })
  assert.equal(triggerOf(0)['link'], 'http://ci/7')
  assert.equal(await startsAfter('/', buildEvent({ ...success, result: 'FAILURE' })), 0)
  assert.equal(await startsAfter('/', buildEvent({ ...success, building: true })), 0)
  assert.equal(await startsAfter('/', buildEvent(success, 'other')), 0)

  const anyServer = await startEvents(t, [pipelineWith({ ...appBuild, type: 'build' })])
  assert.equal(await anyServer.startsAfter('/', buildEvent(success)), 1)
})

test('events-scenario 19: unreadable build details do not prevent the start', async (t) => {
  const { recording, send, triggerOf } = await startEvents(t, [pipelineWith(appBuild)])
  recording.answer = (service) => {
    if (service === 'igor') throw new Error('connection refused')
    return undefined
  }
  await send('/', buildEvent({ number: 7, building: false, result: 'SUCCESS' }))
  await recording.untilStarts(1)
  assert.equal(recording.starts[0]!.path, '/orchestrate')
  assert.equal(triggerOf(0)['buildInfo'], undefined)
})

test('a manual start does not wait for events whose build service hangs', async (t) => {
  const payloadConstraints = { version: '1' }
  const { recording, send } = await startEvents(t, [
    pipelineWith({ ...appBuild, propertyFile: 'out.yml', payloadConstraints }),
  ])
  const released = Promise.withResolvers<void>()
  const { call } = recording
  let hanging = 0
  recording.call = async (service, request) => {
    if (service !== 'igor') return call(service, request)
    hanging++
    await released.promise
    return { status: 200, body: {} }
  }
  const event = buildEvent({ number: 7, building: false, result: 'SUCCESS' })
  const events = Promise.all(Array.from({ length: 8 }, () => send('/', event)))
  await waitUntil(() => hanging === 4, 'four events to wait for the build service')

  const content = { application: 'demo', pipelineNameOrId: 'build', trigger: {} }
  assert.equal((await send('/', { details: { type: 'manual' }, content })).status, 200)
  await recording.untilStarts(1)

  released.resolve()
  assert.deepEqual(new Set((await events).map(({ status }) => status)), new Set([200]))
})

const appImage = { type: 'docker', account: 'reg', repository: 'org/app' }

function imageEvent(tag: string, repository = 'org/app'): JsonObject {
  return {
    details: { type: 'docker' },
    content: { account: 'reg', registry: 'r.io', repository, tag, digest: 'sha256:1' },
  }
}

test('events-scenario 21: a new image starts the pipelines that wait for its tag', async (t) => {
  const { recording, startsAfter, triggerOf } = await startEvents(t, [pipelineWith(appImage)])
  assert.equal(await startsAfter('/', imageEvent('1.0')), 1)
  assert.equal(triggerOf(0)['tag'], '1.0')
  assert.equal(triggerOf(0)['digest'], 'sha256:1')
  assert.deepEqual(recording.starts[0]!.body['receivedArtifacts'], [
    { type: 'docker/image', name: 'r.io/org/app', version: '1.0', reference: 'r.io/org/app:1.0' },
  ])
  assert.equal(await startsAfter('/', imageEvent('latest')), 0)
  recording.pipelines[0] = pipelineWith({ ...appImage, tag: ' ' })
  assert.equal(await startsAfter('/', imageEvent('1.1')), 1)
  recording.pipelines[0] = pipelineWith({ ...appImage, tag: 'v\\d+' })
  assert.equal(await startsAfter('/', imageEvent('v12')), 1)
  assert.equal(await startsAfter('/', imageEvent('v12-rc')), 0)
})

test('a new version of a chart starts the pipelines whose range has it', async (t) => {
  const trigger = { type: 'helm', account: 'charts', chart: 'nginx', version: ' ^1.2 ' }
  const { recording, startsAfter, triggerOf } = await startEvents(t, [pipelineWith(trigger)])
  const chartEvent = (version: string, other: JsonObject = {}) => ({
    details: { type: 'helm' },
    content: { account: 'charts', chart: 'nginx', version, digest: 'sha256:1', ...other },
  })
  assert.equal(await startsAfter('/', chartEvent('1.3.0')), 1)
  const { artifactName, version, digest } = triggerOf(0)
  assert.deepEqual(
    { artifactName, version, digest },
    { artifactName: 'nginx', version: '1.3.0', digest: 'sha256:1' },
  )
  assert.deepEqual(recording.starts[0]!.body['receivedArtifacts'], [
    {
      type: 'helm/chart',
      name: 'nginx',
      version: '1.3.0',
      reference: 'charts',
      metadata: { digest: 'sha256:1' },
    },
  ])
  for (const version of ['2.0.0', '1.1.9', '1.3.0-rc.1', 'latest'])
    assert.equal(await startsAfter('/', chartEvent(version)), 0)
  for (const other of [{ chart: 'redis' }, { account: 'others' }, { digest: '' }]) {
    assert.equal(await startsAfter('/', chartEvent('1.3.0', other)), 0, JSON.stringify(other))
  }
  recording.pipelines[0] = pipelineWith({ type: 'helm', account: 'charts' })
  assert.equal(await startsAfter('/', chartEvent('2.0.0-rc.1', { chart: 'redis' })), 1)
})

test('events-scenario 22: a trigger with expected artifacts fires only on a match', async (t) => {
  const { startsAfter } = await startEvents(t, [
    {
      ...pipelineWith(
        { ...appImage, repository: 'x/app', expectedArtifactIds: ['e1'] },
        { ...appImage, repository: 'y/app', expectedArtifactIds: ['e1'] },
      ),
      expectedArtifacts: [
        { id: 'e1', matchArtifact: { type: 'docker/image', name: 'r.io/x/.*', version: '' } },
        { id: 'e2' },
      ],
    },
  ])
  assert.equal(await startsAfter('/', imageEvent('1', 'y/app')), 0)
  assert.equal(await startsAfter('/', imageEvent('1', 'x/app')), 1)
})

test('a message starts the pipelines that wait for its subscription', async (t) => {
  const trigger = {
    type: 'pubsub',
    pubsubSystem: 'Google',
    subscriptionName: 'Sub',
    attributeConstraints: { kind: 'new' },
  }
  const { startsAfter } = await startEvents(t, [pipelineWith(trigger)])
  const message = (kind: string) => ({
    details: { type: 'pubsub', attributes: { kind } },
    content: { messageDescription: { pubsubSystem: 'google', subscriptionName: 'sub' } },
    payload: { parameters: { a: 1 } },
  })
  assert.equal(await startsAfter('/', message('new')), 1)
  assert.equal(await startsAfter('/', message('old')), 0)
})

test('an incomplete CloudEvent is rejected', async (t) => {
  const { send, startsAfter, triggerOf } = await startEvents(t, [
    pipelineWith({
      type: 'cdevents',
      source: 'dev',
      attributeConstraints: { 'Ce-Type': 'dev\\.x' },
    }),
  ])
  const data = { customData: { a: 1 }, context: {}, subject: {} }
  const headers = { 'Ce-Data': JSON.stringify(data), 'Ce-Type': 'dev.x' }
  assert.equal(await startsAfter('/webhooks/cdevents/dev', {}, headers), 1)
  assert.deepEqual(triggerOf(0)['payload'], data)
  assert.equal(
    (await send('/webhooks/cdevents/dev', {}, { 'Ce-Data': '{"context":{}}' })).status,
    400,
  )
  assert.equal((await send('/webhooks/cdevents/dev', {})).status, 400)
})

test('events-scenario 29: with authorization a trigger needs EXECUTE for its user', async (t) => {
  const { recording, startsAfter } = await startEvents(
    t,
    [pipelineWith({ ...ci, runAsUser: 'bot' })],
    { authorization: true },
  )
  let granted: string[] = ['READ']
  recording.answer = (service, { path }) =>
    service === 'fiat' && path === '/authorize/bot'
      ? {
          status: 200,
          body: {
            applications: [{ name: 'DEMO', authorizations: granted }],
            accounts: [{ name: 'dev', authorizations: ['WRITE'] }],
            allowAccessToUnknownApplications: true,
          },
        }
      : undefined
  assert.equal(await startsAfter('/webhooks/webhook/ci', {}), 0)
  granted = ['EXECUTE']
  assert.equal(await startsAfter('/webhooks/webhook/ci', {}), 1)
  assert.equal(recording.starts[0]!.headers['x-spinnaker-user'], 'bot')
  assert.equal(recording.starts[0]!.headers['x-spinnaker-accounts'], 'dev')
})

test('events-scenario 18: a build that the user of a trigger may not read starts nothing', async (t) => {
  const { recording, send } = await startEvents(
    t,
    [pipelineWith({ ...appBuild, runAsUser: 'bot', propertyFile: 'out.yml' })],
    { authorization: true },
  )
  const readers: unknown[] = []
  let status = 403
  recording.answer = (service, { headers }) => {
    if (service === 'fiat')
      return {
        status: 200,
        body: { applications: [{ name: 'DEMO', authorizations: ['EXECUTE'] }], accounts: [] },
      }
    if (service !== 'igor') return undefined
    readers.push(headers?.['x-spinnaker-user'])
    return { status, body: { number: 7 } }
  }
  const event = buildEvent({ number: 7, building: false, result: 'SUCCESS' })
  const report = () => send('/', event, { 'x-spinnaker-user': 'ci' })
  assert.equal((await report()).status, 200)
  assert.deepEqual(recording.starts, [])
  status = 200
  await report()
  await recording.untilStarts(1)
  assert.deepEqual(new Set(readers), new Set(['bot']))
})

test('with authorization, builds and images are reported by services and users alone', async (t) => {
  const jenkins = { type: 'jenkins', master: 'ci-main', job: 'app', runAsUser: 'bot' }
  const docker = { type: 'docker', account: 'hub', repository: 'app', runAsUser: 'bot' }
  const { recording, send, startsAfter } = await startEvents(t, [pipelineWith(jenkins, docker)], {
    authorization: true,
  })
  const body = { applications: [{ name: 'DEMO', authorizations: ['EXECUTE'] }], accounts: [] }
  recording.answer = (service) => (service === 'fiat' ? { status: 200, body } : undefined)
  const build = {
    master: 'ci-main',
    project: { name: 'app', lastBuild: { number: 7, building: false, result: 'SUCCESS' } },
  }
  const image = { account: 'hub', repository: 'app', tag: '1' }
  for (const [type, content] of [
    ['build', build],
    ['docker', image],
  ] as const) {
    for (const path of [
      `/webhooks/${type}/x`,
      `/webhooks/${type.toUpperCase()}/x`,
      `/webhooks/${type}`,
    ]) {
      for (const headers of [undefined, { 'x-spinnaker-user': 'anonymous' }]) {
        const answer = await send(path, content, headers)
        assert.deepEqual([answer.status, recording.starts.length], [403, 0], path)
        assert.match(String(answer.body['message']), /Send them with an API token/)
      }
    }
  }
  assert.equal(await startsAfter('/webhooks/build/x', build, { 'x-spinnaker-user': 'alice' }), 1)
  assert.equal(await startsAfter('/webhooks/docker/x', image, { 'x-spinnaker-user': 'alice' }), 1)
  assert.equal(await startsAfter('/', { details: { type: 'docker' }, content: image }), 1)
})

test('without authorization, a build may be reported by a webhook', async (t) => {
  const { startsAfter } = await startEvents(t, [
    pipelineWith({ type: 'docker', account: 'hub', repository: 'app' }),
  ])
  assert.equal(
    await startsAfter('/webhooks/docker/x', { account: 'hub', repository: 'app', tag: '1' }),
    1,
  )
})

test('events-scenario 31: a quiet period drops starts by suppressed triggers', async (t) => {
  const [startMs, endMs] = [Date.now() - 3_600_000, Date.now() + 3_600_000]
  const quietPeriod = { enabled: true, startMs, endMs, triggerTypes: ['webhook'] }
  const quiet = { ...pipelineWith(ci), respectQuietPeriod: true }
  const { recording, backends, send, startsAfter } = await startEvents(
    t,
    [quiet, { ...pipelineWith(ci), id: 'p2' }],
    {
      quietPeriod,
    },
  )
  assert.equal(await startsAfter('/webhooks/webhook/ci', {}), 1)
  assert.equal(recording.starts[0]!.body['id'], 'p2')
  await send('/', {
    details: { type: 'manual' },
    content: { application: 'demo', pipelineNameOrId: 'p1', trigger: {} },
  })
  await recording.untilStarts(2)
  const state = await backends.ask('echo', 'GET', '/quietPeriod')
  assert.deepEqual(state.body, {
    enabled: true,
    inQuietPeriod: true,
    startTime: startMs,
    endTime: endMs,
  })
})

test('events-scenario 32: a webhook is answered before the orchestrator accepts its start', async (t) => {
  const { recording, send } = await startEvents(t, [pipelineWith(ci)])
  let refusals = 0
  recording.answer = (service) =>
    service === 'orca' && refusals++ < 2 ? { status: 503, body: {} } : undefined
  assert.equal((await send('/webhooks/webhook/ci', {})).status, 200)
  await recording.untilStarts(1)
  await new Promise((resolve) => setTimeout(resolve, 40))
  assert.equal(recording.starts.length, 1)
})

test('a small push never becomes a large list of artifacts', () => {
  const long = 'x'.repeat(400_000)
  const files = Array.from({ length: 20_000 }, (_, index) => `f${index}`)
  const commits = [{ added: files }]
  for (const [source, payload] of [
    ['github', { after: long, repository: { contents_url: long }, commits }],
    [
      'gitlab',
      {
        after: long,
        project: { web_url: `https://x/${long}`, path_with_namespace: long },
        commits,
      },
    ],
    ['quay', { docker_url: long, updated_tags: files }],
  ] as const) {
    const event = { source, payload } as unknown as Parameters<typeof pushedArtifacts>[0]
    assert.ok(JSON.stringify(pushedArtifacts(event)).length < 1_000_000, source)
  }
})

test('a burst of webhooks starts a few pipelines at a time', async (t) => {
  const recording = createRecording([pipelineWith(ci)])
  const released = Promise.withResolvers<void>()
  let [running, most] = [0, 0]
  const others: CallService = async (service, call) => {
    if (service !== 'orca') return recording.call(service, call)
    most = Math.max(most, ++running)
    await released.promise
    return recording.call(service, call).finally(() => running--)
  }
  const backends = await startBackends(
    t,
    [createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 1_000 })],
    { others },
  )
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => backends.ask('echo', 'POST', '/webhooks/webhook/ci', {})),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  released.resolve()
  await recording.untilStarts(60)
  assert.equal(most, 4)
})
