/** Executions, tasks and expressions: look-ups beforehand, passed-on calls, and their answers. */
import assert from 'node:assert/strict'
import { request as sendRaw } from 'node:http'
import { test } from 'node:test'
import { brokenOff, InTurn, Reply } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Asked, annMayLogIn, asAnn, askUntil, startServices } from './contract.ts'

const execution = { id: '01E', application: 'shop', name: 'Deploy' }

test('without ids the list is empty without a call', async (t) => {
  const platform = await startServices(t, {})
  for (const query of ['', '?limit=2', '?pipelineConfigIds=&executionIds=', '?executionIds=%20']) {
    assert.deepEqual(
      await platform.ask(`GET /executions${query}`).then(({ status, body }) => [status, body]),
      [200, []],
    )
  }
  assert.deepEqual(platform.calls(), [])
})

test('executions are found by their own ids', async (t) => {
  const platform = await startServices(t, { 'orca GET /pipelines': [execution] })
  assert.deepEqual((await platform.ask('GET /executions?executionIds=01E&limit=1')).body, [
    execution,
  ])
  assert.deepEqual(platform.calls(), ['orca GET /pipelines?executionIds=01E&limit=1&expand=true'])
})

test('both kinds of ids are for the orchestrator to refuse', async (t) => {
  const platform = await startServices(t, {
    'orca GET /pipelines': new Reply(400, { message: 'one of them' }),
  })
  assert.equal(
    (await platform.ask('GET /executions?executionIds=a&pipelineConfigIds=b')).status,
    400,
  )
})

test('a limit of 0 means the configured default', async (t) => {
  const platform = await startServices(
    t,
    { 'orca GET /v2/applications/shop/pipelines': [] },
    { gate: { execution: { fetch: { limit: 4 } } } },
  )
  for (const query of ['', '?limit=0', '?limit=7', '?statuses='])
    await platform.ask(`GET /applications/shop/pipelines${query}`)
  const path = 'orca GET /v2/applications/shop/pipelines'
  assert.deepEqual(platform.calls(), [
    `${path}?limit=4`,
    `${path}?limit=4`,
    `${path}?limit=7`,
    `${path}?limit=4`,
  ])
})

test('an execution is passed on byte by byte', async (t) => {
  const text = '{"id":"01E",  "big":12345678901234567890, "rate":1.0, "z":1,"a":null}'
  const platform = await startServices(t, { 'orca GET /pipelines/01E': text })
  const answer = await fetch(`${platform.url}/pipelines/01E`)
  assert.equal(await answer.text(), text)
})

test('an unknown execution is 404; other errors keep their status', async (t) => {
  const platform = await startServices(t, {
    'orca GET /pipelines/forbidden': new Reply(403),
    'orca GET /pipelines/broken': new Reply(500),
  })
  const unknown = await platform.ask('GET /pipelines/nope')
  assert.equal(unknown.status, 404)
  assert.match((unknown.body as { message: string }).message, /"nope"/)
  assert.equal((await platform.ask('GET /pipelines/forbidden')).status, 403)
  assert.equal((await platform.ask('GET /pipelines/broken')).status, 500)
})

test("an execution's application is looked up with four retries", async (t) => {
  const rows: [what: string, answers: InTurn, lookups: number, application: string | undefined][] =
    [
      ['two failures', new InTurn(new Reply(500), new Reply(503), execution), 3, 'shop'],
      ['a broken connection', new InTurn(brokenOff, brokenOff, execution), 3, 'shop'],
      ['nothing but failures', new InTurn(new Reply(500)), 5, undefined],
      ['404', new InTurn(new Reply(404), execution), 1, undefined],
      ['400', new InTurn(new Reply(400), execution), 1, undefined],
      ['nonsense', new InTurn('nonsense', execution), 1, undefined],
      ['an execution without application', new InTurn({ id: '01E' }, execution), 1, undefined],
    ]
  const platform = await startServices(t, {})
  for (const [what, answers, lookups, application] of rows) {
    await t.test(what, async () => {
      platform.next({
        'orca GET /pipelines/01E': answers,
        'orca PUT /pipelines/01E/pause': new Reply(202),
      })
      assert.equal((await platform.ask('PUT /pipelines/01E/pause')).status, 200)
      assert.equal(platform.calls().length, lookups + 1)
      assert.equal(
        platform.upstream.requests.at(-1)?.headers['x-spinnaker-application'],
        application,
      )
    })
  }
})

test('the application of a task is asked for once', async (t) => {
  const platform = await startServices(t, {
    'orca GET /tasks/01T': new Reply(500),
    'orca DELETE /tasks/01T': new Reply(200),
  })
  assert.equal((await platform.ask('DELETE /tasks/01T')).status, 200)
  assert.deepEqual(platform.calls(), ['orca GET /tasks/01T', 'orca DELETE /tasks/01T'])
})

test('a running execution is not deleted', async (t) => {
  const platform = await startServices(t, {})
  for (const status of [405, 409]) {
    const refusal = new Reply(status, { message: 'still running' })
    platform.next({ 'orca DELETE /tasks/01T': refusal, 'orca DELETE /pipelines/01E': refusal })
    assert.equal((await platform.ask('DELETE /tasks/01T')).status, status)
    assert.equal((await platform.ask('DELETE /pipelines/01E')).status, status)
  }
})

test('a restart without a stored definition sends the body', async (t) => {
  const platform = await startServices(t, {
    'orca GET /pipelines/01E': execution,
    'front50 GET /pipelines/shop': [{ name: 'Other' }],
    'orca PUT /pipelines/01E/stages/s1/restart': execution,
  })
  assert.equal(
    (await platform.ask('PUT /pipelines/01E/stages/s1/restart', { skip: false })).status,
    200,
  )
  assert.deepEqual(platform.sent('orca PUT /pipelines/01E/stages/s1/restart'), { skip: false })
})

test('ids of tasks to cancel must not be empty', async (t) => {
  const platform = await startServices(t, {})
  for (const query of ['', '?ids=', '?ids=,', '?ids=%20']) {
    assert.equal((await platform.ask(`PUT /tasks/cancel${query}`)).status, 400, query)
  }
  assert.deepEqual(platform.calls(), [])
})

test('a task keeps every digit and names its type', async (t) => {
  const platform = await startServices(t, { 'orca POST /ops': { ref: '/tasks/01T' } })
  const text = '{"application":"shop","job":[{"type":"wait","n":12345678901234567890}]}'
  await platform.ask('POST /tasks', text)
  const [submitted] = platform.upstream.requests
  assert.equal(submitted?.body, text)
  assert.equal(submitted?.headers['x-spinnaker-execution-type'], 'orchestration')
})

test('a task that changes an application refreshes the list', async (t) => {
  const lists = {
    'front50 GET /v2/applications': new InTurn([], [{ name: 'FRESH' }]),
    'orca POST /ops': { ref: '/tasks/01T' },
  }
  const platform = await startServices(t, lists, {
    services: { front50: { applicationRefreshIntervalMs: 60_000 } },
  })
  const list = () => platform.ask('GET /applications')
  const hasFresh = ({ body }: Asked) => (body as unknown[]).length === 1
  await waitUntil(
    () => platform.upstream.background.some(({ path }) => path === '/front50/v2/applications'),
    'the refresh',
  )
  assert.ok(!hasFresh(await list()))
  await platform.ask('POST /tasks', { application: 'fresh', job: [{ type: 'createApplication' }] })
  assert.ok(hasFresh(await askUntil(list, hasFresh)))
})

test('executions of a project are filtered by READ', async (t) => {
  const view = {
    name: 'ann',
    applications: [
      { name: 'shop', authorizations: ['READ'] },
      { name: 'bank', authorizations: [] },
    ],
  }
  const platform = await startServices(
    t,
    {
      'fiat GET /authorize/ann': view,
      'orca GET /projects/all/pipelines': [
        execution,
        { id: '02E', application: 'bank' },
        { id: '03E' },
      ],
    },
    { ...annMayLogIn, services: { fiat: {} } },
  )
  assert.deepEqual((await platform.ask('GET /projects/all/pipelines', undefined, asAnn)).body, [
    execution,
  ])
})

const evaluate = '/pipelines/01E/evaluateExpression'
const evaluated = { result: 2, detail: null }

test('an expression comes from body text, body field, or query', async (t) => {
  const platform = await startServices(t, { [`orca GET ${evaluate}`]: evaluated })
  const text = { 'content-type': 'text/plain' }
  const rows: [
    line: string,
    body: unknown,
    headers: Record<string, string> | undefined,
    expression: string,
  ][] = [
    [`POST ${evaluate}?expression=q`, 'a + "b" é', text, 'a + "b" é'],
    [`POST ${evaluate}?expression=q`, { expression: 'j' }, undefined, 'j'],
    [`POST ${evaluate}?expression=q`, { other: 1 }, undefined, 'q'],
    [`POST ${evaluate}?expression=q`, undefined, undefined, 'q'],
    [`PATCH ${evaluate}?expression=q`, undefined, undefined, 'q'],
  ]
  for (const [line, body, headers, expression] of rows) {
    platform.next()
    const answer = await platform.ask(line, body, headers)
    assert.deepEqual([answer.status, answer.body], [200, evaluated])
    assert.equal(
      new URLSearchParams(platform.upstream.requests[0]?.query).get('expression'),
      expression,
    )
    assert.equal(platform.upstream.requests[0]?.method, 'GET')
  }
})

test('without an expression nothing is evaluated, deleted or started', async (t) => {
  const platform = await startServices(t, { [`orca GET ${evaluate}`]: evaluated })
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
    assert.equal((await platform.ask(`${method} ${evaluate}`)).status, 400, method)
  }
  assert.equal((await platform.ask(`POST ${evaluate}`, { expression: 7 })).status, 400)
  assert.deepEqual(platform.calls(), [])
})

test('OPTIONS evaluates an expression, but not for a preflight', async (t) => {
  const platform = await startServices(t, { [`orca GET ${evaluate}`]: evaluated })
  const bare = await platform.ask(`OPTIONS ${evaluate}`)
  assert.equal(bare.status, 200)
  for (const method of ['GET', 'POST', 'DELETE'])
    assert.ok(bare.headers.get('allow')?.includes(method))
  const status = await preflight(`${platform.url}${evaluate}?expression=1`)
  assert.equal(status, 200)
  assert.deepEqual(platform.calls(), [])
  assert.deepEqual((await platform.ask(`OPTIONS ${evaluate}?expression=1`)).body, evaluated)
})

test('OPTIONS evaluates for logged-in users only', async (t) => {
  const platform = await startServices(t, { [`orca GET ${evaluate}`]: evaluated }, annMayLogIn)
  const stranger = await platform.ask(`OPTIONS ${evaluate}?expression=1`)
  assert.notEqual(stranger.body, evaluated)
  assert.deepEqual(platform.calls(), [])
  assert.deepEqual(
    (await platform.ask(`OPTIONS ${evaluate}?expression=1`, undefined, asAnn)).body,
    evaluated,
  )
})

test('an execution that is unknown to the evaluation is named', async (t) => {
  const platform = await startServices(t, {})
  for (const method of ['GET', 'POST']) {
    const { status, body } = await platform.ask(`${method} ${evaluate}?expression=1`)
    assert.equal(status, 404)
    assert.match((body as { message: string }).message, /"01E"/)
  }
})

/** Sends what a browser sends before a cross-origin request; fetch refuses to. */
function preflight(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { origin: 'http://localhost:9000', 'access-control-request-method': 'POST' }
    const sent = sendRaw(url, { method: 'OPTIONS', headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.on('error', reject)
    sent.end()
  })
}
