import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fields, namesAt, startStore } from './store.ts'

test('definitions-scenario 25: a project has a unique name and is found by it', async (t) => {
  const store = await startStore(t)
  const config = { applications: ['demo'], clusters: [], pipelineConfigs: [] }
  const created = await store.ok('POST', '/v2/projects', {
    name: 'Proj',
    email: 'a@b.c',
    config,
    createTs: 7,
  })
  assert.equal(typeof created['createTs'], 'number')
  assert.notEqual(created['createTs'], 7)
  assert.equal(typeof created['updateTs'], 'number')
  assert.deepEqual(await store.ok('GET', '/v2/projects/proj'), created)
  assert.deepEqual(
    await store.ok('GET', `/v2/projects/${String(created['id']).toUpperCase()}`),
    created,
  )
  await store.fails(400, 'POST', '/v2/projects', { name: 'PROJ' })
  await store.fails(422, 'POST', '/v2/projects', { name: ' ' })
  const other = await store.ok('POST', '/v2/projects', { name: 'Other' })
  await store.fails(400, 'PUT', `/v2/projects/${other['id']}`, { name: 'Proj' })
  await store.fails(404, 'PUT', '/v2/projects/none', { name: 'None' })
  const renamed = await store.ok('PUT', `/v2/projects/${other['id']}`, { id: 'x', name: 'Renamed' })
  assert.equal(renamed['id'], other['id'])
  assert.equal(renamed['createTs'], other['createTs'])
  assert.deepEqual(await store.ask('DELETE', `/v2/projects/${created['id']}`), {
    status: 202,
    body: undefined,
  })
  assert.deepEqual(await store.ask('DELETE', `/v2/projects/${created['id']}`), {
    status: 202,
    body: undefined,
  })
  await store.fails(404, 'GET', '/v2/projects/proj')
})

test('filters of projects are alternatives, ordered by closeness', async (t) => {
  const store = await startStore(t)
  const projects = [
    {
      name: 'web-shop',
      config: { applications: ['cart'], clusters: [{ account: 'prod', stack: '*', detail: '*' }] },
    },
    { name: 'web', email: 'w@x', config: null },
    { name: 'data', config: { applications: ['lake', 'web'] } },
  ]
  for (const project of projects) await store.ok('POST', '/v2/projects', project)
  assert.deepEqual(await namesAt(store, '/v2/projects?name=WEB'), ['web', 'web-shop'])
  assert.deepEqual(await namesAt(store, '/v2/projects?name=shop&applications=lake,none'), [
    'data',
    'web-shop',
  ])
  assert.deepEqual(await namesAt(store, '/v2/projects?account=prod'), ['web-shop'])
  assert.equal((await namesAt(store, '/v2/projects?pageSize=2')).length, 2)
})

test('definitions-scenario 26: a service account is written by its name in any case', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/serviceAccounts', { name: 'Bot', memberOf: ['ops'] })
  await store.ok('POST', '/serviceAccounts', { name: 'bot', memberOf: ['dev'] })
  const accounts = await store.ok<Fields[]>('GET', '/serviceAccounts')
  assert.deepEqual(
    accounts.map((account) => account['memberOf']),
    [['dev']],
  )
  assert.deepEqual(await store.ask('DELETE', '/serviceAccounts/BOT'), {
    status: 200,
    body: undefined,
  })
  await store.fails(404, 'DELETE', '/serviceAccounts/bot')
})

test('configured service accounts win over stored ones', async (t) => {
  const serviceAccounts = [
    { name: 'robot', memberOf: ['ops'] },
    { name: ' ', memberOf: [] },
  ]
  const store = await startStore(t, { settings: { serviceAccounts } })
  assert.deepEqual(await namesAt(store, '/serviceAccounts'), ['robot'])
  assert.deepEqual(await store.ok('GET', '/serviceAccounts/tokenEligible'), [
    { name: 'robot', memberOf: ['ops'] },
  ])
})

test('definitions-scenario 28: the newest snapshot is current; time finds earlier ones', async (t) => {
  let now = 1000
  const store = await startStore(t, { now: () => now })
  const snapshot = { application: 'demo', account: 'prod', infrastructure: {} }
  assert.equal(await store.ok('POST', '/snapshots', snapshot), undefined)
  now = 2000
  await store.ok('POST', '/snapshots', { ...snapshot, infrastructure: { a: 1 } })
  const current = await store.ok('GET', '/snapshots/Demo-prod')
  assert.equal(current['timestamp'], 2000)
  assert.equal(current['id'], 'demo-prod')
  const history = await store.ok<Fields[]>('GET', '/snapshots/demo-prod/history')
  assert.deepEqual(
    history.map((one) => one['timestamp']),
    [2000, 1000],
  )
  assert.deepEqual((await store.ok('GET', '/snapshots/demo-prod/1000'))['infrastructure'], {})
  await store.fails(404, 'GET', '/snapshots/demo-prod/1500')
  await store.fails(404, 'GET', '/snapshots/demo-prod/1000?limit=1')
  await store.fails(400, 'GET', '/snapshots/demo-prod/noon')
  await store.fails(422, 'POST', '/snapshots', { application: 'demo' })
  await store.ok('POST', '/snapshots', { ...snapshot, application: 'a-b', account: 'c' })
  const refused = await store.fails(400, 'POST', '/snapshots', {
    ...snapshot,
    application: 'a',
    account: 'b-c',
  })
  assert.match(
    String(refused['message']),
    /"a-b-c" are those of the account c of the application a-b/,
  )
  await store.ok('POST', '/snapshots', { ...snapshot, application: 'A-B', account: 'c' })
  await store.fails(400, 'POST', '/snapshots', { ...snapshot, configLang: 'HCL' })
  await store.fails(404, 'GET', '/snapshots/other-prod')
})

test('notifications belong to the application of the path, or to everyone', async (t) => {
  const store = await startStore(t)
  const email = [{ type: 'email', address: 'x@y', level: 'application', when: ['pipeline.failed'] }]
  assert.equal(
    await store.ok('POST', '/notifications/application/demo', { application: 'other', email }),
    undefined,
  )
  const read = await store.ok('GET', '/notifications/APPLICATION/Demo')
  assert.equal(read['application'], 'demo')
  assert.deepEqual(read['email'], email)
  assert.equal(typeof read['lastModified'], 'number')
  assert.deepEqual(await store.ok('GET', '/notifications/global/any'), {})
  await store.ok('POST', '/notifications/global/any', { slack: [] })
  assert.deepEqual((await store.ok('GET', '/notifications/global/any'))['slack'], [])
  assert.equal((await store.ok<unknown[]>('GET', '/notifications')).length, 2)
  await store.fails(400, 'GET', '/notifications/team/demo')
  await store.ok('DELETE', '/notifications/application/demo')
  assert.deepEqual(await store.ok('GET', '/notifications/application/demo'), {})
})

for (const path of [
  '/v2/tags',
  '/deliveries',
  '/pluginInfo',
  '/pluginBinaries',
  '/credentials',
  '/installedPlugins',
]) {
  test(`${path} is an empty list`, async (t) => {
    const store = await startStore(t)
    assert.deepEqual(await store.ok('GET', path), [])
  })
}
