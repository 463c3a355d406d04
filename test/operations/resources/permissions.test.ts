/** The gateway's own demands beyond a login, and operations open to all callers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceName } from '../../../packages/base/services/services.ts'
import { allOperations } from '../../../packages/gateway/operations/all.ts'
import { Reply } from '../../support/upstream.ts'
import { type Platform, startPlatform } from './platform.ts'

const nothingGranted = {
  name: 'ann',
  admin: false,
  accounts: [],
  applications: [],
  serviceAccounts: [],
  roles: [],
}

function viewWith(application: string, ...authorizations: string[]) {
  return { ...nothingGranted, applications: [{ name: application, authorizations }] }
}

/** A gateway whose one user is ann, and whose permission service says what the test says. */
function startGuarded(
  t: Parameters<typeof startPlatform>[0],
  view: unknown,
  off: readonly ServiceName[] = [],
): Promise<Platform> {
  const accepted = { ref: '/tasks/t1' }
  return startPlatform(t, {
    off,
    settings: {
      security: { basicform: { enabled: true } },
      spring: { security: { user: { name: 'ann', password: 'correct horse battery' } } },
    },
    answers: ({ method, path }) => {
      if (path.startsWith('/fiat/authorize/')) return view
      if (path === '/orca/ops') return accepted
      return method === 'GET' ? [] : {}
    },
  })
}

const asAnn = {
  authorization: `Basic ${Buffer.from('ann:correct horse battery').toString('base64')}`,
}

function callsBut(platform: Platform, service: string): string[] {
  return platform.calls().filter((call) => !call.startsWith(service))
}

const guarded: readonly [line: string, body: unknown, needs: unknown][] = [
  ['POST /pipelines/v2/web/build', {}, viewWith('WEB', 'READ', 'EXECUTE')],
  [
    'PUT /admin/executions/forceCancel?executionId=e1',
    undefined,
    { ...nothingGranted, admin: true },
  ],
  ['POST /admin/executions/hydrate?executionId=e1', undefined, { ...nothingGranted, admin: true }],
  ['POST /plugins/info', { id: 'acme.plugin' }, viewWith('spinnakerplugins', 'WRITE')],
  ['PUT /plugins/info', { id: 'acme.plugin' }, viewWith('spinnakerplugins', 'WRITE')],
  ['DELETE /plugins/info/acme.plugin', undefined, viewWith('spinnakerplugins', 'WRITE')],
]

for (const [line, body, needs] of guarded) {
  test(`${line} is denied without the right, before any call`, async (t) => {
    const platform = await startGuarded(t, viewWith('web', 'READ', 'WRITE'))
    const answer = await platform.ask(line, body, asAnn)
    assert.equal(answer.status, 403)
    assert.deepEqual(callsBut(platform, 'fiat'), [])
  })

  test(`${line} is granted to a user with the right`, async (t) => {
    const platform = await startGuarded(t, needs)
    const answer = await platform.ask(line, body, asAnn)
    assert.ok(answer.status < 300, `answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    const [sent] = platform.requests().filter(({ path }) => !path.startsWith('/fiat'))
    assert.equal(sent?.headers['x-spinnaker-user'], 'ann')
  })
}

test('an unknown user starts no pipeline', async (t) => {
  const platform = await startGuarded(t, new Reply(404))
  const answer = await platform.ask('POST /pipelines/v2/web/build', {}, asAnn)
  assert.equal(answer.status, 401)
  assert.match(
    (answer.body as { message: string }).message,
    /The permission service does not know the user ann\./,
  )
  assert.deepEqual(callsBut(platform, 'fiat'), [])
})

test('auth-scenario 223: without EXECUTE the event service starts nothing', async (t) => {
  const platform = await startGuarded(t, viewWith('WEB', 'READ'))
  const answer = await platform.ask('POST /pipelines/v2/web/build', {}, asAnn)
  assert.equal(answer.status, 403)
  const { message } = answer.body as { message: string }
  assert.match(message, /web/i)
  assert.match(message, /EXECUTE/)
  assert.deepEqual(callsBut(platform, 'fiat'), [])
})

test("administrators' operations are refused to all others", async (t) => {
  const platform = await startGuarded(t, {
    ...nothingGranted,
    applications: viewWith('web', 'WRITE').applications,
  })
  const administrative = allOperations.filter(({ demands }) =>
    demands.some(({ kind }) => kind === 'admin'),
  )
  assert.ok(administrative.length >= 7)
  for (const { method, path } of administrative) {
    const answer = await platform.ask(`${method} ${path}?executionId=e1`, undefined, asAnn)
    assert.equal(answer.status, 403, path)
  }
  assert.deepEqual(callsBut(platform, 'fiat'), [])
})

test('without a permission service only executions are open to all', async (t) => {
  const platform = await startGuarded(t, nothingGranted, ['fiat'])
  for (const line of [
    'POST /auth/roles/sync',
    'POST /auth/deleteSessionCache',
    'GET /audit/events',
  ]) {
    assert.equal((await platform.ask(line, undefined, asAnn)).status, 403, line)
  }
  assert.equal(
    (await platform.ask('PUT /admin/executions/forceCancel?executionId=e1', undefined, asAnn))
      .status,
    200,
  )
  const explained = await platform.ask(
    'GET /auth/explain?operation=syncUsingPOST',
    undefined,
    asAnn,
  )
  assert.equal((explained.body as { decision: string }).decision, 'denied')
})

test('an execution is cancelled in the name of the administrator', async (t) => {
  const platform = await startGuarded(t, { ...nothingGranted, admin: true })
  await platform.ask(
    'PUT /admin/executions/forceCancel?executionId=e1&executionType=ORCHESTRATION',
    undefined,
    asAnn,
  )
  assert.deepEqual(callsBut(platform, 'fiat'), [
    'orca PUT /admin/forceCancelExecution?executionId=e1&executionType=ORCHESTRATION&canceledBy=ann',
  ])
})

for (const admin of [true, false]) {
  test(`GET /admin says ${admin} of ${admin ? 'an administrator' : 'anybody else'}`, async (t) => {
    const platform = await startGuarded(t, { ...nothingGranted, admin })
    assert.deepEqual((await platform.ask('GET /admin', undefined, asAnn)).body, {
      username: 'ann',
      isAdmin: admin,
    })
  })
}

const open = [
  'GET /plugins/deck/plugin-manifest.json',
  'POST /webhooks/webhook/ci',
  'POST /webhooks/cdevents/ci',
  'POST /notifications/callbacks/slack',
  'POST /managed/notifications/callbacks/slack',
  'GET /managed/delivery-configs/schema',
]

const closed = [
  'GET /version',
  'GET /banners',
  'GET /webhooks/preconfigured',
  'GET /projects',
  'POST /pipelines/v2/web/build',
  'GET /admin',
]

test('only webhooks, callbacks and the start page are open', async (t) => {
  const platform = await startGuarded(t, nothingGranted)
  platform.upstream.answer(() => ({}))
  for (const line of open) {
    await t.test(`${line} needs no login`, async () =>
      assert.equal((await platform.ask(line)).status, 200),
    )
  }
  for (const line of closed) {
    await t.test(`${line} needs a login`, async () => {
      platform.upstream.answer({})
      const { status } = await platform.ask(line)
      assert.ok(status === 302 || status === 401, `answered ${status}`)
      assert.deepEqual(platform.calls(), [])
    })
  }
})
