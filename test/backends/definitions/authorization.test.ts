/** The store judges whoever a call acts for, whatever was judged before: WRITE on what is changed, as it is and as it will be. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { type Fields, type Store, startStore } from './store.ts'

const grants = (name: string, ...authorizations: string[]) => ({ name, authorizations })

/** mallory writes `mine`, olga everything; the robot may execute in `mine`, the bystander nowhere. */
const views: Record<string, Fields> = {
  mallory: {
    applications: [grants('mine', 'READ', 'WRITE', 'EXECUTE'), grants('secret')],
    serviceAccounts: [{ name: 'robot' }, { name: 'bystander' }],
  },
  olga: {
    applications: [grants('mine', 'READ', 'WRITE'), grants('secret', 'READ', 'WRITE')],
    serviceAccounts: [],
  },
  robot: { applications: [grants('mine', 'EXECUTE'), grants('secret')] },
  bystander: { applications: [grants('mine'), grants('secret')] },
  admin: { admin: true },
}

const fiat: CallService = async (_service, { method, path }) => {
  const user = decodeURIComponent(path.split('/')[2] as string)
  if (method === 'POST')
    return { status: path.endsWith('/create') && user !== 'mallory' ? 200 : 404, body: undefined }
  const view = views[user]
  return view === undefined ? { status: 404, body: undefined } : { status: 200, body: view }
}

interface Guarded {
  store: Store
  /** The status, and the message of a refusal. */
  as(
    user: string,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; message: string }>
}

async function startGuarded(t: TestContext, others: CallService = fiat): Promise<Guarded> {
  const store = await startStore(t, { settings: { authorization: true }, others })
  return {
    store,
    async as(user, method, path, body) {
      const answer = await store.ask(method, path, body, { 'x-spinnaker-user': user })
      return {
        status: answer.status,
        message: String((answer.body as Fields | undefined)?.['message'] ?? ''),
      }
    },
  }
}

const main = { id: 's1', application: 'secret', name: 'main', stages: [], triggers: [] }
const own = { id: 'm1', application: 'mine', name: 'own', stages: [], triggers: [] }

test('changes need WRITE on the application', async (t) => {
  const { store, as } = await startGuarded(t)
  for (const one of [main, own]) await store.ok('POST', '/pipelines', one)
  await store.ok('POST', '/v2/applications', { name: 'secret', email: 'a@example.com' })
  await store.ok('POST', '/strategies', { ...main, id: 'st1' })
  const changes: [string, string, unknown?][] = [
    ['POST', '/pipelines', main],
    ['POST', '/pipelines', { ...main, application: ' SECRET ' }],
    ['POST', '/pipelines', { ...own, id: 'S1' }],
    ['PUT', '/pipelines/s1', { ...main, application: 'mine' }],
    ['PUT', '/pipelines/m1', { ...own, application: 'secret' }],
    ['DELETE', '/pipelines/secret/main'],
    ['POST', '/pipelines/move', { application: 'secret', from: 'main', to: 'other' }],
    ['POST', '/strategies', { ...main, id: 'st2', name: 'x' }],
    ['PUT', '/strategies/st1', { ...main, id: 'st1', application: 'mine' }],
    ['DELETE', '/strategies/secret/main'],
    ['PATCH', '/v2/applications/secret', { name: 'secret', email: 'm@example.com' }],
    ['PUT', '/v2/applications/secret', { name: 'secret', email: 'm@example.com' }],
    ['DELETE', '/v2/applications/secret'],
    ['POST', '/v2/applications', { name: 'new', email: 'm@example.com' }],
    ['PATCH', '/v2/applications/new', { name: 'new', email: 'm@example.com' }],
    ['PUT', '/v2/applications/new', { name: 'new', email: 'm@example.com' }],
    ['PATCH', '/v2/applications/mine', { name: 'mine', email: 'm@example.com' }],
    ['POST', '/permissions/applications', { name: 'secret', permissions: {} }],
    ['PUT', '/permissions/applications/secret', { name: 'secret', permissions: {} }],
    ['DELETE', '/permissions/applications/secret'],
    ['POST', '/notifications/application/secret', {}],
    ['DELETE', '/notifications/application/secret'],
    ['POST', '/notifications/global/x', {}],
    ['POST', '/snapshots', { application: 'secret', account: 'prod' }],
    ['POST', '/serviceAccounts', { name: 'robot', memberOf: [] }],
  ]
  for (const [method, path, body] of changes) {
    const { status, message } = await as('mallory', method, path, body)
    assert.equal(status, 403, `${method} ${path} ${JSON.stringify(body)}: ${message}`)
  }
  const { message } = await as('mallory', 'POST', '/pipelines', main)
  assert.equal(
    message,
    'This needs WRITE on the application secret; mallory has not got it. An owner of secret can grant it.',
  )
  assert.equal((await as('nobody known', 'POST', '/pipelines', own)).status, 403)
  assert.equal((await as('', 'POST', '/pipelines', own)).status, 403)
  assert.equal(
    (await as('olga', 'POST', '/pipelines', { ...main, application: 'mine' })).status,
    200,
  )
  assert.equal(
    (await as('olga', 'POST', '/v2/applications', { name: 'new', email: 'o@example.com' })).status,
    200,
  )
  assert.equal((await as('admin', 'DELETE', '/v2/applications/secret')).status, 204)
})

test('reordering without WRITE is a bad request, as the contract says', async (t) => {
  const { store, as } = await startGuarded(t)
  await store.ok('POST', '/pipelines', main)
  const { status, message } = await as('mallory', 'POST', '/actions/pipelines/reorder', {
    application: 'secret',
    idsToIndices: { s1: 3 },
  })
  assert.equal(status, 400)
  assert.match(message, /WRITE on the application secret; mallory/)
})

test('a missing definition is missing before it is forbidden', async (t) => {
  const { as } = await startGuarded(t)
  assert.equal((await as('mallory', 'PUT', '/pipelines/none', { ...main, id: 'none' })).status, 404)
  assert.equal((await as('mallory', 'DELETE', '/pipelines/secret/none')).status, 404)
})

test('runAsUser needs an account that author and application allow', async (t) => {
  const { as } = await startGuarded(t)
  for (const name of ['robot', 'bystander'])
    await as('admin', 'POST', '/serviceAccounts', { name, memberOf: [] })
  const save = (user: string, runAsUser: unknown, application = 'mine') =>
    as(user, 'POST', '/pipelines', { ...own, application, triggers: [{ type: 'cron', runAsUser }] })
  assert.equal((await save('mallory', 'robot')).status, 200)
  assert.equal((await save('mallory', ' robot ')).status, 200)
  assert.equal((await save('mallory', '  ')).status, 200)
  assert.match(
    (await save('mallory', 'bystander')).message,
    /EXECUTE on the application mine; bystander/,
  )
  assert.match((await save('olga', 'robot')).message, /olga may not use the service account robot/)
})

test('a trigger for an account that does not exist waits for a user who may use it', async (t) => {
  const { store, as } = await startGuarded(t)
  await as('admin', 'POST', '/serviceAccounts', { name: 'robot', memberOf: [] })
  const triggers = (runAsUser: string) => [
    { type: 'webhook', source: 'ci', enabled: true, runAsUser },
  ]
  const held = () =>
    store.ok<Fields[]>('PUT', '/pipelines/m1/release', undefined, { 'x-spinnaker-user': 'admin' })
  const save = (user: string, more: Fields) => as(user, 'POST', '/pipelines', { ...own, ...more })
  assert.equal((await save('olga', { triggers: triggers('Coming') })).status, 200)
  const foreign = await as('olga', 'PUT', '/pipelines/m1/release')
  assert.match(foreign.message, /runs as the service account coming: a user who may use it/)
  assert.equal(foreign.status, 403)
  assert.deepEqual(await held(), [])
  const robot = { triggers: triggers('robot') }
  assert.equal((await save('olga', robot)).status, 403, 'it exists, and olga may not use it')
  assert.equal((await save('olga', { ...robot, disabled: true })).status, 200)
  assert.equal((await save('olga', { ...robot, disabled: false })).status, 403)
  assert.equal((await as('olga', 'PUT', '/pipelines/m1/release')).status, 403)
  assert.equal((await save('admin', { triggers: triggers('coming later') })).status, 200)
  assert.equal((await save('admin', { triggers: triggers('bystander') })).status, 200)
})

test('definitions-scenario 19: a batch saves only entries that the caller may write', async (t) => {
  const { store } = await startGuarded(t)
  await store.ok('POST', '/pipelines', main)
  const entries = [
    { ...own, id: 'm2', name: 'good' },
    { ...main, id: 's2', name: 'foreign' },
    { ...own, id: 's1', name: 'taken over' },
    { ...own, id: 'm3', name: 'as another', triggers: [{ runAsUser: 'bystander' }] },
  ]
  const { status, body } = await store.ask('POST', '/pipelines/batchUpdate', entries, {
    'x-spinnaker-user': 'mallory',
  })
  assert.equal(status, 200)
  const report = body as { successful_pipelines: string[]; failed_pipelines: Fields[] }
  assert.deepEqual(report.successful_pipelines, ['good'])
  assert.deepEqual(
    report.failed_pipelines.map(({ name }) => name),
    ['foreign', 'taken over', 'as another'],
  )
  assert.ok(
    report.failed_pipelines.every(({ errorMsg }) =>
      /application|service account/.test(String(errorMsg)),
    ),
  )
})

test('a template belongs to its scopes, a global one to administrators', async (t) => {
  const { store, as } = await startGuarded(t)
  const template = (id: string, ...scopes: string[]) => ({
    id,
    schema: 'v2',
    metadata: { scopes },
    pipeline: { stages: [] },
  })
  await store.ok('POST', '/v2/pipelineTemplates', template('theirs', 'secret'))
  await store.ok('POST', '/v2/pipelineTemplates', template('shared', 'Global'))
  for (const family of ['/pipelineTemplates', '/v2/pipelineTemplates']) {
    const refused: [string, string, unknown?][] = [
      ['GET', `${family}/theirs`],
      ['PUT', `${family}/theirs`, template('theirs', 'mine')],
      ['PUT', `${family}/shared`, template('shared', 'mine')],
      ['DELETE', `${family}/theirs`],
      ['DELETE', `${family}/shared`],
      ['POST', family, template('new', 'secret')],
      ['POST', family, template('new', 'mine', 'global')],
      ['POST', family, template('new')],
    ]
    for (const [method, path, body] of refused) {
      const { status, message } = await as('mallory', method, path, body)
      assert.equal(status, 403, `${method} ${path}: ${message}`)
    }
    assert.equal((await as('mallory', 'GET', `${family}/shared`)).status, 200)
    assert.equal(
      (await as('mallory', 'POST', family, template(`own ${family}`, 'MINE'))).status,
      200,
    )
  }
  assert.equal(
    (
      await as(
        'mallory',
        'PUT',
        '/v2/pipelineTemplates/theirs?tag=stable',
        template('theirs', 'mine'),
      )
    ).status,
    403,
  )
  assert.equal(
    (await as('admin', 'PUT', '/v2/pipelineTemplates/shared', template('shared', 'global'))).status,
    200,
  )
})

test('changes answer 503 while the permission service is silent', async (t) => {
  const { store, as } = await startGuarded(t, async () => ({ status: 500, body: undefined }))
  assert.equal((await as('olga', 'POST', '/pipelines', own)).status, 503)
  assert.equal((await as('olga', 'GET', '/pipelines')).status, 200)
  assert.deepEqual(await store.ok('GET', '/pipelines'), [])
})

test('without a permission service everybody may change everything', async (t) => {
  const store = await startStore(t)
  const { status } = await store.ask('POST', '/pipelines', main, { 'x-spinnaker-user': 'mallory' })
  assert.equal(status, 200)
})

test('runAsUser of inherited triggers needs rights of both authors', async (t) => {
  const { store, as } = await startGuarded(t)
  for (const name of ['robot', 'root', 'bystander'])
    await as('admin', 'POST', '/serviceAccounts', { name, memberOf: [] })
  const template = (id: string, runAsUser: string) => ({
    ...{ id, schema: 'v2', metadata: { scopes: ['mine'] } },
    pipeline: { triggers: [{ type: 'webhook', enabled: true, source: 'ci', runAsUser }] },
  })
  const instance = (id: string, more: Fields = {}) => ({
    ...{
      ...own,
      id: `i-${id}`,
      name: id,
      type: 'templatedPipeline',
      schema: 'v2',
      template: { reference: `spinnaker://${id}` },
    },
    ...more,
  })
  for (const [id, runAsUser] of [
    ['known', 'robot'],
    ['foreign', 'root'],
    ['chosen', '${ templateVariables.bot }'],
    ['idle', 'bystander'],
  ] as const) {
    await store.ok('POST', '/v2/pipelineTemplates', template(id, runAsUser))
    const saved = await as('mallory', 'PUT', `/v2/pipelineTemplates/${id}`, template(id, runAsUser))
    const isUsable = id === 'known' || id === 'idle'
    assert.equal(saved.status, isUsable ? 200 : 403, id)
    if (!isUsable) assert.match(saved.message, /may not use the service account/)
    const { status, message } = await as('mallory', 'POST', '/pipelines', instance(id))
    assert.equal(status, id === 'known' ? 200 : 403, `${id}: ${message}`)
    assert.equal(
      (await as('mallory', 'POST', '/pipelines', instance(id, { exclude: ['triggers'] }))).status,
      200,
      id,
    )
  }
})

test('only administrators create the application of plugins', async (t) => {
  const { as } = await startGuarded(t)
  const body = { name: 'SpinnakerPlugins', email: 'a@example.com' }

  assert.equal((await as('olga', 'POST', '/v2/applications', body)).status, 403)
  assert.equal((await as('admin', 'POST', '/v2/applications', body)).status, 200)
})
