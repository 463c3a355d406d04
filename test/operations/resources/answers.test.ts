/** Answers beyond a service's own: the version, messages, guaranteed lists, files. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Reply } from '../../support/upstream.ts'
import { startPlatform } from './platform.ts'

test('the version is what the package says', async (t) => {
  const platform = await startPlatform(t)
  const { status, body } = await platform.ask('GET /version')
  assert.deepEqual([status, body], [200, { version: '0.0.0-test' }])
})

test('stage types of an external orchestrator are not verified', async (t) => {
  const platform = await startPlatform(t)
  const { status, body } = await platform.ask('GET /capabilities/stageTypes')
  assert.equal(status, 200)
  const { engine, verified, stageTypes } = body as {
    engine: string
    verified: boolean
    stageTypes: Record<string, unknown>[]
  }
  assert.deepEqual([engine, verified, platform.calls()], ['external', false, []])
  const deploy = stageTypes.find(({ type }) => type === 'deploy')
  assert.deepEqual([deploy?.['label'], Object.hasOwn(deploy ?? {}, 'runsHere')], ['Deploy', false])
  assert.ok(
    stageTypes.some(({ type }) => type === 'kayentaCanary'),
    'types that only an Orca runs are described, too',
  )
})

test('cloud providers of an external infrastructure service are described as far as they differ', async (t) => {
  const platform = await startPlatform(t)
  const { status, body } = await platform.ask('GET /capabilities/cloudProviders')
  assert.deepEqual(
    [status, (body as { id: string }[]).map(({ id }) => id), platform.calls()],
    [200, ['kubernetes'], []],
  )
})

const missing = [
  ['GET /projects/nope', /no project with the name or id nope/],
  ['GET /manifests/prod/ns/deployment%20web', /Unable to find deployment web in prod\/ns/],
  ['GET /pipelines/e1/s1/evaluateExpression?expression=x', /no stage s1 in an execution e1/],
  ['GET /v3/builds/ci-main/jobs', /The build host ci-main is not known/],
  ['GET /v3/builds/ci-main/job?job=a/b', /The job ci-main, a\/b is not known/],
  ['GET /v3/builds/ci-main/builds?job=a', /The job ci-main, a is not known/],
  ['GET /v3/builds/ci-main/build/7?job=a', /The build ci-main, 7, a is not known/],
] as const

test('builds-scenario 26: what does not exist is named in the 404', async (t) => {
  const platform = await startPlatform(t)
  for (const [line, fragment] of missing) {
    await t.test(line, async () => {
      const { status, body } = await platform.ask(line)
      assert.equal(status, 404)
      assert.match((body as { message: string }).message, fragment)
    })
  }
})

test('builds-scenario 25 and 28: builds of a job by query, and a failure of their server', async (t) => {
  let isDown = false
  const builds = [{ number: 7, building: true }]
  const platform = await startPlatform(t, { answers: () => (isDown ? new Reply(500) : builds) })
  const line = 'GET /v3/builds/ci-main/builds'
  const { status, body } = await platform.ask(`${line}?job=team/job/svc`)
  assert.deepEqual([status, body], [200, builds])
  assert.deepEqual(platform.calls(), ['igor GET /builds/all/ci-main/team/job/svc'])
  assert.equal((await platform.ask(line)).status, 400)
  isDown = true
  assert.equal((await platform.ask(`${line}?job=team/job/svc`)).status, 500)
})

const absent = [
  'GET /pipelineConfigs/gone/history?limit=1',
  'GET /strategyConfigs/gone/history?limit=1',
  'GET /projects',
  'GET /artifactory/names',
  'GET /gcb/accounts',
  'GET /concourse/c1/teams',
]

test('a list is empty if the service has none', async (t) => {
  const platform = await startPlatform(t)
  for (const line of absent) {
    await t.test(line, async () => {
      const { status, body } = await platform.ask(line)
      assert.deepEqual([status, body], [200, []])
    })
  }
})

const refused = [
  'GET /serverGroups',
  'GET /serverGroups?ids=a:b:c&applications=web',
  'GET /v3/builds/ci-main/job',
  'GET /v3/builds/ci-main/job?job=..',
  'GET /executions/failedStages',
  'GET /v2/canaries/web/executions',
  'GET /v2/canaries/web/executions?limit=many',
  'GET /applications/web/executions/search?triggerTimeStartBoundary=yesterday',
  'GET /v1/data/static/d1?expectedContentType=nonsense',
  'PUT /admin/executions/forceCancel?executionId=e1&executionType=OTHER',
  'PUT /admin/executions/forceCancel',
  'POST /strategies',
  'POST /plugins/info',
]

test('unusable requests are refused without a call', async (t) => {
  const platform = await startPlatform(t)
  for (const line of refused) {
    await t.test(line, async () => {
      assert.equal((await platform.ask(line)).status, 400)
      assert.deepEqual(platform.calls(), [])
    })
  }
})

test("the query's execution precedes that of the path", async (t) => {
  const platform = await startPlatform(t)
  await platform.ask('POST /pipelines/anything/evaluateVariables?executionId=e2', [])
  assert.deepEqual(platform.calls(), ['orca POST /pipelines/e2/evaluateVariables'])
})

for (const [line, method, path] of [
  ['POST /credentials', 'POST', '/credentials'],
  ['PUT /credentials', 'PUT', '/credentials'],
  ['DELETE /credentials/prod', 'DELETE', '/credentials/prod'],
] as const) {
  test(`${line} is passed on and appears in the account list`, async (t) => {
    let accounts = [{ name: 'old', type: 'kubernetes' }]
    const platform = await startPlatform(t, {
      answers: (request) => {
        if (request.path === '/clouddriver/credentials' && request.method === 'GET') return accounts
        if (request.method === method && request.path === `/clouddriver${path}`) {
          accounts = [{ name: 'new', type: 'kubernetes' }]
          return method === 'DELETE' ? new Reply(200) : { name: 'new' }
        }
        return []
      },
    })
    const definition = method === 'DELETE' ? undefined : { name: 'new', type: 'kubernetes' }

    const { status } = await platform.ask(line, definition)

    assert.equal(status, 200)
    const listed = (await platform.ask('GET /credentials')).body as { name: string }[]
    assert.deepEqual(
      listed.map(({ name }) => name),
      ['new'],
    )
  })
}

test('findings of managed delivery are passed on whole', async (t) => {
  const findings = { message: 'bad', details: { path: 'environments' } }
  const platform = await startPlatform(t, {
    answers: { 'POST /keel/delivery-configs/validate': new Reply(400, findings) },
  })
  const { status, body } = await platform.ask('POST /managed/delivery-configs/validate', {})
  assert.deepEqual([status, body], [400, findings])
})

test('a managed resource named .yml is requested as YAML', async (t) => {
  const yaml = new Reply(200, 'kind: cluster\n', { 'content-type': 'application/x-yaml' })
  const platform = await startPlatform(t, { answers: { 'GET /keel/resources/r1.yml': yaml } })
  const { status, body, headers } = await platform.ask('GET /managed/resources/r1.yml')
  assert.deepEqual(
    [status, body, headers.get('content-type')],
    [200, 'kind: cluster\n', 'application/x-yaml'],
  )
  assert.equal(platform.requests()[0]?.headers.accept, 'application/x-yaml')
})

test('exports of managed delivery are YAML unless JSON alone is accepted', async (t) => {
  const address = '/export/aws/prod/cluster/web'
  const platform = await startPlatform(t, {
    answers: { [`GET /keel${address}`]: { kind: 'cluster' } },
  })
  const [json, yaml] = ['{"kind":"cluster"}', 'kind: cluster\n']
  for (const [accept, type, body] of [
    ['*/*', /^application\/x-yaml/, yaml],
    ['application/json, text/plain, */*', /^application\/x-yaml/, yaml],
    ['application/yaml', /^application\/yaml/, yaml],
    ['application/json', /^application\/json/, json],
  ] as const) {
    const answer = await fetch(`${platform.url}/managed/resources${address}?serviceAccount=bot`, {
      headers: { accept },
    })
    assert.deepEqual([answer.status, await answer.text()], [200, body], accept)
    assert.match(answer.headers.get('content-type') ?? '', type)
  }
})

test('mine gets the fields of the body in its query', async (t) => {
  const platform = await startPlatform(t, { answers: {} })
  await platform.ask('POST /canaries/c1/generateCanaryResult', {
    duration: 2,
    durationUnit: 'HOURS',
    other: 1,
  })
  await platform.ask('PUT /canaries/c1/end', { result: 'SUCCESS', reason: 'a b' })
  assert.deepEqual(platform.calls(), [
    'mine POST /canaries/c1/generateCanaryResult?duration=2&durationUnit=HOURS',
    'mine PUT /canaries/c1/end?result=SUCCESS&reason=a%20b',
  ])
})

test('a report in HTML is served as text', async (t) => {
  const html = new Reply(200, '<script>alert(1)</script>', { 'content-type': 'text/html' })
  const platform = await startPlatform(t, { answers: { 'GET /keel/reports/adoption': html } })
  const { headers } = await platform.ask('GET /managed/reports/adoption')
  assert.match(String(headers.get('content-type')), /^text\/plain/)
})

test('installed plugins are listed by service; a failing one has none', async (t) => {
  const platform = await startPlatform(t, {
    off: [
      'fiat',
      'igor',
      'kayenta',
      'keel',
      'mine',
      'swabbie',
      'rosco',
      'clouddriver',
      'flex',
      'mahe',
    ],
    answers: ({ path }) => {
      if (path === '/orca/installedPlugins') return [{ id: 'acme.plugin' }]
      return path === '/echo/installedPlugins' ? new Reply(500) : []
    },
  })
  const { status, body } = await platform.ask('GET /plugins/installed')
  assert.deepEqual(
    [status, body],
    [200, { echo: [], front50: [], gate: [], orca: [{ id: 'acme.plugin' }] }],
  )
  assert.deepEqual((await platform.ask('GET /plugins/installed?service=orca')).body, {
    orca: [{ id: 'acme.plugin' }],
  })
})

test('a plugin is published with the hash of its file', async (t) => {
  const platform = await startPlatform(t, {
    answers: { 'POST /front50/pluginBinaries/acme.plugin/1.0.0': new Reply(200) },
  })
  const form = new FormData()
  form.set('plugin', new File(['the bytes'], 'plugin.zip'))

  const { status } = await platform.ask('POST /plugins/publish/acme.plugin/1.0.0', form)

  assert.equal(status, 200)
  const hash = createHash('sha512').update('the bytes').digest('hex')
  assert.deepEqual(platform.calls(), [
    `front50 POST /pluginBinaries/acme.plugin/1.0.0?sha512sum=${hash}`,
  ])
  assert.match(platform.requests()[0]?.body ?? '', /the bytes/)
})

test('a plugin without a file is refused', async (t) => {
  const platform = await startPlatform(t)
  const form = new FormData()
  form.set('other', 'x')
  assert.equal((await platform.ask('POST /plugins/publish/acme.plugin/1.0.0', form)).status, 400)
  assert.equal((await platform.ask('POST /plugins/publish/acme.plugin/1.0.0', {})).status, 400)
  assert.equal((await platform.ask('POST /plugins/publish/acme.plugin/1.0.0')).status, 400)
  assert.deepEqual(platform.calls(), [])
})

test('a firewall is found by id, like a security group', async (t) => {
  const found = [{ results: [{ url: '/securityGroups/prod/aws/web?region=eu' }] }]
  const platform = await startPlatform(t, {
    answers: {
      'GET /clouddriver/search': found,
      'GET /clouddriver/securityGroups/prod/aws/eu/web': { id: 'sg-1' },
    },
  })
  const { status, body } = await platform.ask('GET /firewalls?id=sg-1')
  assert.deepEqual([status, body], [200, { id: 'sg-1' }])
})

test('HEAD works where GET does', async (t) => {
  const platform = await startPlatform(t)
  for (const path of ['/version', '/banners', '/projects']) {
    const { status, body } = await platform.ask(`HEAD ${path}`)
    assert.deepEqual([status, body], [200, undefined])
  }
})

test('an upload that is refused for the moment says when to try again', async (t) => {
  const refusal = new Reply(429, { message: 'Try again in a moment.' }, { 'retry-after': '5' })
  const platform = await startPlatform(t, {
    answers: { 'PUT /clouddriver/local/images/web/1': refusal },
  })
  const { status, headers } = await platform.ask('PUT /local/images/web/1', 'archive', {
    'content-type': 'application/x-tar',
  })
  assert.deepEqual([status, headers.get('retry-after')], [429, '5'])
})
