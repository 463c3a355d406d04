/** Pipeline definitions: lookups by name and id, and changes that are tasks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InTurn, Reply } from '../../support/upstream.ts'
import { type ServiceAnswers, startServices } from './contract.ts'

const definition = { id: 'p1', name: 'Deploy', application: 'shop' }
const submitted = { 'orca POST /ops': { ref: '/tasks/01T' } }
const succeeded = { ...submitted, 'orca GET /tasks/01T': { id: '01T', status: 'SUCCEEDED' } }

function submittedDefinition(ops: unknown): string {
  const [job] = (ops as { job: { pipeline: string }[] }).job
  return Buffer.from(job?.pipeline ?? '', 'base64').toString('utf8')
}

test('a definition is found by its id after its name', async (t) => {
  const byName = 'front50 GET /pipelines/shop/name/p1?refresh=true'
  const byId = 'front50 GET /pipelines/p1/get'
  const rows: [what: string, answers: ServiceAnswers, status: number][] = [
    ['404, then the id', { [byId]: definition }, 200],
    ['another name, then the id', { [byName]: { name: 'P1', id: 'p9' }, [byId]: definition }, 200],
    ['404, then another id', { [byId]: { ...definition, id: 'P1' } }, 404],
    ['404 twice', {}, 404],
    ['404, then 403', { [byId]: new Reply(403) }, 403],
  ]
  const platform = await startServices(t, {})
  for (const [what, answers, status] of rows) {
    await t.test(what, async () => {
      platform.next(answers)
      const answer = await platform.ask('GET /applications/shop/pipelineConfigs/p1')
      assert.equal(answer.status, status)
      assert.deepEqual(platform.calls(), [byName, byId])
      if (status === 200) assert.deepEqual(answer.body, definition)
      if (status === 404) assert.match((answer.body as { message: string }).message, /shop.*"p1"/)
    })
  }
})

test('an error of the lookup by name is final', async (t) => {
  const platform = await startServices(t, {
    'front50 GET /pipelines/shop/name/p1': new Reply(403, { message: 'no READ' }),
  })
  assert.equal((await platform.ask('GET /applications/shop/pipelineConfigs/p1')).status, 403)
  assert.equal(platform.calls().length, 1)
})

test('a saved definition keeps every digit and unknown field', async (t) => {
  const platform = await startServices(t, succeeded)
  const text =
    '{"application":"shop","name":"Dé","serial":12345678901234567890,"rate":1e3,"list":[9007199254740993],"unknown":{"x":null}}'
  const { status, body } = await platform.ask('POST /pipelines', text)
  assert.equal(status, 200)
  assert.equal(body, undefined)
  assert.equal(submittedDefinition(platform.sent('orca POST /ops')), text)
})

test('staleCheck travels in the job, and is false unless given', async (t) => {
  const platform = await startServices(t, succeeded)
  for (const [query, wanted] of [
    ['', false],
    ['?staleCheck=true', true],
    ['?staleCheck=0', false],
  ] as const) {
    platform.next()
    await platform.ask(`POST /pipelines${query}`, definition)
    assert.equal(
      (platform.sent('orca POST /ops') as { job: { staleCheck: boolean }[] }).job[0]?.staleCheck,
      wanted,
    )
  }
})

test('a definition without application is refused before anything is submitted', async (t) => {
  const platform = await startServices(t, succeeded)
  for (const body of [
    { name: 'x' },
    { name: 'x', application: ' ' },
    { name: 'x', application: 7 },
  ]) {
    const { status, body: error } = await platform.ask('POST /pipelines', body)
    assert.equal(status, 400)
    assert.match((error as { detail: string }).detail, /application/)
  }
  assert.deepEqual(platform.calls(), [])
})

test('a task is polled until it ends, in whatever way', async (t) => {
  const patience = { maxNumberOfPolls: 5000, defaultIntervalBetweenPolls: 20 }
  const platform = await startServices(t, {}, { 'task-service': patience })
  for (const status of ['TERMINAL', 'CANCELED', 'STOPPED', 'FAILED_CONTINUE', 'SKIPPED']) {
    await t.test(status, async () => {
      const polls = new InTurn({ status: 'NOT_STARTED' }, { status: 'RUNNING' }, { status })
      platform.next({ ...submitted, 'orca GET /tasks/01T': polls })
      const { status: got, body } = await platform.ask('POST /pipelines', definition)
      assert.equal(got, 400)
      assert.match((body as { message: string }).message, new RegExp(`01T.*${status}`))
      assert.equal(platform.calls().length, 4)
    })
  }
})

test('a task that fails is told in its own words', async (t) => {
  const variables = [
    { key: 'other', value: 1 },
    { key: 'exception', value: { details: { errors: ['The pipeline is stale', 'second'] } } },
  ]
  const platform = await startServices(t, {
    ...submitted,
    'orca GET /tasks/01T': { status: 'TERMINAL', variables },
  })
  const { status, body } = await platform.ask('PUT /pipelines/p1', definition)
  assert.equal(status, 400)
  assert.equal((body as { message: string }).message, 'The pipeline is stale')
})

test('a task that is not over in time is 400', async (t) => {
  const settings = { 'task-service': { maxNumberOfPolls: 4, defaultIntervalBetweenPolls: 50 } }
  const platform = await startServices(
    t,
    { ...submitted, 'orca GET /tasks/01T': { status: 'RUNNING' } },
    settings,
  )
  const { status, body } = await platform.ask('POST /pipelines', definition)
  assert.equal(status, 400)
  assert.match((body as { message: string }).message, /01T.*RUNNING/)
  const [submission, ...looks] = platform.calls()
  assert.equal(submission, 'orca POST /ops')
  assert.deepEqual([...new Set(looks)], ['orca GET /tasks/01T'])
  // The time is the bound: a slow gateway polls less often.
  assert.ok(looks.length <= 4, `${looks.length} looks`)
})

test('a submission that names no task is a failure at once', async (t) => {
  const platform = await startServices(t, { 'orca POST /ops': {} })
  assert.equal((await platform.ask('POST /pipelines', definition)).status, 400)
  assert.deepEqual(platform.calls(), ['orca POST /ops'])
})

test('the id of the path decides which definition is updated', async (t) => {
  const platform = await startServices(t, {
    ...succeeded,
    'front50 GET /pipelines/shop': [{ id: 'p1', name: 'stored' }],
  })
  const { id, ...withoutId } = definition
  for (const body of [withoutId, { ...withoutId, id: null }, { ...withoutId, id: '' }]) {
    platform.next()
    const answer = await platform.ask(`PUT /pipelines/${id}`, body)
    assert.deepEqual(answer.body, { id, name: 'stored' })
    assert.equal(
      (JSON.parse(submittedDefinition(platform.sent('orca POST /ops'))) as { id: string }).id,
      id,
    )
  }
})

test('a definition with another id than the path is refused', async (t) => {
  const platform = await startServices(t, succeeded)
  const { status, body } = await platform.ask('PUT /pipelines/p2', definition)
  assert.equal(status, 400)
  assert.match((body as { message: string }).message, /"p1".*"p2"/)
  assert.deepEqual(platform.calls(), [])
})

test('an update of a missing definition answers with nothing', async (t) => {
  const platform = await startServices(t, { ...succeeded, 'front50 GET /pipelines/shop': [] })
  const { status, body, headers } = await platform.ask('PUT /pipelines/p1', definition)
  assert.deepEqual([status, body, headers.get('content-type')], [200, undefined, null])
})

test('deleting a pipeline that does not exist succeeds without a task', async (t) => {
  const platform = await startServices(t, { 'front50 GET /pipelines/shop': [definition] })
  const { status, body } = await platform.ask('DELETE /pipelines/shop/other.pipe')
  assert.deepEqual([status, body], [200, undefined])
  assert.deepEqual(platform.calls(), ['front50 GET /pipelines/shop?refresh=true'])
})

test('a pipeline is deleted by its id, whatever its name is', async (t) => {
  const stored = { ...definition, id: 'p7', name: 'to staging/test' }
  const platform = await startServices(t, { ...succeeded, 'front50 GET /pipelines/shop': [stored] })
  assert.equal((await platform.ask('DELETE /pipelines/shop/p7')).status, 200)
  assert.ok(platform.calls().some((call) => call.startsWith('orca POST /ops')))
})

test('a rename and its refusal are passed on', async (t) => {
  const platform = await startServices(t, {
    'front50 POST /pipelines/move': new Reply(405, { message: 'gone' }),
  })
  assert.equal((await platform.ask('POST /pipelines/move', { from: 'a', to: 'b' })).status, 405)
})
