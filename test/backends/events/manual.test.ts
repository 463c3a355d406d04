import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { createUlid } from '../../../packages/base/storage/ulid.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { startBackends } from '../../support/backends.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createRecording, type Recording } from './recording.ts'

const eventId = '7d1cbbd2-6c5b-4b3c-9a9c-1f2f7f1f9f10'
const executionId = createUlid(Date.now())

async function startEvents(t: TestContext, pipelines: JsonObject[], dataDir?: string) {
  const recording = createRecording(pipelines)
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 1_000 })
  const backends = await startBackends(t, [events], {
    others: (service, call) => recording.call(service, call),
    dataDir,
  })
  const startManually = (pipelineNameOrId: string, trigger: JsonObject = {}) =>
    backends.ask(
      'echo',
      'POST',
      '/',
      {
        details: { type: 'manual' },
        eventId,
        content: {
          application: 'demo',
          pipelineNameOrId,
          user: 'ann',
          trigger: { ...trigger, eventId, executionId },
        },
      },
      { 'x-spinnaker-user': 'ann', 'x-spinnaker-accounts': 'dev' },
    )
  return { recording, backends, startManually }
}

const build = { application: 'demo', name: 'build', id: 'p1', stages: [] }

for (const [scenario, nameOrId] of [
  [1, 'build'],
  [2, 'p1'],
] as const) {
  test(`events-scenario ${scenario}: a manual event for ${nameOrId} starts under the returned ids`, async (t) => {
    const { recording, startManually } = await startEvents(t, [build])

    const answer = await startManually(nameOrId, {
      type: 'manual',
      parameters: { a: '1' },
      user: 'root',
    })

    assert.deepEqual(answer, { status: 200, body: undefined })
    await recording.untilStarts(1)
    const { path, body, headers } = recording.starts[0]!
    assert.equal(path, '/orchestrate')
    assert.equal(body['id'], 'p1')
    assert.equal(body['executionId'], executionId)
    assert.deepEqual(body['trigger'], {
      type: 'manual',
      parameters: { a: '1' },
      user: 'ann',
      eventId,
      executionId,
    })
    assert.equal(headers['x-spinnaker-user'], 'ann')
    assert.equal(headers['x-spinnaker-accounts'], 'dev')
  })
}

for (const [scenario, what, pipeline, nameOrId, reason] of [
  [3, 'an unknown pipeline', build, 'nope', /no pipeline "nope"/],
  [3, 'a name in other letters', build, 'BUILD', /no pipeline "BUILD"/],
  [4, 'a disabled pipeline', { ...build, disabled: true }, 'build', /"build" is disabled/],
] as const) {
  test(`events-scenario ${scenario}: ${what} leaves only a failed execution that says why`, async (t) => {
    const { recording, startManually } = await startEvents(t, [pipeline])
    assert.equal((await startManually(nameOrId)).status, 200)
    await recording.untilStarts(1)
    const [{ path, body, headers } = assert.fail(), ...others] = recording.starts
    assert.deepEqual([path, others], ['/fail', []])
    assert.match(String(body['errorMessage']), reason)
    assert.deepEqual(
      [body['application'], body['executionId'], headers['x-spinnaker-user']],
      ['demo', executionId, 'ann'],
    )
  })
}

test('events-scenario 5: a manual start uses the current definition', async (t) => {
  const { recording, startManually } = await startEvents(t, [build])
  recording.pipelines[0] = { ...build, stages: [{ type: 'wait' }, { type: 'wait' }] }
  await startManually('build')
  await recording.untilStarts(1)
  assert.equal((recording.starts[0]!.body['stages'] as unknown[]).length, 2)
})

test('events-scenario 6: notifications of a manual start follow those of the pipeline', async (t) => {
  const { recording, startManually } = await startEvents(t, [
    { ...build, notifications: [{ type: 'email', address: 'a' }] },
  ])
  await startManually('build', { notifications: [{ type: 'email', address: 'b' }] })
  await recording.untilStarts(1)
  assert.deepEqual(recording.starts[0]!.body['notifications'], [
    { type: 'email', address: 'a' },
    { type: 'email', address: 'b' },
  ])
})

test('events-scenario 8: events without effect are accepted, invalid JSON is rejected', async (t) => {
  const { backends, recording } = await startEvents(t, [build])
  for (const body of [
    { details: { type: 'unknown' } },
    {},
    [],
    'text',
    { details: [], content: 7 },
  ]) {
    assert.deepEqual(await backends.ask('echo', 'POST', '/', body), {
      status: 200,
      body: undefined,
    })
  }
  const lifecycle = {
    details: { type: 'orca:pipeline:complete', source: 'orca' },
    content: { execution: {} },
  }
  assert.equal((await backends.ask('echo', 'POST', '/', lifecycle)).status, 200)
  const bad = await fetch(`${backends.url('echo')}/`, { method: 'POST', body: '{"details":' })
  assert.equal(bad.status, 400)
  assert.deepEqual(recording.starts, [])
})

test('events-scenario 20: a manual start with an unknown build is recorded as failed', async (t) => {
  const { recording, startManually } = await startEvents(t, [build])
  await startManually('build', { master: 'ci-main', job: 'app', buildNumber: 99 })
  await recording.untilStarts(1)
  assert.equal(recording.starts[0]!.path, '/fail')
  assert.match(String(recording.starts[0]!.body['errorMessage']), /app 99 on ci-main/)
})

test("a manual start includes the build's details, properties and artifacts", async (t) => {
  const { recording, startManually } = await startEvents(t, [build])
  recording.answer = (service, { path }) => {
    if (service !== 'igor') return undefined
    if (path === '/builds/status/7/ci-main/team/job/app')
      return { status: 200, body: { number: 7 } }
    if (path === '/builds/properties/7/out.yml/ci-main/team/job/app')
      return { status: 200, body: { v: '1' } }
    if (path.startsWith('/builds/artifacts/7/ci-main/team/job/app?propertyFile=out.yml')) {
      return { status: 200, body: [{ type: 'jenkins/file' }] }
    }
    return undefined
  }
  await startManually('build', {
    master: 'ci-main',
    job: 'team/job/app',
    buildNumber: '7',
    propertyFile: 'out.yml',
  })
  await recording.untilStarts(1)
  const { path, body } = recording.starts[0]!
  assert.equal(path, '/orchestrate')
  assert.deepEqual(body['receivedArtifacts'], [{ type: 'jenkins/file' }])
  assert.deepEqual((body['trigger'] as JsonObject)['buildInfo'], { number: 7 })
  assert.deepEqual((body['trigger'] as JsonObject)['properties'], { v: '1' })
})

test('a registry completes artifacts of a manual start', async (t) => {
  const { recording, startManually } = await startEvents(t, [build])
  recording.answer = (service, { path }) =>
    service === 'igor' && path === '/artifacts/maven/lib/1'
      ? { status: 200, body: { name: 'lib', reference: 'r' } }
      : undefined
  const other = { name: 'x', version: '1', location: 'elsewhere' }
  await startManually('build', {
    artifacts: [{ name: 'lib', version: '1', location: 'maven' }, other, { name: 'plain' }],
  })
  await recording.untilStarts(1)
  assert.deepEqual(recording.starts[0]!.body['receivedArtifacts'], [
    { name: 'lib', reference: 'r' },
    other,
    { name: 'plain' },
  ])
})

test('a registry is not asked for thousands of artifacts at once', async (t) => {
  const { recording, startManually } = await startEvents(t, [build])
  const { call } = recording
  let [open, most] = [0, 0]
  recording.call = async (service, request) => {
    most = Math.max(most, ++open)
    await new Promise(setImmediate)
    open--
    return call(service, request)
  }
  const artifacts = Array.from({ length: 1000 }, (_, index) => ({
    name: `lib-${index}`,
    version: '1',
    location: 'maven',
  }))

  await startManually('build', { artifacts })

  await recording.untilStarts(1)
  assert.deepEqual(recording.starts[0]!.body['receivedArtifacts'], artifacts)
  assert.ok(most <= 32, `${most} calls at once`)
})

test('a start is retried until the orchestrator accepts it', async (t) => {
  const { recording, startManually } = await startEvents(t, [build])
  let asked = 0
  recording.answer = (service) => {
    if (service !== 'orca') return undefined
    asked++
    if (asked === 1) throw new Error('connection refused')
    return asked === 2 ? { status: 503, body: {} } : undefined
  }
  assert.equal((await startManually('build')).status, 200)
  await recording.untilStarts(1)
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(asked, 3)
})

/** Answers attempts to start with one status, and records everything else. */
function refuseStarts(recording: Recording, status: number): { attempts(): number } {
  let attempts = 0
  recording.answer = (_service, { path }) => {
    if (path !== '/orchestrate') return undefined
    attempts++
    return { status, body: { message: 'the stages require each other' } }
  }
  return { attempts: () => attempts }
}

for (const [status, attempts] of [
  [400, 1],
  [403, 1],
  [413, 1],
  [429, 5],
  [500, 5],
] as const) {
  test(`a start that gets ${status} fails after ${attempts} attempts`, async (t) => {
    const { recording, startManually } = await startEvents(t, [
      { ...build, stages: [{ type: 'wait' }] },
    ])
    const refused = refuseStarts(recording, status)
    await startManually('build', { payload: { large: true }, parentPipelineId: 'x' })
    await recording.untilStarts(1)
    assert.equal(refused.attempts(), attempts)
    const { path, body } = recording.starts[0]!
    assert.equal(path, '/fail')
    assert.match(
      String(body['errorMessage']),
      new RegExp(`${status}.*the stages require each other`),
    )
    assert.deepEqual([body['id'], body['executionId'], body['stages']], ['p1', executionId, []])
    assert.deepEqual(body['trigger'], {
      type: 'manual',
      user: 'ann',
      eventId,
      executionId,
      parameters: {},
    })
  })
}

test('a start whose execution exists is not recorded as failed', async (t) => {
  const { recording, startManually } = await startEvents(t, [build])
  const asked: string[] = []
  recording.answer = (service, { method, path }) => {
    if (service !== 'orca') return undefined
    asked.push(`${method} ${path}`)
    return method === 'GET' ? { status: 200, body: { id: executionId } } : { status: 504, body: {} }
  }
  await startManually('build')
  await waitUntil(
    () => asked.includes(`GET /pipelines/${executionId}`),
    'the execution to be looked up',
  )
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.deepEqual(asked, [
    ...Array.from({ length: 5 }, () => 'POST /orchestrate'),
    `GET /pipelines/${executionId}`,
  ])
})

test('a failure is recorded once the orchestrator returns', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-events-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const before = await startEvents(t, [build], dataDir)
  let asked = 0
  before.recording.answer = (service, { path }) => {
    if (service !== 'orca') return undefined
    if (path !== '/orchestrate') asked++
    throw new Error('connection refused')
  }
  await before.startManually('build')
  await waitUntil(() => asked > 1, 'attempts to record the failure')
  await before.backends.stop()

  const after = await startEvents(t, [build], dataDir)
  await after.recording.untilStarts(1)
  assert.equal(after.recording.starts[0]!.path, '/fail')
  assert.match(
    String(after.recording.starts[0]!.body['errorMessage']),
    /cannot be reached: connection refused/,
  )
})

test('a start is done once the store takes that again', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-events-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const { recording, startManually } = await startEvents(t, [build], dataDir)
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  t.after(() => db.close())
  db.exec(
    "CREATE TRIGGER full BEFORE DELETE ON events_starts BEGIN SELECT RAISE(ABORT, 'disk full'); END",
  )
  await startManually('build')
  await recording.untilStarts(1)
  await new Promise((resolve) => setTimeout(resolve, 30))

  db.exec('DROP TRIGGER full')

  const kept = () => db.prepare('SELECT count(*) AS kept FROM events_starts').get()?.['kept']
  await waitUntil(() => kept() === 0, 'the start to be forgotten')
  assert.equal(recording.starts.length, 1)
})

test('an accepted start keeps its execution id across restarts', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-events-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const before = await startEvents(t, [build], dataDir)
  before.recording.answer = (service) =>
    service === 'orca' ? { status: 503, body: {} } : undefined
  await before.startManually('build')
  await before.backends.stop()

  const after = await startEvents(t, [build], dataDir)
  await after.recording.untilStarts(1)
  assert.equal(after.recording.starts[0]!.body['executionId'], executionId)
})

for (const [status, answered, message] of [
  [500, 503, /definition store: down\. Send it again/],
  [403, 502, /definition store: down\.$/],
] as const) {
  test(`an event is rejected, not lost, while definitions answer ${status}`, async (t) => {
    const { recording, startManually } = await startEvents(t, [build])
    recording.answer = (service) =>
      service === 'front50' ? { status, body: { message: 'down' } } : undefined
    const answer = await startManually('build')
    assert.equal(answer.status, answered)
    assert.match((answer.body as { message: string }).message, message)
  })
}

test('events-scenario 34: lists of an installation where nothing is configured are empty', async (t) => {
  const { backends } = await startEvents(t, [])
  for (const path of ['/pubsub/subscriptions', '/notifications/metadata', '/installedPlugins']) {
    assert.deepEqual(await backends.ask('echo', 'GET', path), { status: 200, body: [] })
  }
  assert.deepEqual((await backends.ask('echo', 'GET', '/quietPeriod')).body, {
    enabled: false,
    inQuietPeriod: false,
    startTime: -1,
    endTime: -1,
  })
})

test('a manual event without a required value leaves a failed execution', async (t) => {
  const { recording, startManually } = await startEvents(t, [
    { ...build, parameterConfig: [{ name: 'env', required: true }] },
  ])
  await startManually('build', { parameters: {} })
  await recording.untilStarts(1)
  const { path, body } = recording.starts[0]!
  assert.equal(path, '/fail')
  assert.match(String(body['errorMessage']), /The parameter "env" is required/)
})
