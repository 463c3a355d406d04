import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { defaults } from '../../support/backend-settings.ts'
import { type Fields, namesAt, type Store, startStore } from './store.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function savePipeline(store: Store, fields: Fields): Promise<Fields> {
  return store.ok('POST', '/pipelines', { application: 'demo', ...fields })
}

test('definitions-scenario 10: a new pipeline gets ids, a schema and a trimmed name', async (t) => {
  const store = await startStore(t)
  const triggers = [{ type: 'cron', id: 'mine', enabled: true }]
  const saved = await savePipeline(store, { name: '  build  ', triggers, id: '' })
  assert.match(saved['id'] as string, uuid)
  assert.equal(saved['name'], 'build')
  assert.equal(saved['schema'], '1')
  assert.match((saved['triggers'] as Fields[])[0]?.['id'] as string, uuid)
  assert.match(saved['updateTs'] as string, /^\d+$/)
  const read = await store.ok('GET', `/pipelines/${saved['id']}/get`)
  assert.deepEqual(read, saved)
})

test('definitions-scenario 11: a pipeline without name or application is refused with 422', async (t) => {
  const store = await startStore(t)
  for (const body of [
    { application: 'demo', name: '   ' },
    { application: 'demo' },
    { name: 'x', application: ' ' },
    { name: 'x' },
  ]) {
    await store.fails(422, 'POST', '/pipelines', body)
  }
  assert.deepEqual(await store.ok('GET', '/pipelines'), [])
})

test('definitions-scenario 12: a name is taken once in an application, ignoring case', async (t) => {
  const store = await startStore(t)
  await savePipeline(store, { name: 'build' })
  const refused = await store.fails(400, 'POST', '/pipelines', {
    application: 'demo',
    name: 'BUILD',
  })
  assert.match(refused['message'] as string, /BUILD.*demo/)
  await savePipeline(store, { application: 'other', name: 'BUILD' })
})

test('definitions-scenario 13: an update keeps cron trigger ids unless told otherwise', async (t) => {
  const store = await startStore(t)
  await savePipeline(store, { id: 'P', name: 'build', triggers: [{ type: 'cron', id: 'c1' }] })
  const triggers = [{ type: 'cron', id: 'c1' }, { type: 'cron' }, { type: 'git', id: 'g' }]
  const idsOf = (pipeline: Fields) =>
    (pipeline['triggers'] as Fields[]).map((trigger) => trigger['id'] as string)
  const kept = idsOf(await savePipeline(store, { id: 'P', name: 'build', triggers }))
  assert.equal(kept[0], 'c1')
  assert.match(kept[1] as string, uuid)
  const changed = await savePipeline(store, {
    id: 'P',
    name: 'build',
    triggers,
    regenerateCronTriggerIds: true,
  })
  assert.match(idsOf(changed)[0] as string, uuid)
  assert.match(idsOf(changed)[1] as string, uuid)
  assert.equal(idsOf(changed)[2], 'g')
  assert.equal('regenerateCronTriggerIds' in changed, false)
})

test('definitions-scenario 14: a rename keeps the id and its history', async (t) => {
  const store = await startStore(t)
  const saved = await savePipeline(store, { id: 'P', name: 'build' })
  const renamed = await store.ok('PUT', '/pipelines/P', { ...saved, name: 'ship' })
  assert.equal(renamed['name'], 'ship')
  await store.fails(404, 'GET', '/pipelines/demo/name/build')
  assert.equal((await store.ok('GET', '/pipelines/DEMO/name/SHIP?refresh=true'))['id'], 'P')
  assert.deepEqual(await namesAt(store, '/pipelines/P/history'), ['ship', 'build'])
})

test("definitions-scenario 15: PUT needs an existing pipeline and the path's id", async (t) => {
  const store = await startStore(t)
  const p = await savePipeline(store, { id: 'P', name: 'p' })
  await savePipeline(store, { id: 'Q', name: 'q' })
  await store.fails(400, 'PUT', '/pipelines/P', { ...p, id: 'Q' })
  await store.fails(400, 'PUT', '/pipelines/P', { application: 'demo', name: 'p' })
  await store.fails(404, 'PUT', '/pipelines/none', { ...p, id: 'none' })
  await store.fails(400, 'PUT', '/pipelines/P', { ...p, name: 'Q' })
})

test('definitions-scenario 16: a stale save is refused when the check is asked for', async (t) => {
  let now = 1000
  const store = await startStore(t, { now: () => now })
  const mine = await savePipeline(store, { id: 'P', name: 'build', step: 1 })
  now = 2000
  await savePipeline(store, { id: 'P', name: 'build', step: 2 })
  const refused = await store.fails(400, 'POST', '/pipelines?staleCheck=true', { ...mine, step: 3 })
  const errors = refused['errors'] as string[]
  assert.equal(errors.length, 1)
  assert.match(
    errors[0] as string,
    /1970-01-01 at 00:00:02 UTC.*version of 1970-01-01 at 00:00:01 UTC.*not saved: reload/,
  )
  assert.equal(refused['message'], errors[0])
  assert.equal((await store.ok('GET', '/pipelines/P/get'))['step'], 2)
  await store.ok('POST', '/pipelines?staleCheck=true', { ...mine, updateTs: 2000, step: 3 })
  await store.ok('POST', '/pipelines', { ...mine, step: 4 })
})

test('a conflict names the user who changed the pipeline', async (t) => {
  let now = 1000
  const store = await startStore(t, { now: () => now })
  const as = (user: string) => ({ 'x-spinnaker-user': user })
  const mine = await store.ok(
    'POST',
    '/pipelines',
    { id: 'P', application: 'demo', name: 'build' },
    as('ann'),
  )
  now = 2000
  await store.ok('POST', '/pipelines', { ...mine, step: 2 }, as('bob'))
  const save = (user: string) =>
    store.ask('POST', '/pipelines?staleCheck=true', { ...mine, step: 3 }, as(user))
  assert.match(
    JSON.stringify((await save('ann')).body),
    /"bob saved the pipeline \\"build\\" on 1970/,
  )
  assert.match(
    JSON.stringify((await save('bob')).body),
    /"You, perhaps in another window, saved the pipeline/,
  )
})

test('switching a pipeline off leaves its version usable', async (t) => {
  let now = 1000
  const store = await startStore(t, { now: () => now++ })
  const as = (user: string) => ({ 'x-spinnaker-user': user })
  const save = (body: object, user = 'ann') =>
    store.ask('POST', '/pipelines?staleCheck=true', body, as(user))
  const read = await store.ok(
    'POST',
    '/pipelines',
    { id: 'P', application: 'demo', name: 'build', n: 1 },
    as('ann'),
  )
  for (const disabled of [true, false, true])
    assert.equal((await save({ ...read, disabled })).status, 200)
  assert.equal((await save({ ...read, disabled: false }, 'bob')).status, 400)
  assert.equal((await save({ ...read, n: 2 })).status, 200)
  assert.equal((await save({ ...read, disabled: true })).status, 400)
})

test('two saves within one millisecond have different times', async (t) => {
  const store = await startStore(t, { now: () => 1000 })
  const first = await savePipeline(store, { id: 'P', name: 'build' })
  const second = await savePipeline(store, { id: 'P', name: 'build' })
  assert.notEqual(first['updateTs'], second['updateTs'])
  await store.fails(400, 'POST', '/pipelines?staleCheck=true', first)
})

test('definitions-scenario 17: pipelines come back ordered and numbered without gaps', async (t) => {
  const store = await startStore(t)
  await savePipeline(store, { name: 'c', disabled: true })
  await savePipeline(store, { name: 'b' })
  await savePipeline(store, { name: 'b1', index: 1 })
  await savePipeline(store, { name: 'a1', index: 1 })
  const a3 = await savePipeline(store, { name: 'a3', index: 3, disabled: true })
  const shown = async (query: string) =>
    (await store.ok<Fields[]>('GET', `/pipelines/demo${query}`)).map(
      ({ name, index }) => `${name} ${index}`,
    )
  assert.deepEqual(await shown(''), ['a1 0', 'b1 1', 'a3 2', 'b 3', 'c 4'])
  assert.deepEqual(await shown('?enabledPipelines=true'), ['a1 0', 'b1 1', 'b 2'])
  assert.deepEqual(await shown('?pipelineNameFilter=A&pipelineLimit=1'), ['a1 0'])
  assert.equal((await store.ok('GET', `/pipelines/${a3['id']}/get`))['index'], 3)
})

for (const [family, kind] of [
  ['pipelines', 'pipeline'],
  ['strategies', 'strategy'],
]) {
  test(`definitions-scenario 18: reordering a ${kind} list changes all listed entries or none`, async (t) => {
    const store = await startStore(t)
    for (const [id, name, application, index] of [
      ['P', 'p', 'demo', 0],
      ['Q', 'q', 'demo', 1],
      ['X', 'x', 'other', 0],
    ]) {
      await store.ok('POST', `/${family}`, { id, name, application, index })
    }
    const reorder = `/actions/${family}/reorder`
    await store.ok('POST', reorder, { application: 'demo', idsToIndices: { P: 1, Q: 0 } })
    assert.deepEqual(await namesAt(store, `/${family}/demo`), ['q', 'p'])
    await store.fails(400, 'POST', reorder, {
      application: 'demo',
      idsToIndices: { P: 0, Q: 1, X: 5 },
    })
    await store.fails(404, 'POST', reorder, {
      application: 'demo',
      idsToIndices: { P: 0, nope: 1 },
    })
    await store.fails(400, 'POST', reorder, { idsToIndices: { P: 0 } })
    await store.fails(400, 'POST', reorder, { application: 'demo' })
    await store.fails(400, 'POST', reorder, { application: 'demo', idsToIndices: { P: 'first' } })
    assert.deepEqual(await namesAt(store, `/${family}/demo`), ['q', 'p'])
    assert.equal((await store.ok<unknown[]>('GET', `/${family}/P/history`)).length, 2)
  })
}

test('definitions-scenario 19: a batch saves what is right and reports the rest', async (t) => {
  const store = await startStore(t)
  await savePipeline(store, { id: 'X', name: 'taken' })
  const entries = [
    { application: 'demo', name: 'new' },
    { application: 'demo' },
    { application: 'demo', name: 'TAKEN', id: 'Y' },
    { application: 'demo', name: 'first', id: 'twice' },
    { application: 'demo', name: 'second', id: 'TWICE' },
  ]
  const report = await store.ok('POST', '/pipelines/batchUpdate', entries)
  assert.equal(report['successful_pipelines_count'], 2)
  assert.deepEqual(report['successful_pipelines'], ['new', 'first'])
  assert.equal(report['failed_pipelines_count'], 3)
  const failed = report['failed_pipelines'] as Fields[]
  assert.deepEqual(
    failed.map((entry) => entry['name']),
    [undefined, 'TAKEN', 'second'],
  )
  for (const entry of failed) assert.notEqual(entry['errorMsg'] ?? '', '')
  assert.equal((await store.ok<unknown[]>('GET', '/pipelines/demo')).length, 3)
})

test('a batch rejects repeated names and non-pipelines', async (t) => {
  const store = await startStore(t)
  const same = { application: 'demo', name: 'same' }
  const report = await store.ok('POST', '/pipelines/batchUpdate', [
    same,
    { ...same, name: ' SAME ' },
    7,
    { ...same, stages: 'x' },
  ])
  assert.equal(report['successful_pipelines_count'], 1)
  assert.equal(report['failed_pipelines_count'], 3)
  await store.fails(400, 'POST', '/pipelines/batchUpdate', { not: 'an array' })
})

test('definitions-scenario 20: a list is filtered by pipelines and by their triggers', async (t) => {
  const store = await startStore(t)
  await savePipeline(store, { name: 'A', triggers: [{ type: 'cron', enabled: true }] })
  await savePipeline(store, {
    name: 'B',
    triggers: [
      { type: 'cron', enabled: false },
      { type: 'git', enabled: 'TRUE' },
    ],
  })
  await savePipeline(store, {
    name: 'C',
    disabled: true,
    triggers: [{ type: 'cron', enabled: true }],
  })
  await savePipeline(store, { name: 'D' })
  const found = async (query: string) => (await namesAt(store, `/pipelines${query}`)).sort()
  assert.deepEqual(await found('?enabledPipelines=true&enabledTriggers=true&triggerTypes=cron'), [
    'A',
  ])
  assert.deepEqual(await found('?enabledPipelines=false'), ['C'])
  assert.deepEqual(await found('?triggerTypes=git,pubsub'), ['B'])
  assert.deepEqual(await found('?enabledTriggers=false'), ['B'])
  assert.deepEqual(await found('?restricted=false&refresh=true'), ['A', 'B', 'C', 'D'])
})

test('definitions-scenario 21: a finished pipeline triggers the enabled triggers on its status', async (t) => {
  const store = await startStore(t)
  await savePipeline(store, { id: 'P', name: 'parent' })
  const on = (trigger: Fields) => ({
    triggers: [{ type: 'pipeline', pipeline: 'P', application: 'demo', ...trigger }],
  })
  await savePipeline(store, { name: 'child', ...on({ enabled: true, status: ['successful'] }) })
  await savePipeline(store, { name: 'off', ...on({ enabled: 'false', status: ['successful'] }) })
  await savePipeline(store, { name: 'text', ...on({ enabled: true, status: 'successful' }) })
  await savePipeline(store, {
    name: 'disabled',
    disabled: 'true',
    ...on({ enabled: true, status: ['successful'] }),
  })
  await savePipeline(store, { name: 'no status', ...on({ enabled: true }) })
  assert.deepEqual(await namesAt(store, '/pipelines/triggeredBy/P/successful?restricted=false'), [
    'child',
  ])
  assert.deepEqual(await namesAt(store, '/pipelines/triggeredBy/p/successful/'), ['child'])
  assert.deepEqual(await namesAt(store, '/pipelines/triggeredBy/P/failed'), [])
})

test('definitions-scenario 22: the history of a deleted pipeline stays readable', async (t) => {
  const store = await startStore(t)
  for (const step of [1, 2, 3]) await savePipeline(store, { id: 'P', name: 'build', step })
  assert.deepEqual(await store.ask('DELETE', '/pipelines/demo/build', null), {
    status: 200,
    body: undefined,
  })
  await store.fails(404, 'GET', '/pipelines/P/get')
  const versions = await store.ok<Fields[]>('GET', '/pipelines/P/history?limit=10')
  assert.deepEqual(
    versions.map((version) => version['step']),
    [3, 2, 1],
  )
  await store.fails(404, 'GET', '/pipelines/P/history?limit=1')
  await store.fails(404, 'DELETE', '/pipelines/demo/build')
  assert.deepEqual(await store.ok('GET', '/pipelines/never/history'), [])
  await savePipeline(store, { id: 'P', name: 'build', step: 4 })
  assert.equal((await store.ok<unknown[]>('GET', '/pipelines/P/history')).length, 4)
})

test('definitions-scenario 23: of two concurrent saves with one new name, one is refused', async (t) => {
  const store = await startStore(t)
  const answers = await Promise.all(
    ['A', 'B'].map((id) =>
      store.ask('POST', '/pipelines', { id, application: 'demo', name: 'build' }),
    ),
  )
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 400])
})

test('definitions-scenario 24: a strategy is saved with an empty answer, and once', async (t) => {
  const store = await startStore(t)
  const strategy = { application: 'demo', name: 's', strategy: true, stages: [] }
  assert.equal(await store.ok('POST', '/strategies', strategy), undefined)
  await store.fails(400, 'POST', '/strategies', strategy)
  await store.fails(422, 'POST', '/strategies', { application: 'demo' })
  const list = await store.ok<Fields[]>('GET', '/strategies/demo')
  assert.equal(list.length, 1)
  assert.match(list[0]?.['id'] as string, uuid)
  const id = list[0]?.['id']
  assert.equal(
    (await store.ok('PUT', `/strategies/${id}`, { ...strategy, id, name: 't' }))['name'],
    't',
  )
  await store.fails(400, 'PUT', `/strategies/${id}`, { ...strategy, id: 'other' })
  await store.fails(404, 'PUT', '/strategies/none', { ...strategy, id: 'none' })
  await store.ok('POST', '/strategies/move', { application: 'demo', from: 'T', to: 'u' })
  assert.deepEqual(await namesAt(store, '/strategies'), ['u'])
  assert.equal((await store.ask('DELETE', '/strategies/demo/u')).status, 200)
  assert.deepEqual(await store.ok('GET', '/strategies/demo'), [])
})

test('definitions-scenario 27: the managed service account disappears with its pipeline', async (t) => {
  const store = await startStore(t)
  await savePipeline(store, { id: 'P', name: 'build' })
  await store.ok('POST', '/serviceAccounts', {
    name: 'P@managed-service-account',
    memberOf: ['ops'],
  })
  await store.ok('POST', '/serviceAccounts', { name: 'kept', memberOf: ['ops'] })
  await store.ok('DELETE', '/pipelines/demo/BUILD')
  assert.deepEqual(await namesAt(store, '/serviceAccounts'), ['kept'])
})

test('definitions-scenario 29: unknown fields come back unchanged, large numbers included', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/v2/applications', { name: 'demo', email: 'a@b.c', team: 'blue' })
  assert.equal((await store.ok('GET', '/v2/applications/demo'))['team'], 'blue')
  assert.equal(
    (await store.ok<Fields[]>('GET', '/v2/applications/demo/history?limit=5'))[0]?.['team'],
    'blue',
  )
  const text =
    '{"application":"demo","id":"P","name":"b","myField":{"x":1,"big":12345678901234567890,"nil":null}}'
  const saved = await fetch(`${store.url}/pipelines`, {
    method: 'POST',
    body: text,
    headers: { 'content-type': 'text/plain' },
  })
  const kept = '"myField":{"x":1,"big":12345678901234567890,"nil":null}'
  assert.ok((await saved.text()).includes(kept))
  for (const path of [
    '/pipelines',
    '/pipelines/demo',
    '/pipelines/P/get',
    '/pipelines/P/history',
    '/pipelines/demo/name/b',
  ]) {
    assert.ok((await (await fetch(store.url + path)).text()).includes(kept), path)
  }
})

test('moving a pipeline renames it and keeps everything else', async (t) => {
  const store = await startStore(t)
  await savePipeline(store, { id: 'P', name: 'build', extra: 1 })
  await savePipeline(store, { id: 'Q', name: 'taken' })
  await store.ok('POST', '/pipelines/move', { application: 'demo', from: 'BUILD', to: 'ship' })
  const moved = await store.ok('GET', '/pipelines/P/get')
  assert.equal(moved['name'], 'ship')
  assert.equal(moved['extra'], 1)
  await store.fails(404, 'POST', '/pipelines/move', { application: 'demo', from: 'build', to: 'x' })
  await store.fails(400, 'POST', '/pipelines/move', {
    application: 'demo',
    from: 'ship',
    to: 'Taken',
  })
  await store.fails(400, 'POST', '/pipelines/move', { application: 'demo', from: 'ship' })
})

test('a pipeline that moves to another application leaves the first', async (t) => {
  const store = await startStore(t)
  const saved = await savePipeline(store, { id: 'P', name: 'build' })
  await savePipeline(store, { application: 'full', name: 'build' })
  await store.fails(400, 'PUT', '/pipelines/P', { ...saved, application: 'full' })
  await store.ok('PUT', '/pipelines/P', { ...saved, application: 'free' })
  assert.deepEqual(await namesAt(store, '/pipelines/demo'), [])
  assert.deepEqual(await namesAt(store, '/pipelines/FREE'), ['build'])
})

const stage = (refId: unknown, ...requisiteStageRefIds: unknown[]) => ({
  refId,
  requisiteStageRefIds,
  name: `stage ${refId}`,
  type: 'wait',
})

test('a history keeps the newest versions, and every snapshot', async (t) => {
  const store = await startStore(t, { settings: { limits: { ...defaults.limits, versions: 2 } } })
  for (const email of ['1@a', '2@a', '3@a']) {
    await store.ok('POST', '/pipelines', { id: 'p', application: 'demo', name: 'build', email })
    await store.ok('POST', '/snapshots', {
      application: 'demo',
      account: 'prod',
      infrastructure: { email },
    })
  }
  const versions = (await store.ok('GET', '/pipelines/p/history')) as JsonObject[]
  assert.deepEqual(
    versions.map(({ email }) => email),
    ['3@a', '2@a'],
  )
  assert.equal(((await store.ok('GET', '/snapshots/demo-prod/history')) as JsonObject[]).length, 3)
})

test('what the engine would refuse for its size is not saved', async (t) => {
  const limits = { ...defaults.limits, stages: 3, requisites: 4, entries: 2, bytes: 1000 }
  const store = await startStore(t, { settings: { limits } })
  const refs = ['1', '2', '3', '4']
  for (const path of ['/pipelines', '/strategies']) {
    for (const [stages, named] of [
      [refs.map((ref) => stage(ref)), /4 stages; 3 are allowed.*pipelines\.max-stages/],
      [
        [stage('1'), stage('2', '1', '1', '1'), stage('3', '1', '2')],
        /5 dependencies.*pipelines\.max-requisites/,
      ],
      [[{ ...stage('1'), pad: 'x'.repeat(1000) }], /bytes; 1000 are allowed.*pipelines\.max-size/],
    ] as const) {
      const refused = await store.fails(400, 'POST', path, {
        application: 'demo',
        name: 'large',
        stages,
      })
      assert.match(refused['message'] as string, named)
    }
    for (const list of ['triggers', 'parameterConfig', 'notifications', 'expectedArtifacts']) {
      const three = ['a', 'b', 'c'].map((name) => ({ type: 'cron', name }))
      const refused = await store.fails(400, 'POST', path, {
        application: 'demo',
        name: 'long',
        [list]: three,
      })
      assert.match(
        String(refused['message']),
        new RegExp(`"${list}" of the pipeline has 3 entries; 2 are.*pipelines\\.max-entries`),
      )
    }
    assert.deepEqual(await store.ok('GET', path), [])
  }
})

test('templates, projects and notifications have short lists', async (t) => {
  const store = await startStore(t, {
    settings: { limits: { ...defaults.limits, stages: 3, entries: 2 } },
  })
  const three = ['a', 'b', 'c']
  const triggers = three.map((id) => ({ type: 'webhook', id }))
  const stages = ['1', '2', '3', '4'].map((ref) => stage(ref))
  const scopes = { metadata: { scopes: ['global'] } }
  for (const [path, body, named] of [
    [
      '/v2/pipelineTemplates',
      { id: 't', schema: 'v2', ...scopes, pipeline: { triggers } },
      /"triggers" .* 3 entries/,
    ],
    [
      '/v2/pipelineTemplates',
      { id: 't', schema: 'v2', ...scopes, pipeline: { stages } },
      /4 stages; 3 are allowed/,
    ],
    [
      '/v2/pipelineTemplates',
      { id: 't', schema: 'v2', ...scopes, variables: three, pipeline: {} },
      /"variables"/,
    ],
    [
      '/pipelineTemplates',
      { id: 't', ...scopes, configuration: { triggers } },
      /"triggers" of the template/,
    ],
    ['/pipelineTemplates', { id: 't', ...scopes, stages }, /4 stages/],
    [
      '/v2/projects',
      { name: 'p', config: { applications: three } },
      /"applications" of the project/,
    ],
    [
      '/v2/projects',
      { name: 'p', config: { clusters: [{ account: 'a', applications: three }] } },
      /"applications" of/,
    ],
    [
      '/notifications/application/demo',
      { email: three.map((address) => ({ address })) },
      /"email" of the record/,
    ],
  ] as const) {
    const refused = await store.fails(400, 'POST', path, body)
    assert.match(String(refused['message']), named)
  }
  for (const path of ['/pipelineTemplates', '/v2/projects', '/notifications'])
    assert.deepEqual(await store.ok('GET', path), [])
})
