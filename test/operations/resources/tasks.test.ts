/** Operations that submit a task: the submission, and the answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InTurn, Reply } from '../../support/upstream.ts'
import { type Platform, startPlatform } from './platform.ts'

const accepted = { ref: '/tasks/t1' }
const quickPolls = { 'task-service': { maxNumberOfPolls: 3, defaultIntervalBetweenPolls: 20 } }

interface Submission {
  application: string
  description: string
  job: Record<string, unknown>[]
}

function submitted(platform: Platform): Submission {
  const request = platform.requests().find(({ path }) => path === '/orca/ops')
  assert.equal(request?.headers['content-type'], 'application/context+json')
  return JSON.parse(request.body) as Submission
}

const fromBase64 = (value: unknown): unknown =>
  JSON.parse(Buffer.from(String(value), 'base64').toString('utf8'))

for (const [kind, isStrategy] of [
  ['pipelines', false],
  ['strategies', true],
] as const) {
  test(`reordering ${kind} is one task; its end is the answer`, async (t) => {
    const finished = { id: 't1', status: 'SUCCEEDED', variables: [] }
    const running = { id: 't1', status: 'RUNNING' }
    const answers = {
      'POST /orca/ops': accepted,
      'GET /orca/tasks/t1': new InTurn(running, finished),
    }
    const platform = await startPlatform(t, { answers })

    const answer = await platform.ask(`POST /actions/${kind}/reorder`, {
      application: 'web',
      idsToIndices: { a: 1, b: 0 },
    })

    assert.deepEqual([answer.status, answer.body], [200, finished])
    assert.deepEqual(platform.calls(), [
      'orca POST /ops',
      'orca GET /tasks/t1',
      'orca GET /tasks/t1',
    ])
    const { application, job } = submitted(platform)
    assert.equal(application, 'web')
    const [{ type, user, ...fields } = {}] = job
    assert.deepEqual([type, user], ['reorderPipelines', 'anonymous'])
    assert.deepEqual(
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, fromBase64(value)])),
      {
        application: 'web',
        idsToIndices: { a: 1, b: 0 },
        isStrategy,
      },
    )
    assert.equal(platform.requests()[0]?.headers['x-spinnaker-application'], 'web')
  })
}

for (const body of [
  { application: 'web' },
  { idsToIndices: {} },
  { application: '', idsToIndices: {} },
  [],
]) {
  test(`a new order of ${JSON.stringify(body)} is refused without a call`, async (t) => {
    const platform = await startPlatform(t)
    const answer = await platform.ask('POST /actions/pipelines/reorder', body)
    assert.equal(answer.status, 400)
    assert.deepEqual(platform.calls(), [])
  })
}

test('the first error of a task is the message', async (t) => {
  const exception = { details: { error: 'Unexpected', errors: ['the name is taken', 'and more'] } }
  const task = { id: 't1', status: 'TERMINAL', variables: [{ key: 'exception', value: exception }] }
  const platform = await startPlatform(t, {
    answers: { 'POST /orca/ops': accepted, 'GET /orca/tasks/t1': task },
  })

  const answer = await platform.ask('POST /actions/pipelines/reorder', {
    application: 'web',
    idsToIndices: {},
  })

  assert.equal(answer.status, 400)
  assert.equal((answer.body as { message: string }).message, 'the name is taken')
})

for (const status of ['TERMINAL', 'CANCELED', 'STOPPED', 'SKIPPED', 'FAILED_CONTINUE']) {
  test(`a ${status} task ends the polling with a 400`, async (t) => {
    const platform = await startPlatform(t, {
      answers: { 'POST /orca/ops': accepted, 'GET /orca/tasks/t1': { status } },
    })

    const answer = await platform.ask('POST /actions/pipelines/reorder', {
      application: 'web',
      idsToIndices: {},
    })

    assert.equal(answer.status, 400)
    assert.match((answer.body as { message: string }).message, new RegExp(`t1 ended as ${status}`))
    assert.equal(platform.calls().length, 2)
  })
}

test('polling of a task ends after the configured time', async (t) => {
  const answers = { 'POST /orca/ops': accepted, 'GET /orca/tasks/t1': { status: 'RUNNING' } }
  const platform = await startPlatform(t, { answers, settings: quickPolls })

  const answer = await platform.ask('POST /actions/pipelines/reorder', {
    application: 'web',
    idsToIndices: {},
  })

  assert.equal(answer.status, 400)
  assert.match(
    (answer.body as { message: string }).message,
    /did not finish in time: task t1 is RUNNING/,
  )
  assert.ok(platform.calls().includes('orca GET /tasks/t1'), 'it was asked for')
})

test('a submission that names no task fails', async (t) => {
  const platform = await startPlatform(t, { answers: { 'POST /orca/ops': {} } })
  const answer = await platform.ask('POST /actions/pipelines/reorder', {
    application: 'web',
    idsToIndices: {},
  })
  assert.equal(answer.status, 400)
  assert.deepEqual(platform.calls(), ['orca POST /ops'])
})

test('a refused submission keeps the status of the orchestrator', async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'POST /orca/ops': new Reply(403, { message: 'not yours' }) },
  })
  const answer = await platform.ask('POST /actions/pipelines/reorder', {
    application: 'web',
    idsToIndices: {},
  })
  assert.equal(answer.status, 403)
})

test('saving many pipelines answers with the report that the task left', async (t) => {
  const bulksave = { successful_pipelines_count: 1, failed_pipelines_count: 0 }
  const task = { status: 'SUCCEEDED', variables: [{ key: 'bulksave', value: bulksave }] }
  const platform = await startPlatform(t, {
    answers: { 'POST /orca/ops': accepted, 'GET /orca/tasks/t1': task },
  })

  const answer = await platform.ask('POST /pipelines/bulksave', [{ application: 'web', name: 'é' }])

  assert.deepEqual([answer.status, answer.body], [200, bulksave])
  const { application, job } = submitted(platform)
  assert.equal(application, 'bulk_save_placeholder_app')
  assert.equal(job[0]?.['type'], 'savePipeline')
  assert.equal(job[0]?.['isBulkSavingPipelines'], true)
  assert.deepEqual(fromBase64(job[0]?.['pipelines']), [{ application: 'web', name: 'é' }])
})

test('a definition becomes the text of a template', async (t) => {
  const answers = {
    'GET /front50/pipelines/p1/get': '{"id":"p1"}',
    'POST /orca/convertPipelineToTemplate': new Reply(200, 'schema: "1"'),
  }
  const platform = await startPlatform(t, { answers })

  const answer = await platform.ask('GET /pipelineConfigs/p1/convertToTemplate')

  assert.deepEqual([answer.status, answer.body], [200, 'schema: "1"'])
  assert.equal(platform.requests()[1]?.body, '{"id":"p1"}')
  const unknown = await platform.ask('GET /pipelineConfigs/p2/convertToTemplate')
  assert.equal(unknown.status, 404)
})

const template = { id: 't1', metadata: { name: 'Canary', scopes: ['web'] } }

test('a version-1 template is submitted, and the task is the answer', async (t) => {
  const platform = await startPlatform(t, { answers: { 'POST /orca/ops': accepted } })
  const rows = [
    ['POST /pipelineTemplates', template, { type: 'createPipelineTemplate' }, 'web'],
    [
      'POST /pipelineTemplates/t1?skipPlanDependents=true',
      template,
      { type: 'updatePipelineTemplate', id: 't1', skipPlanDependents: true },
      'web',
    ],
    [
      'DELETE /pipelineTemplates/t1',
      undefined,
      { type: 'deletePipelineTemplate', pipelineTemplateId: 't1' },
      'spinnaker',
    ],
  ] as const
  for (const [line, body, wanted, owner] of rows) {
    await t.test(line, async () => {
      platform.upstream.answer({ 'POST /orca/ops': accepted })
      const answer = await platform.ask(line, body)
      assert.deepEqual([answer.status, answer.body], [202, accepted])
      const { application, job } = submitted(platform)
      assert.equal(application, owner)
      assert.partialDeepStrictEqual(job[0], wanted)
      if (body !== undefined) assert.deepEqual(fromBase64(job[0]?.['pipelineTemplate']), template)
    })
  }
})

test('a change of a version-2 template answers with the finished task', async (t) => {
  const finished = { id: 't1', status: 'SUCCEEDED' }
  const answers = { 'POST /orca/ops': accepted, 'GET /orca/tasks/t1': finished }
  const platform = await startPlatform(t)
  const rows = [
    [
      'POST /v2/pipelineTemplates/create?tag=stable',
      template,
      { type: 'createV2PipelineTemplate', tag: 'stable' },
    ],
    [
      'POST /v2/pipelineTemplates/update/t1',
      template,
      { type: 'updateV2PipelineTemplate', id: 't1', skipPlanDependents: false },
    ],
    [
      'DELETE /v2/pipelineTemplates/t1?digest=abc',
      undefined,
      { type: 'deleteV2PipelineTemplate', pipelineTemplateId: 't1', digest: 'abc' },
    ],
  ] as const
  for (const [line, body, wanted] of rows) {
    await t.test(line, async () => {
      platform.upstream.answer(answers)
      const answer = await platform.ask(line, body)
      assert.deepEqual([answer.status, answer.body], [202, finished])
      const { job } = submitted(platform)
      assert.partialDeepStrictEqual(job[0], wanted)
      if (body !== undefined)
        assert.deepEqual(fromBase64(job[0]?.['pipelineTemplate']), { schema: 'v2', ...template })
    })
  }
})

test('a template of another schema is not stored as version 2', async (t) => {
  const platform = await startPlatform(t)
  const answer = await platform.ask('POST /v2/pipelineTemplates/create', {
    ...template,
    schema: '1',
  })
  assert.equal(answer.status, 400)
  assert.deepEqual(platform.calls(), [])
})

test('entity tags are submitted with the entity that the query names', async (t) => {
  const platform = await startPlatform(t, { answers: { 'POST /orca/ops': accepted } })
  const tags = [{ name: 'alert', value: 'x' }]

  const answer = await platform.ask(
    'POST /tags?entityId=web-v001&entityType=servergroup&cloudProvider=aws&account=prod',
    tags,
  )

  assert.deepEqual([answer.status, answer.body], [202, accepted])
  const { job } = submitted(platform)
  const entityRef = {
    entityId: 'web-v001',
    entityType: 'servergroup',
    cloudProvider: 'aws',
    account: 'prod',
  }
  assert.partialDeepStrictEqual(job[0], {
    type: 'upsertEntityTags',
    isPartial: true,
    entityRef,
    tags,
  })
})

test("tags are removed in the name of the entity's application", async (t) => {
  const stored = { id: 'aws:servergroup:web-v001:1:eu', entityRef: { application: 'web' } }
  const answers = {
    'GET /clouddriver/tags/aws%3Aservergroup%3Aweb-v001%3A1%3Aeu': stored,
    'POST /orca/ops': accepted,
  }
  const platform = await startPlatform(t, { answers })

  const answer = await platform.ask('DELETE /tags/aws:serverGroup:web-v001:1:eu/a,b')

  assert.equal(answer.status, 202)
  const { application, job } = submitted(platform)
  assert.equal(application, 'web')
  assert.partialDeepStrictEqual(job[0], {
    type: 'deleteEntityTags',
    id: stored.id,
    tags: ['a', 'b'],
  })
  assert.equal((await platform.ask('DELETE /tags/unknown/a')).status, 404)
  platform.upstream.answer({ 'GET /clouddriver/tags/lost': { id: 'lost', tags: [] } })
  assert.equal((await platform.ask('DELETE /tags/lost/a')).status, 404, 'tags of no entity')
})

test('tags of many entities are one submission', async (t) => {
  const platform = await startPlatform(t, { answers: { 'POST /orca/ops': accepted } })
  const entityTags = [{ entityRef: { entityId: 'x' }, tags: [] }]
  const answer = await platform.ask('POST /batch/tags', entityTags)
  assert.equal(answer.status, 202)
  const { application, job } = submitted(platform)
  assert.equal(application, 'adhoc')
  assert.partialDeepStrictEqual(job[0], { type: 'bulkUpsertEntityTags', entityTags })
})

for (const method of ['POST', 'PUT']) {
  test(`${method} /plugins/info submits what is known about a plugin`, async (t) => {
    const platform = await startPlatform(t, { answers: { 'POST /orca/ops': accepted } })
    const answer = await platform.ask(`${method} /plugins/info`, { id: 'acme.plugin' })
    assert.deepEqual([answer.status, answer.body], [202, accepted])
    assert.partialDeepStrictEqual(submitted(platform).job[0], {
      type: 'upsertPluginInfo',
      pluginInfo: { id: 'acme.plugin' },
    })
  })
}

test('DELETE /plugins/info submits the deletion', async (t) => {
  const platform = await startPlatform(t, { answers: { 'POST /orca/ops': accepted } })
  const answer = await platform.ask('DELETE /plugins/info/acme.plugin')
  assert.equal(answer.status, 202)
  assert.partialDeepStrictEqual(submitted(platform).job[0], {
    type: 'deletePluginInfo',
    pluginInfoId: 'acme.plugin',
  })
})

test('a task for an external Orca is judged by its form alone', async (t) => {
  const platform = await startPlatform(t)
  const task = { application: 'other', description: 'd', job: [{ type: 'disableServerGroup' }] }

  const right = await platform.ask('POST /applications/web/tasks/judge', task)
  const wrong = await platform.ask('POST /applications/web/tasks/judge', {
    description: 'd',
    job: [{ user: 'ann' }],
  })

  assert.deepEqual([right.status, wrong.status], [200, 200])
  const { open, ...judged } = right.body as { open: { message: string }[] }
  assert.deepEqual(judged, { engine: 'external', decision: 'depends', objections: [], effects: [] })
  assert.match(open[0]?.message ?? '', /^The external Orca judges the rest/)
  const { decision, objections } = wrong.body as { decision: string; objections: unknown[] }
  assert.deepEqual(
    [decision, objections],
    ['refused', [{ message: '"job.0.type": it is missing.' }]],
  )
  assert.deepEqual(platform.calls(), [])
})
