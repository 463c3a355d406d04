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
  const { token } = await createToken(await logIn('alice', ['dev']), {
    name: 'ci',
    applications: ['Web'],
  })
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
    [
      'POST /pipelines/start',
      { application: 'web', name: 'p', stages: [], trigger: { parentPipelineId: 'web2' } },
    ],
    ['GET /images/prod/eu/ami-1'],
    ['GET /health'],
  ]
  for (const [line, body] of rows) {
    const [method, path] = line.split(' ') as [string, string]
    const answered =
      body === undefined
        ? await program.visit(path, { method })
        : await sendJson(program, method, path, body)
    assert.ok(answered.status < 300, `${line}: ${answered.status} ${answered.text}`)
  }
})

test('requests about another or no application are rejected', async (t) => {
  const upstream = await startUpstream(t, answer)
  const services = Object.fromEntries(backends.map((name) => [name, { baseUrl: upstream.url }]))
  const { url, logIn } = await startWithTokens(t, { services })
  const { token } = await createToken(await logIn('alice', ['dev']), {
    name: 'ci',
    applications: ['web'],
  })
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
    [
      'POST /pipelines',
      { application: 'web', name: 'p', stages: [{ clusters: [{ application: 'other' }] }] },
    ],
    ['POST /pipelines/bulksave', [{ application: 'web' }, { application: 'other' }]],
    ['POST /pipelines/start', { name: 'p' }],
    ['POST /tasks', { job: [] }],
    [
      'POST /tasks',
      { application: 'web', job: [{ type: 'createApplication', application: { name: 'other' } }] },
    ],
    ['POST /applications/web/tasks', { application: 'other', job: [] }],
    ['POST /notifications/application/web', { application: 'other' }],
    ['POST /credentials', { type: 'local' }],
    [
      'POST /pipelines/start',
      { application: 'web', name: 'p', trigger: { parentPipelineId: 'other1' } },
    ],
    [
      'POST /pipelines/start',
      { application: 'web', name: 'p', trigger: { parentPipelineId: "${'other1'}" } },
    ],
    ['POST /pipelines/web/p', { parentPipelineId: 'other1' }],
    ['POST /pipelines/web/p', { trigger: { parentPipelineId: 'other1' } }],
    ['POST /pipelines/v2/web/p', { parentPipelineId: 'other1' }],
    ['POST /tasks', { application: 'web', job: [], trigger: { parentPipelineId: 'other1' } }],
    ['POST /applications/web/tasks', { job: [{ type: 'wait', executionId: 'other1' }] }],
    [
      'POST /pipelines',
      { application: 'web', name: 'p', triggers: [{ type: 'pipeline', pipeline: 'other1' }] },
    ],
    [
      'POST /pipelines',
      {
        application: 'web',
        name: 'p',
        stages: [{ type: 'monitorPipeline', executionIds: ['other1'] }],
      },
    ],
    ['PATCH /pipelines/web1/stages/s', { pipeline: 'other1' }],
    ['POST /pipelines/any/evaluateVariables?executionId=other1', []],
    ['PUT /tasks/cancel?ids=web1,other1'],
  ]
  for (const [line, body] of rows) {
    upstream.answer(answer)
    const [method, path] = line.split(' ') as [string, string]
    const answered =
      body === undefined
        ? await program.visit(path, { method })
        : await sendJson(program, method, path, body)
    assert.equal(answered.status, 403, `${line}: ${answered.text}`)
    assert.match(answered.text, /The API token does not allow this/)
    assert.ok(
      upstream.requests.every((request) => request.method === 'GET'),
      line,
    )
  }
})

/** Instances and jobs of web and of other; `grouped` says by its server group alone where it belongs. */
const deployed: Record<string, unknown> = {
  '/instances/prod/eu/i-web': { name: 'i-web', application: 'web' },
  '/instances/prod/eu/i-grouped': { name: 'i-grouped', serverGroup: 'web-main-v001' },
  '/instances/prod/eu/i-named': { name: 'i-named', moniker: { app: 'Web' } },
  '/instances/prod/eu/i-other': { name: 'i-other', application: 'other' },
  '/instances/prod/eu/i-others-group': { name: 'i-others-group', serverGroup: 'other-v001' },
  '/instances/prod/eu/i-single': { name: 'i-single' },
  '/manifests/prod/eu/deployment%20web': { name: 'deployment web', moniker: { app: 'web' } },
  '/manifests/prod/eu/deployment%20other': { name: 'deployment other', moniker: { app: 'other' } },
  '/applications/web/jobs/prod/eu/j-web': { name: 'j-web' },
}

test('instances and other names in a body are judged by their applications', async (t) => {
  const upstream = await startUpstream(t, (request) => {
    if (/^\/(?:instances|manifests|applications\/\w+\/jobs)\//.test(request.path))
      return deployed[request.path] ?? new Reply(404, {})
    return answer(request)
  })
  const services = Object.fromEntries(backends.map((name) => [name, { baseUrl: upstream.url }]))
  const { url, logIn } = await startWithTokens(t, { services })
  const { token } = await createToken(await logIn('alice', ['dev']), {
    name: 'ci',
    applications: ['web'],
  })
  const program = withToken(url, token)
  const submit = (job: Record<string, unknown>) =>
    sendJson(program, 'POST', '/tasks', {
      application: 'web',
      job: [{ account: 'prod', region: 'eu', ...job }],
    })

  for (const job of [
    { type: 'terminateInstances', instanceIds: ['i-web', 'i-grouped', 'i-named'] },
    { type: 'rebootInstances', account: undefined, credentials: 'prod', instanceIds: [' i-web '] },
    { type: 'terminateInstances', region: undefined, regions: ['eu'], instanceIds: ['i-web'] },
    { type: 'terminateInstances', zone: 'eu-a', instanceIds: ['i-web'] },
    {
      type: 'terminateInstanceAndDecrementServerGroup',
      instance: 'i-web',
      serverGroupName: 'web-main-v001',
    },
    { type: 'destroyJob', jobName: 'j-web', application: 'web' },
    { type: 'scaleManifest', region: undefined, location: 'eu', manifestName: 'deployment web' },
    { type: 'upsertLoadBalancers', loadBalancers: [{ name: 'web-front' }] },
  ]) {
    const { status, text } = await submit(job)
    assert.equal(status, 200, `${JSON.stringify(job)}: ${text}`)
  }
  const unknown = /no application is known for the (?:instance|manifest|job)/
  const others = /not meant for the application other/
  const refused: [job: Record<string, unknown>, says: RegExp][] = [
    [{ type: 'terminateInstances', instanceIds: ['i-other'] }, others],
    [
      {
        type: 'terminateInstances',
        instanceIds: ['i-web', 'i-others-group'],
        serverGroupName: 'web-main-v001',
      },
      others,
    ],
    [{ type: 'rebootInstances', instanceIds: [' i-other'] }, others],
    [{ type: 'wait', alias: 'terminateInstances', instanceIds: ['i-other'] }, others],
    [{ type: 'terminateInstances', instanceIds: ['i-nowhere'] }, unknown],
    [{ type: 'terminateInstances', instanceIds: ['i-single'] }, unknown],
    [{ type: 'terminateInstances', region: undefined, instanceIds: ['i-web'] }, unknown],
    [{ type: 'terminateInstances', credentials: 'test', instanceIds: ['i-web'] }, unknown],
    [
      {
        type: 'terminateInstances',
        region: undefined,
        regions: ['eu', 'us'],
        instanceIds: ['i-web'],
      },
      unknown,
    ],
    [{ type: 'terminateInstances', instanceIds: ["${'i-other'}"] }, /expression/],
    [{ type: 'terminateInstances', region: "${'eu'}", instanceIds: ['i-web'] }, /expression/],
    [{ type: 'terminateInstanceAndDecrementServerGroup', instance: 'i-other' }, others],
    [{ type: 'destroyJob', jobName: 'j-other', application: 'web' }, unknown],
    [{ type: 'destroyJob', jobId: 'j-web' }, unknown],
    [
      {
        type: 'deleteManifest',
        region: undefined,
        location: 'eu',
        manifestName: 'deployment other',
      },
      others,
    ],
    [
      {
        type: 'deleteManifest',
        region: undefined,
        location: 'eu',
        manifestName: 'deployment nowhere',
      },
      unknown,
    ],
    [{ type: 'deleteLoadBalancer', name: 'other-front' }, others],
    [
      {
        type: 'upsertLoadBalancers',
        loadBalancers: [{ name: 'web-front' }, { name: 'other-front' }],
      },
      others,
    ],
    [{ type: 'upsertSecurityGroup', name: 'other' }, others],
    [{ type: 'saveSnapshot', applicationName: 'other' }, others],
    [
      { type: 'rollbackServerGroup', rollbackContext: { restoreServerGroupName: 'other-v001' } },
      others,
    ],
    [
      { type: 'rollbackServerGroup', rollbackContext: { rollbackServerGroupName: 'other-v001' } },
      others,
    ],
    [{ type: 'deploy', strategyPipeline: 'other1' }, others],
  ]
  for (const [job, says] of refused) {
    upstream.answer(
      (request) =>
        deployed[request.path] ??
        (/jobs|instances|manifests/.test(request.path) ? new Reply(404, {}) : answer(request)),
    )
    const stage = { account: 'prod', region: 'eu', ...job }
    for (const refusal of [
      await submit(job),
      await sendJson(program, 'POST', '/pipelines', {
        application: 'web',
        name: 'p',
        stages: [stage],
      }),
    ]) {
      assert.equal(refusal.status, 403, JSON.stringify(job))
      assert.match(refusal.text, says, JSON.stringify(job))
    }
    assert.ok(upstream.requests.every(({ method }) => method === 'GET'))
  }
})

test('lists are asked for once for all that a body names', async (t) => {
  const upstream = await startUpstream(t, answer)
  const services = Object.fromEntries(backends.map((name) => [name, { baseUrl: upstream.url }]))
  const { url, logIn } = await startWithTokens(t, { services })
  const { token } = await createToken(await logIn('alice', ['dev']), {
    name: 'ci',
    applications: ['web'],
  })
  const program = withToken(url, token)
  const stages = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      type: 'pipeline',
      pipeline: `web${index % 10}-${index}`,
    }))
  const save = (count: number) =>
    sendJson(program, 'POST', '/pipelines/bulksave', [
      { application: 'web', name: 'p', stages: stages(count) },
    ])

  upstream.answer(answer)
  assert.ok((await save(20)).status < 300)
  assert.equal(upstream.requests.filter(({ path }) => path === '/strategies').length, 1)
})

test('large numbers in a body survive being looked into', async (t) => {
  const upstream = await startUpstream(t, answer)
  const { url, logIn } = await startWithTokens(t, {
    services: { front50: { baseUrl: upstream.url } },
  })
  const { token } = await createToken(await logIn('alice', ['dev']), {
    name: 'ci',
    applications: ['web'],
  })

  await withToken(url, token).visit('/notifications/application/web', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"application":"web","number":12345678901234567890}',
  })

  assert.match(upstream.requests.at(-1)?.body ?? '', /12345678901234567890/)
})
