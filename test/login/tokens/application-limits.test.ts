/** A token for some applications reaches what is about them, by path, parameter, body or id, and nothing else. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { type RecordedRequest, Reply, startUpstream } from '../../support/upstream.ts'
import { createToken, sendJson, startWithTokens, withToken } from './support.ts'

const backends = ['orca', 'front50', 'clouddriver', 'echo', 'keel'] as const

/** Executions, tasks and definitions whose id begins with `web` belong to web; those of `other`, to other. */
function answer({ method, path }: RecordedRequest): unknown {
  const id = /^\/(?:pipelines|tasks)\/(web|other|none)/.exec(path)?.[1]
  if (method === 'GET' && id !== undefined) {
    const found = { id: `${id}1`, application: id, status: 'SUCCEEDED', variables: [] }
    if (id === 'none') return new Reply(404, {})
    return path.endsWith('/history') ? [found] : found
  }
  return method === 'GET' ? [] : { ref: '/tasks/web1', id: 'web1', status: 'SUCCEEDED' }
}

test('a token for an application reaches that application, and no other', async (t) => {
  const upstream = await startUpstream(t, answer)
  const services = Object.fromEntries(backends.map((name) => [name, { baseUrl: upstream.url }]))
  const { url, logIn } = await startWithTokens(t, { services })
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'ci', applications: ['Web'] })
  const program = withToken(url, token)
  const rows: [line: string, body?: unknown][] = [
    ['GET /version'],
    ['GET /auth/user'],
    ['GET /credentials'],
    ['GET /applications/web/pipelines'],
    ['GET /applications/WEB/tasks'],
    ['GET /pipelines/web1'],
    ['PUT /pipelines/web1/cancel'],
    ['PUT /applications/web/pipelines/web1/cancel'],
    ['GET /tasks/web1'],
    ['POST /pipelines', { application: 'web', name: 'p', stages: [] }],
    ['POST /tasks', { application: 'web', job: [{ type: 'wait' }] }],
    ['POST /pipelines/start', { application: 'web', name: 'p', stages: [] }],
    ['POST /notifications/application/web', { application: 'web' }],
    ['PUT /tasks/cancel?ids=web1'],
    ['POST /pipelines/bulksave', [{ application: 'web', name: 'p' }]],
    ['POST /pipelines/move', { application: 'web', from: 'a', to: 'b' }],
    ['GET /pipelineConfigs/web1/history'],
    ['GET /executions/failedStages?executionId=web1'],
    ['POST /pipelines/any/evaluateVariables?executionId=web1', []],
    ['POST /pipelines/start', { application: 'web', name: 'p', stages: [], trigger: { parentPipelineId: 'web2' } }],
    ['GET /images/prod/eu/ami-1'],
    ['GET /health'],
  ]
  for (const [line, body] of rows) {
    const [method, path] = line.split(' ') as [string, string]
    const answered = body === undefined ? await program.visit(path, { method }) : await sendJson(program, method, path, body)
    assert.ok(answered.status < 300, `${line}: ${answered.status} ${answered.text}`)
  }
})

test('requests about another or no application are rejected', async (t) => {
  const upstream = await startUpstream(t, answer)
  const services = Object.fromEntries(backends.map((name) => [name, { baseUrl: upstream.url }]))
  const { url, logIn } = await startWithTokens(t, { services })
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'ci', applications: ['web'] })
  const program = withToken(url, token)
  const rows: [line: string, body?: unknown][] = [
    ['GET /applications'],
    ['GET /executions?executionIds=web1'],
    ['GET /search?q=web&type=applications'],
    ['GET /projects'],
    ['GET /auth/sessions'],
    ['GET /applications/other/pipelines'],
    ['GET /pipelines/other1'],
    ['GET /pipelines/none1'],
    ['PUT /pipelines/other1/cancel'],
    ['PUT /applications/web/pipelines/other1/cancel'],
    ['DELETE /tasks/other1'],
    ['GET /applications/web/pipelineConfigs/other1'],
    ['POST /pipelines/web/other1', {}],
    ['PUT /pipelines/web1', { application: 'web', id: 'other1', name: 'p' }],
    ['POST /pipelines', { application: 'other', name: 'p' }],
    ['POST /pipelines', { application: 'web', id: 'other1', name: 'p' }],
    ['POST /pipelines', { application: 'web', name: 'p', stages: [{ clusters: [{ application: 'other' }] }] }],
    ['POST /pipelines/bulksave', [{ application: 'web' }, { application: 'other' }]],
    ['POST /pipelines/start', { name: 'p' }],
    ['POST /tasks', { job: [] }],
    ['POST /tasks', { application: 'web', job: [{ type: 'createApplication', application: { name: 'other' } }] }],
    ['POST /applications/web/tasks', { application: 'other', job: [] }],
    ['POST /notifications/application/web', { application: 'other' }],
    ['POST /credentials', { type: 'local' }],
    ['POST /pipelines/start', { application: 'web', name: 'p', trigger: { parentPipelineId: 'other1' } }],
    ['POST /pipelines/start', { application: 'web', name: 'p', trigger: { parentPipelineId: "${'other1'}" } }],
    ['POST /pipelines/web/p', { parentPipelineId: 'other1' }],
    ['POST /pipelines/web/p', { trigger: { parentPipelineId: 'other1' } }],
    ['POST /pipelines/v2/web/p', { parentPipelineId: 'other1' }],
    ['POST /tasks', { application: 'web', job: [], trigger: { parentPipelineId: 'other1' } }],
    ['POST /applications/web/tasks', { job: [{ type: 'wait', executionId: 'other1' }] }],
    ['POST /pipelines', { application: 'web', name: 'p', triggers: [{ type: 'pipeline', pipeline: 'other1' }] }],
    ['POST /pipelines', { application: 'web', name: 'p', stages: [{ type: 'monitorPipeline', executionIds: ['other1'] }] }],
    ['PATCH /pipelines/web1/stages/s', { pipeline: 'other1' }],
    ['POST /pipelines/any/evaluateVariables?executionId=other1', []],
    ['PUT /tasks/cancel?ids=web1,other1'],
  ]
  for (const [line, body] of rows) {
    upstream.answer(answer)
    const [method, path] = line.split(' ') as [string, string]
    const answered = body === undefined ? await program.visit(path, { method }) : await sendJson(program, method, path, body)
    assert.equal(answered.status, 403, `${line}: ${answered.text}`)
    assert.match(answered.text, /The API token does not allow this/)
    assert.ok(
      upstream.requests.every((request) => request.method === 'GET'),
      line,
    )
  }
})

test('lists are asked for once for all that a body names', async (t) => {
  const upstream = await startUpstream(t, answer)
  const services = Object.fromEntries(backends.map((name) => [name, { baseUrl: upstream.url }]))
  const { url, logIn } = await startWithTokens(t, { services })
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'ci', applications: ['web'] })
  const program = withToken(url, token)
  const stages = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ type: 'pipeline', pipeline: `web${index % 10}-${index}` }))
  const save = (count: number) =>
    sendJson(program, 'POST', '/pipelines/bulksave', [{ application: 'web', name: 'p', stages: stages(count) }])

  upstream.answer(answer)
  assert.ok((await save(20)).status < 300)
  assert.equal(upstream.requests.filter(({ path }) => path === '/strategies').length, 1)
})

test('large numbers in a body survive being looked into', async (t) => {
  const upstream = await startUpstream(t, answer)
  const { url, logIn } = await startWithTokens(t, { services: { front50: { baseUrl: upstream.url } } })
  const { token } = await createToken(await logIn('alice', ['dev']), { name: 'ci', applications: ['web'] })

  await withToken(url, token).visit('/notifications/application/web', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"application":"web","number":12345678901234567890}',
  })

  assert.match(upstream.requests.at(-1)?.body ?? '', /12345678901234567890/)
})
