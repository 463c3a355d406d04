import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import type { ServiceCall } from '../../../packages/ports/service-call.ts'
import {
  at,
  type EngineOptions,
  startEngine,
  type TaskView,
  type TestEngine,
  variable,
} from './support.ts'

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

interface Platform extends TestEngine {
  /** Asks the definition store. */
  store(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>
  /** Submits jobs and waits until the task has ended so. */
  job(status: string, ...jobs: Record<string, unknown>[]): Promise<TaskView>
}

async function startPlatform(t: TestContext, options: EngineOptions = {}): Promise<Platform> {
  const engine = await startEngine(t, { backends: [definitionsBackend], ...options })
  return {
    ...engine,
    store: (method, path, body) => engine.backends.ask('front50', method, path, body),
    job: async (status, ...jobs) => engine.taskEnds(await engine.task(...jobs), status),
  }
}

function errorsOf(view: TaskView): string[] {
  return (at(variable(view, 'exception'), 'details', 'errors') ?? []) as string[]
}

test('orchestration-scenario 124: a task shows what it was given and how it went', async (t) => {
  const { backends, clock, view, taskEnds } = await startPlatform(t)
  const body = {
    application: 'app',
    description: 'd',
    job: [{ type: 'wait', waitTime: 1, note: 'hi', user: 'ann' }],
  }

  const answer = await backends.ask('orca', 'POST', '/ops', body, {
    'content-type': 'application/context+json',
  })

  assert.equal(answer.status, 200)
  const id = String(at(answer.body, 'ref')).replace('/tasks/', '')
  assert.deepEqual(answer.body, { ref: `/tasks/${id}` })
  const running = await view(id)
  assert.deepEqual(
    [running.id, running.name, running.application, running.status],
    [id, 'd', 'app', 'RUNNING'],
  )
  assert.equal(running.buildTime, clock.now())
  clock.pass(1)
  const done = await taskEnds(id, 'SUCCEEDED')
  assert.equal(done.endTime! - done.startTime!, 1000)
  assert.equal(variable(done, 'note'), 'hi')
  assert.equal(variable(done, 'waitTime'), 1)
  assert.equal(done.steps[0]!.name, 'wait')
  assert.equal(done.execution.type, 'ORCHESTRATION')
  assert.equal(done.execution.stages[0]!.type, 'wait')
})

test('orchestration-scenario 125: jobs run one after another until one fails', async (t) => {
  const { job } = await startPlatform(t)

  const { execution } = await job(
    'TERMINAL',
    { type: 'createApplication', application: {} },
    { type: 'wait' },
  )

  assert.deepEqual(
    execution.stages.map((stage) => stage.status),
    ['TERMINAL', 'NOT_STARTED'],
  )
})

test('orchestration-scenario 126: a later empty variable does not hide an earlier one', async (t) => {
  const { job } = await startPlatform(t)

  const kept = await job('SUCCEEDED', { type: 'wait', k: 'a' }, { type: 'wait', k: '' })
  const replaced = await job('SUCCEEDED', { type: 'wait', k: 'a' }, { type: 'wait', k: 'b' })

  assert.equal(variable(kept, 'k'), 'a')
  assert.equal(variable(replaced, 'k'), 'b')
  assert.equal(new Set(kept.variables.map((each) => each.key)).size, kept.variables.length)
})

test('orchestration-scenario 127 and 128: an application is created, then updated', async (t) => {
  const { job, store } = await startPlatform(t)
  const application = { name: 'newapp', email: 'a@b', cloudProviders: 'kubernetes' }

  const created = await job('SUCCEEDED', { type: 'createApplication', application })
  const updated = await job('SUCCEEDED', {
    type: 'updateApplication',
    application: { ...application, email: 'c@d' },
  })

  assert.equal(variable(created, 'notification.type'), 'upsertapplication')
  assert.equal(variable(created, 'application.name'), 'newapp')
  assert.deepEqual(variable(created, 'previousState') ?? {}, {})
  assert.equal(at(variable(created, 'newState'), 'email'), 'a@b')
  assert.equal(created.steps[0]!.name, 'createApplication')
  assert.equal(at(variable(updated, 'previousState'), 'email'), 'a@b')
  assert.equal(at((await store('GET', '/v2/applications/newapp')).body, 'email'), 'c@d')
})

test('an update without permissions keeps them', async (t) => {
  const { job, store } = await startPlatform(t)
  const application = { name: 'newapp', email: 'a@b' }
  await job('SUCCEEDED', {
    type: 'createApplication',
    application: { ...application, permissions: { READ: ['ops'] } },
  })

  await job('SUCCEEDED', {
    type: 'updateApplication',
    application: { ...application, email: 'c@d' },
  })

  assert.deepEqual(
    at((await store('GET', '/permissions/applications/newapp')).body, 'permissions'),
    { READ: ['ops'] },
  )
})

const badApplications = [
  {
    what: 'a name that the provider does not permit',
    application: { name: 'no_underscores', email: 'a@b', cloudProviders: 'kubernetes' },
  },
  { what: 'no name', application: { email: 'a@b' } },
  { what: 'no email', application: { name: 'newapp' } },
  { what: 'nothing', application: undefined },
]
for (const { what, application } of badApplications) {
  test(`orchestration-scenario 129: an application with ${what} is refused with a text`, async (t) => {
    const { job } = await startPlatform(t)

    const view = await job('TERMINAL', { type: 'createApplication', application })

    assert.ok(errorsOf(view)[0])
  })
}

test('orchestration-scenario 130: an application is deleted once it has no clusters any more', async (t) => {
  let clusters: Record<string, string[]> = { prod: ['newapp-main'] }
  const platform = await startPlatform(t, {
    others: async (service, { path }) => {
      if (service !== 'clouddriver') return { status: 404, body: undefined }
      return path.startsWith('/applications/newapp/clusters')
        ? { status: 200, body: clusters }
        : { status: 200, body: [{ results: [] }] }
    },
  })
  await platform.job('SUCCEEDED', {
    type: 'createApplication',
    application: { name: 'newapp', email: 'a@b' },
  })
  const deletion = { type: 'deleteApplication', application: { name: 'newapp' } }

  const refused = await platform.job('TERMINAL', deletion)
  assert.match(errorsOf(refused)[0]!, /newapp-main/)
  assert.equal((await platform.store('GET', '/v2/applications/newapp')).status, 200)
  clusters = {}
  const done = await platform.job('SUCCEEDED', deletion)
  assert.equal(variable(done, 'notification.type'), 'deleteapplication')
  assert.equal(at(variable(done, 'previousState'), 'email'), 'a@b')
  assert.deepEqual(
    done.steps.map((step) => step.name),
    ['verifyNoDependencies', 'deleteApplication'],
  )
  assert.equal((await platform.store('GET', '/v2/applications/newapp')).status, 404)
  await platform.job('SUCCEEDED', deletion)
})

test('an application with security groups is not deleted', async (t) => {
  const results = [
    { name: 'web', application: 'newapp' },
    { name: 'other', application: 'newapp2' },
  ]
  const platform = await startPlatform(t, {
    others: async (_service, { path }) =>
      path.startsWith('/search') ? { status: 200, body: [{ results }] } : { status: 200, body: {} },
  })

  const refused = await platform.job('TERMINAL', {
    type: 'deleteApplication',
    application: { name: 'newapp' },
  })

  assert.match(errorsOf(refused)[0]!, /web$/)
})

test('orchestration-scenario 131: a pipeline is saved, and a stale save is refused', async (t) => {
  const { job, store, clock } = await startPlatform(t)
  const saved = await job('SUCCEEDED', {
    type: 'savePipeline',
    pipeline: base64({ application: 'app', name: 'build', stages: [{ note: '${x}' }] }),
  })

  const id = variable(saved, 'pipeline.id')
  assert.equal(variable(saved, 'notification.type'), 'savepipeline')
  assert.equal(variable(saved, 'pipeline.name'), 'build')
  assert.equal(variable(saved, 'application'), 'app')
  const stored = (await store('GET', `/pipelines/${id}/get`)).body as Record<string, unknown>
  assert.equal(stored['name'], 'build')
  assert.deepEqual(stored['stages'], [{ note: '${x}' }])
  assert.equal('regenerateCronTriggerIds' in stored, false)
  clock.pass(1)
  await job('SUCCEEDED', { type: 'savePipeline', pipeline: base64({ ...stored, name: 'build2' }) })
  clock.pass(1)
  const stale = await job('TERMINAL', {
    type: 'savePipeline',
    staleCheck: true,
    pipeline: base64(stored),
  })
  assert.ok(errorsOf(stale)[0])
})

test('a save without an index keeps the place in the list', async (t) => {
  const { job, store } = await startPlatform(t)
  const { body } = await store('POST', '/pipelines', {
    application: 'app',
    name: 'a',
    index: 7,
    stages: [],
  })
  const id = at(body, 'id')

  await job('SUCCEEDED', {
    type: 'savePipeline',
    pipeline: base64({ id, application: 'app', name: 'a', stages: [] }),
  })

  assert.equal(at((await store('GET', `/pipelines/${id}/get`)).body, 'index'), 7)
})

test('orchestration-scenario 132: pipelines are updated, reordered and deleted', async (t) => {
  const { job, store } = await startPlatform(t)
  const ids: string[] = []
  for (const name of ['a', 'b'])
    ids.push(
      String(
        at(
          (await store('POST', '/pipelines', { application: 'app', name, stages: [] })).body,
          'id',
        ),
      ),
    )

  const updated = await job('SUCCEEDED', {
    type: 'updatePipeline',
    pipeline: base64({ id: ids[0], application: 'app', name: 'a2', stages: [] }),
  })
  const reordered = await job('SUCCEEDED', {
    type: 'reorderPipelines',
    idsToIndices: base64({ [ids[0]!]: 1, [ids[1]!]: 0 }),
    application: base64('app'),
    isStrategy: base64(false),
  })
  const names = ((await store('GET', '/pipelines/app')).body as { name: string }[]).map(
    (each) => each.name,
  )
  const deleted = await job('SUCCEEDED', {
    type: 'deletePipeline',
    pipeline: base64({ application: 'app', name: 'a2' }),
  })

  assert.equal(variable(updated, 'pipeline.name'), 'a2')
  assert.deepEqual(names, ['b', 'a2'])
  assert.equal(variable(reordered, 'notification.type'), 'reorderpipelines')
  assert.equal(variable(deleted, 'notification.type'), 'deletepipeline')
  assert.equal((await store('GET', `/pipelines/${ids[0]}/get`)).status, 404)
  await job('TERMINAL', {
    type: 'deletePipeline',
    pipeline: base64({ application: 'app', name: 'a2' }),
  })
})

test('orchestration-scenario 133: projects are created, updated and deleted', async (t) => {
  const { job, store } = await startPlatform(t)
  const config = { applications: ['app'], clusters: [], pipelineConfigs: [] }

  const created = await job('SUCCEEDED', {
    type: 'upsertProject',
    project: { name: 'proj', email: 'a@b', config },
  })
  const { id } = (await store('GET', '/v2/projects/proj')).body as { id: string }
  await job('SUCCEEDED', {
    type: 'upsertProject',
    project: { id, name: 'proj2', email: 'a@b', config },
  })

  assert.equal(variable(created, 'notification.type'), 'upsertproject')
  assert.equal(at((await store('GET', `/v2/projects/${id}`)).body, 'name'), 'proj2')
  await job('SUCCEEDED', { type: 'deleteProject', project: { id } })
  assert.equal((await store('GET', `/v2/projects/${id}`)).status, 404)
})

test('orchestration-scenario 134: several pipelines are saved at once', async (t) => {
  const { job } = await startPlatform(t)
  const pipelines = base64([{ application: 'app', name: 'a', stages: [] }, { application: 'app' }])

  const view = await job('SUCCEEDED', {
    type: 'savePipeline',
    isBulkSavingPipelines: true,
    pipelines,
  })

  assert.equal(at(variable(view, 'bulksave'), 'successful_pipelines_count'), 1)
  assert.equal(at(variable(view, 'bulksave'), 'failed_pipelines_count'), 1)
})

test('a file has the pipelines and environments of applications', async (t) => {
  const { job, store } = await startPlatform(t)
  await store('POST', '/v2/applications', { name: 'app', email: 'a@example.com' })
  await store('POST', '/pipelines', { application: 'app', name: 'ship', stages: [] })
  const save = (status: string, file: string) => {
    const pipelinesArtifact = {
      type: 'embedded/base64',
      reference: Buffer.from(file).toString('base64'),
    }
    return job(status, { type: 'savePipelinesFromArtifact', pipelinesArtifact })
  }
  const stored = async (path: string) =>
    (await store('GET', path)).body as Record<string, unknown>[]
  await save(
    'SUCCEEDED',
    'app:\n  environments: [{ name: prod, accounts: [p] }]\n  pipelines: [{ name: Ship, index: 4 }, { name: new }]',
  )
  const named = (await stored('/pipelines/app')).map(({ name }) => name)
  assert.deepEqual(named.toSorted(), ['Ship', 'new'])
  assert.deepEqual(at(await stored('/v2/applications/app'), 'environments'), [
    { name: 'prod', accounts: ['p'] },
  ])
  await save('SUCCEEDED', '{ "app": { "environments": [] } }')
  assert.deepEqual(at(await stored('/v2/applications/app'), 'environments'), [])
  const failed = await save(
    'TERMINAL',
    JSON.stringify({
      app: { environments: [{ name: 'prod' }] },
      other: [{ name: 'third' }, { name: '' }],
    }),
  )
  const [ofEnvironments, ofPipelines] = errorsOf(failed)
  assert.match(
    ofEnvironments ?? '',
    /^app: The body does not fit.*environments\.0\.accounts: it is missing/,
  )
  assert.match(ofPipelines ?? '', /^ of other: /)
  assert.equal((await stored('/pipelines/other')).length, 1, 'the rest is stored')
  assert.match(
    errorsOf(await save('TERMINAL', 'app: { pipeline: [] }')).join(),
    /has for app the field "pipeline": write a list/,
  )
})

test('orchestration-scenario 135: tasks are cancelled, one or several at once', async (t) => {
  const { task, ask, taskEnds } = await startPlatform(t)
  const [one, two, three] = [
    await task({ type: 'wait', waitTime: 600 }),
    await task({ type: 'wait', waitTime: 600 }),
    await task({ type: 'wait', waitTime: 600 }),
  ]

  assert.deepEqual(await ask('PUT', `/tasks/${one}/cancel`, ''), { status: 202, body: undefined })
  assert.equal((await ask('PUT', '/tasks/cancel', [two, three])).status, 202)

  for (const id of [one, two, three]) await taskEnds(id, 'CANCELED')
  assert.equal((await ask('PUT', '/tasks/nope/cancel')).status, 404)
})

test('orchestration-scenario 136: tasks are listed newest first, in pages', async (t) => {
  const { task, ask, clock } = await startPlatform(t)
  const ids: string[] = []
  for (let count = 0; count < 5; count++) {
    ids.unshift(await task({ type: 'wait', waitTime: 600 }))
    clock.pass(1)
  }
  const list = async (query: string) => {
    const { body } = await ask('GET', `/applications/app/tasks${query}`)
    return (body as { id: string }[]).map((each) => each.id)
  }

  assert.deepEqual(await list(''), ids)
  assert.deepEqual(await list('?limit=2&page=2'), ids.slice(2, 4))
  assert.deepEqual(await list('?statuses=RUNNING&page=0'), ids)
  assert.deepEqual(await list('?statuses=SUCCEEDED'), [])
  assert.deepEqual((await ask('GET', '/applications/nope/tasks')).body, [])
  assert.equal((await ask('GET', '/applications/app/tasks?statuses=x')).status, 400)
  clock.pass(15 * 24 * 3600)
  assert.deepEqual(await list(''), [])
})

test('orchestration-scenario 137: an unknown job type becomes a failed task that names it', async (t) => {
  const { job } = await startPlatform(t)

  const view = await job('TERMINAL', { type: 'nope' })

  assert.match(errorsOf(view)[0]!, /nope/)
})

test('orchestration-scenario 138: the id of a pipeline execution is no task', async (t) => {
  const { run, task, ask } = await startPlatform(t)
  const id = await run({ stages: [{ type: 'wait', waitTime: 600 }] })

  assert.equal((await ask('GET', `/tasks/${id}`)).status, 404)
  assert.equal((await ask('GET', `/pipelines/${await task({ type: 'wait' })}`)).status, 404)
})

test('jobs act in the name of whoever submitted them', async (t) => {
  const seen: ServiceCall[] = []
  const engine = await startEngine(t, {
    others: async (service, call) => {
      if (service === 'front50' && call.method === 'POST') seen.push(call)
      return { status: call.method === 'GET' ? 404 : 200, body: {} }
    },
  })
  const body = {
    application: 'app',
    description: 'd',
    job: [{ type: 'createApplication', application: { name: 'x', email: 'y' } }],
  }

  const headers = {
    'x-spinnaker-user': 'ann',
    'x-spinnaker-accounts': 'a,b',
    'x-spinnaker-request-id': 'r1',
  }
  const answer = await engine.backends.ask('orca', 'POST', '/ops', body, headers)

  await engine.taskEnds(String(at(answer.body, 'ref')).replace('/tasks/', ''), 'SUCCEEDED')
  const sent = seen[0]!.headers!
  assert.equal(sent['x-spinnaker-user'], 'ann')
  assert.equal(sent['x-spinnaker-accounts'], 'a,b')
  assert.equal(sent['x-spinnaker-request-id'], 'r1')
  assert.equal(sent['x-spinnaker-application'], 'app')
})

test('a job waits for a silent definition store', async (t) => {
  let answers = 0
  const engine = await startEngine(t, {
    others: async (service, { method, path }) => {
      if (service !== 'front50' || path.startsWith('/notifications'))
        return { status: 404, body: undefined }
      if (++answers === 1) throw new Error('connection refused')
      if (answers === 2) return { status: 503, body: undefined }
      return { status: method === 'GET' ? 404 : 200, body: {} }
    },
  })
  const id = await engine.task({
    type: 'createApplication',
    application: { name: 'x', email: 'y' },
  })
  for (let round = 1; round <= 2; round++) {
    await engine.eventually(async () => answers === round)
    assert.equal((await engine.view(id)).status, 'RUNNING')
    engine.clock.pass(10)
    await engine.clock.settled()
  }

  await engine.taskEnds(id, 'SUCCEEDED')
})
