/** Who the services are told is calling: the one who is logged in, whatever the client says. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { GatewaySettings } from '../support/gateway.ts'
import { type Answers, type RecordedRequest, Reply, startUpstream } from '../support/upstream.ts'
import { basic, startGuarded } from './support.ts'

const asAdmin = basic('admin', 'secret')
const json = { 'content-type': 'application/json' }
const forged = { 'X-SPINNAKER-USER': 'root', 'x-spinnaker-accounts': 'prod' }

async function start(t: TestContext, answers: Answers, settings: GatewaySettings = {}) {
  const service = await startUpstream(t, answers)
  const services = {
    clouddriver: { baseUrl: service.url },
    orca: { baseUrl: service.url },
    front50: { baseUrl: service.url },
  }
  const { open } = await startGuarded(t, { ...settings, services })
  return {
    service,
    /** What the service was asked by the request. */
    ask: async (
      path: string,
      init: Parameters<ReturnType<typeof open>['visit']>[1] = {},
    ): Promise<RecordedRequest> => {
      const { status, text } = await open().visit(path, {
        ...init,
        headers: { ...asAdmin, ...init.headers },
      })
      assert.ok(status < 300, `${status} ${text}`)
      return service.requests.at(-1) ?? assert.fail('the service was not asked')
    },
    visit: (path: string, init: Parameters<ReturnType<typeof open>['visit']>[1] = {}) =>
      open().visit(path, init),
  }
}

test('auth-scenario 212: claimed accounts reach no service', async (t) => {
  const { ask } = await start(t, () => ({}))

  const { headers } = await ask('/networks', { headers: forged })

  assert.deepEqual(
    [headers['x-spinnaker-user'], headers['x-spinnaker-accounts']],
    ['admin', undefined],
  )
})

test('auth-scenario 213: streamed responses are requested as the user', async (t) => {
  const { ask } = await start(
    t,
    () => new Reply(200, 'content', { 'content-type': 'application/octet-stream' }),
  )

  const { headers, path } = await ask('/artifacts/fetch', {
    method: 'PUT',
    body: '{}',
    headers: { ...json, ...forged },
  })

  assert.deepEqual(
    [path, headers['x-spinnaker-user'], headers['x-spinnaker-accounts']],
    ['/artifacts/fetch', 'admin', undefined],
  )
})

test('auth-scenario 215: request and execution ids are forwarded', async (t) => {
  const { visit, service } = await start(t, () => ({}))
  const ids = { 'X-SPINNAKER-REQUEST-ID': 'r1', 'X-SPINNAKER-EXECUTION-ID': 'e1' }

  const answer = await visit('/networks', { headers: { ...asAdmin, ...ids } })

  assert.equal(answer.headers.get('x-spinnaker-request-id'), 'r1')
  const { headers } = service.requests.at(-1) ?? assert.fail('the service was not asked')
  assert.deepEqual(
    [headers['x-spinnaker-request-id'], headers['x-spinnaker-execution-id']],
    ['r1', 'e1'],
  )
})

for (const [app, origin] of [
  ['deck', 'deck'],
  ['DECK', 'deck'],
  ['spin', 'api'],
  [undefined, 'api'],
] as const) {
  test(`auth-scenario 216: a client that calls itself ${app ?? 'nothing'} is of the origin ${origin}`, async (t) => {
    const { ask } = await start(t, () => ({}))
    const { headers } = await ask('/networks', {
      headers: app === undefined ? {} : { 'X-RateLimit-App': app },
    })
    assert.equal(headers['x-spinnaker-user-origin'], origin)
  })
}

test('auth-scenario 218: the displayed user of a start is the caller', async (t) => {
  const definition = { application: 'shop', name: 'Deploy', id: '1' }
  const { ask } = await start(t, ({ path }) =>
    path === '/orchestrate' ? { ref: '/pipelines/01E' } : definition,
  )
  const trigger = { type: 'manual', user: 'root' }
  const starts: [path: string, body: unknown][] = [
    ['/pipelines/start', { ...definition, trigger }],
    ['/pipelines/shop/Deploy', trigger],
    ['/applications/shop/pipelineConfigs/Deploy?user=root', trigger],
    ['/applications/shop/pipelineConfigs/Deploy?user=root', { type: 'manual' }],
  ]
  for (const [path, given] of starts) {
    const { headers, body, query } = await ask(path, {
      method: 'POST',
      body: JSON.stringify(given),
      headers: json,
    })
    assert.equal(headers['x-spinnaker-user'], 'admin', path)
    assert.equal((JSON.parse(body) as { trigger: { user: string } }).trigger.user, 'admin', path)
    assert.equal(query, 'user=admin', path)
  }
})

test('auth-scenario 219: name, roles and accounts in the query change nothing', async (t) => {
  const accounts = [{ name: 'prod', permissions: { WRITE: ['ops'] } }, { name: 'test' }]
  const { visit } = await start(t, { 'GET /credentials?expand=true': accounts })

  const plain = await visit('/credentials', { headers: asAdmin })
  const claimed = await visit(
    '/credentials?username=root&roles=ops&roles=admin&allowedAccounts=prod',
    { headers: asAdmin },
  )

  assert.equal(plain.status, 200)
  assert.equal(claimed.text, plain.text)
})

test('auth-scenario 206: for somebody who is logged in, OPTIONS evaluates an expression', async (t) => {
  const path = '/pipelines/e1/evaluateExpression?expression=x'
  const { ask, visit, service } = await start(t, () => ({ result: 'y', detail: {} }))

  assert.equal((await visit(path, { method: 'OPTIONS' })).text, '')
  assert.deepEqual(service.requests, [])
  const asked = await ask(path, { method: 'OPTIONS' })

  assert.deepEqual(
    [asked.path, asked.headers['x-spinnaker-user']],
    ['/pipelines/e1/evaluateExpression', 'admin'],
  )
})

test('auth-scenario 224: a refusal of a service is passed on', async (t) => {
  const { visit } = await start(
    t,
    () => new Reply(403, { message: 'Access denied to application shop' }),
  )

  const answer = await visit('/networks', { headers: asAdmin })

  assert.equal(answer.status, 403)
  assert.match(answer.text, /Access denied to application shop/)
})
