import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentFindings } from '../../../packages/engine/orchestration/findings/environment-findings.ts'
import { toAccount } from '../../../packages/model/environments/accounts.ts'
import { at } from '../orchestration/support.ts'
import { type Fields, namesAt, startStore } from './store.ts'

const demo = { name: 'demo', email: 'a@b.c' }

test('definitions-scenario 1: a new application has an upper-case name and stored fields', async (t) => {
  const store = await startStore(t)
  const created = await store.ok(
    'POST',
    '/v2/applications',
    { ...demo, cloudProviders: ['aws', 'kubernetes'] },
    { 'x-spinnaker-user': 'ann' },
  )
  assert.equal(created['name'], 'DEMO')
  assert.equal(created['cloudProviders'], 'aws,kubernetes')
  assert.match(created['updateTs'] as string, /^\d+$/)
  assert.deepEqual(created['trafficGuards'], [])
  const read = await store.ok('GET', '/v2/applications/demo')
  assert.equal(read['lastModifiedBy'], 'ann')
  assert.equal('permissions' in read, false)
  assert.equal(read['description'], null)
})

test('definitions-scenario 2: an application whose name differs only in case is refused', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/v2/applications', demo)
  const refused = await store.fails(400, 'POST', '/v2/applications', { ...demo, name: 'Demo' })
  assert.equal(refused['status'], 400)
  assert.equal((await store.ok<unknown[]>('GET', '/v2/applications')).length, 1)
})

test('definitions-scenario 3: an application without email is refused with its own error body', async (t) => {
  const store = await startStore(t)
  const refused = await store.fails(400, 'POST', '/v2/applications', { name: 'x' })
  assert.deepEqual(Object.keys(refused).sort(), ['error', 'errors', 'status'])
  assert.equal(refused['status'], 'BAD_REQUEST')
  assert.equal((refused['errors'] as string[]).length, 1)
  assert.match((refused['errors'] as string[])[0] as string, /email/)
  await store.fails(404, 'GET', '/v2/applications/x')
  const both = await store.fails(400, 'POST', '/v2/applications', { name: ' ', email: '' })
  assert.equal((both['errors'] as string[]).length, 2)
})

test('definitions-scenario 4: PATCH merges free attributes and keeps email and creation time', async (t) => {
  let now = 1000
  const store = await startStore(t, { now: () => now })
  await store.ok('POST', '/v2/applications', { ...demo, a: 1, b: 2, cloudProviders: 'aws' })
  now = 2000
  const patch = { name: 'demo', b: 3, c: 4, email: null, createTs: '7', updateTs: '7' }
  const patched = await store.ok('PATCH', '/v2/applications/DEMO', patch)
  const { a, b, c, email, createTs, updateTs, cloudProviders } = patched
  assert.deepEqual(
    { a, b, c, email, createTs, updateTs, cloudProviders },
    {
      a: 1,
      b: 3,
      c: 4,
      email: 'a@b.c',
      createTs: '1000',
      updateTs: '2000',
      cloudProviders: 'aws',
    },
  )
})

test('definitions-scenario 5: PUT replaces all free attributes', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/v2/applications', { ...demo, a: 1, b: 2, description: 'old' })
  await store.ok('PUT', '/v2/applications/demo', { name: 'demo', email: 'z@z.z', c: 9 })
  const read = await store.ok('GET', '/v2/applications/demo')
  assert.equal('a' in read || 'b' in read, false)
  assert.equal(read['c'], 9)
  assert.equal(read['description'], null)
})

test('definitions-scenario 6: a body whose name differs from the path is rejected', async (t) => {
  const store = await startStore(t)
  await store.fails(400, 'PATCH', '/v2/applications/demo', { name: 'other', email: 'a@b.c' })
  await store.fails(400, 'PATCH', '/v2/applications/demo', { email: 'a@b.c' })
  assert.deepEqual(await namesAt(store, '/v2/applications'), [])
})

test('definitions-scenario 7: filters must all hold, and the closest match comes first', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/v2/applications', { name: 'alphabet', email: 'y@q' })
  await store.ok('POST', '/v2/applications', { name: 'alpha', email: 'x@q' })
  assert.deepEqual(await namesAt(store, '/v2/applications?name=ALPHA&email=y'), ['ALPHABET'])
  assert.deepEqual(await namesAt(store, '/v2/applications?name=alpha&pageSize=1'), ['ALPHA'])
  assert.deepEqual(await namesAt(store, '/v2/applications?restricted=false'), ['ALPHA', 'ALPHABET'])
  assert.deepEqual(await namesAt(store, '/v2/applications?constructor=Object'), [])
})

test('definitions-scenario 8: permissions are shown on an application only while they restrict it', async (t) => {
  const refreshed: unknown[] = []
  const store = await startStore(t, {
    others: async (service, { path, body }) => {
      refreshed.push({ service, path, body })
      return { status: 503, body: undefined }
    },
  })
  await store.ok('POST', '/v2/applications', demo)
  await store.ok('PUT', '/permissions/applications/demo', {
    name: 'demo',
    permissions: { READ: [' Ops '], WRITE: [] },
  })
  assert.deepEqual((await store.ok('GET', '/v2/applications/demo'))['permissions'], {
    READ: ['ops'],
  })
  assert.deepEqual((await store.ok<Fields[]>('GET', '/v2/applications'))[0]?.['permissions'], {
    READ: ['ops'],
  })
  await store.ok('PUT', '/permissions/applications/demo', { permissions: {} })
  assert.equal('permissions' in (await store.ok('GET', '/v2/applications/demo')), false)
  assert.deepEqual(
    refreshed,
    Array(2).fill({ service: 'fiat', path: '/roles/sync', body: ['ops'] }),
  )
})

test('a permission for roles without users logs no warning', async (t) => {
  const lines: Record<string, unknown>[] = []
  const store = await startStore(t, {
    others: async () => ({ status: 503, body: undefined }),
    log: (line) => lines.push(line),
  })
  await store.ok('POST', '/v2/applications', demo)
  await store.ok('PUT', '/permissions/applications/demo', { permissions: { READ: ['ops'] } })
  assert.deepEqual(
    lines.filter(({ roles }) => roles !== undefined).map(({ level, roles }) => ({ level, roles })),
    [{ level: 30, roles: ['ops'] }],
  )
  assert.ok(lines.every(({ level }) => Number(level) <= 30))
})

test('definitions-scenario 9: deleting an application removes what belongs to it', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/v2/applications', demo)
  const first = await store.ok('POST', '/pipelines', { application: 'demo', name: 'one' })
  await store.ok('POST', '/pipelines', { application: 'Demo', name: 'two' })
  await store.ok('POST', '/strategies', { application: 'demo', name: 's', strategy: true })
  await store.ok('POST', '/serviceAccounts', {
    name: `${first['id']}@managed-service-account`,
    memberOf: ['ops'],
  })
  await store.ok('PUT', '/permissions/applications/demo', { permissions: { READ: ['ops'] } })
  const clusters = [{ account: 'a', applications: ['demo', 'other'] }]
  const p1 = await store.ok('POST', '/v2/projects', {
    name: 'P1',
    config: { applications: ['demo'] },
  })
  const p2 = await store.ok('POST', '/v2/projects', {
    name: 'P2',
    config: { applications: ['demo', 'other'], clusters },
  })
  await store.ok('POST', '/notifications/application/demo', {
    email: [{ type: 'email', address: 'x@y' }],
  })

  assert.equal((await store.ask('DELETE', '/v2/applications/DEMO')).status, 204)

  assert.deepEqual(await store.ok('GET', '/pipelines/demo'), [])
  assert.deepEqual(await store.ok('GET', '/strategies/demo'), [])
  assert.deepEqual(await store.ok('GET', '/serviceAccounts'), [])
  await store.fails(404, 'GET', `/v2/projects/${p1['id']}`)
  const config = (await store.ok('GET', `/v2/projects/${p2['id']}`))['config'] as Fields
  assert.deepEqual(config, {
    applications: ['other'],
    clusters: [{ account: 'a', applications: ['other'] }],
  })
  assert.deepEqual(await store.ok('GET', '/notifications/application/demo'), {})
  await store.ok('GET', '/permissions/applications/demo')
  assert.equal((await store.ask('DELETE', '/v2/applications/DEMO')).status, 204)
})

test('the history of an application outlives its deletion', async (t) => {
  const store = await startStore(t, { now: () => 5000 })
  await store.ok('POST', '/v2/applications', { ...demo, team: 'blue' })
  await store.ok('PATCH', '/v2/applications/demo', { name: 'demo', team: 'red' })
  await store.ask('DELETE', '/v2/applications/demo')
  const teams = (await store.ok<Fields[]>('GET', '/v2/applications/demo/history')).map(
    (version) => version['team'],
  )
  assert.deepEqual(teams, ['red', 'blue'])
  await store.fails(404, 'GET', '/v2/applications/demo/history?limit=1')
  await store.ok('POST', '/v2/applications', { ...demo, team: 'green' })
  const versions = await store.ok<Fields[]>('GET', '/v2/applications/demo/history?limit=2')
  assert.deepEqual(
    versions.map((version) => version['team']),
    ['green', 'red'],
  )
})

test('a traffic guard is enabled unless it says otherwise', async (t) => {
  const store = await startStore(t)
  const guards = [
    { account: 'a', location: 'b', stack: '*', detail: '*' },
    { account: 'c', enabled: false },
  ]
  const created = await store.ok('POST', '/v2/applications', { ...demo, trafficGuards: guards })
  assert.deepEqual(
    (created['trafficGuards'] as Fields[]).map((guard) => guard['enabled']),
    [true, false],
  )
  const patched = await store.ok('PATCH', '/v2/applications/demo', { name: 'demo', x: 1 })
  assert.equal((patched['trafficGuards'] as Fields[]).length, 2)
})

test('the list generates missing permission records', async (t) => {
  const store = await startStore(t)
  await store.ok('POST', '/v2/applications', demo)
  await store.ok('POST', '/permissions/applications/Later', {
    name: 'Later',
    requiredGroupMembership: ['Ops'],
  })
  const records = await store.ok<Fields[]>('GET', '/permissions/applications')
  assert.deepEqual(records[0]?.['permissions'], { READ: ['ops'], WRITE: ['ops'] })
  assert.equal(records[0]?.['name'], 'Later')
  assert.deepEqual(records[1], {
    name: 'DEMO',
    permissions: {},
    lastModified: -1,
    lastModifiedBy: 'auto-generated',
  })
  await store.fails(404, 'GET', '/permissions/applications/demo')
  const replaced = await store.ok('POST', '/permissions/applications', {
    name: 'later',
    permissions: { READ: ['Dev'] },
  })
  assert.deepEqual(replaced['permissions'], { READ: ['dev'] })
  assert.deepEqual((await store.ok('GET', '/permissions/applications/Later'))['permissions'], {
    READ: ['dev'],
  })
  await store.fails(400, 'POST', '/permissions/applications', { permissions: { READ: ['dev'] } })
  assert.equal((await store.ask('DELETE', '/permissions/applications/LATER')).status, 200)
  assert.equal((await store.ask('DELETE', '/permissions/applications/later')).status, 200)
  await store.fails(404, 'GET', '/permissions/applications/later')
})

test('no application gets a name that stands for something else', async (t) => {
  const store = await startStore(t)
  const names = [
    '*',
    'web*',
    'a,b',
    'a/b',
    '..',
    '__proto__',
    'constructor',
    'toString',
    'a\u0000b',
    '\uff57\uff45\uff42',
    'a\u200bb',
  ]
  for (const name of names) {
    const body = { name, email: 'a@b.c' }
    const path = `/v2/applications/${encodeURIComponent(name)}`
    const answers = await Promise.all([
      store.ask('POST', '/v2/applications', body),
      store.ask('PATCH', path, body),
      store.ask('PUT', path, body),
      store.ask('POST', `/permissions/applications/${encodeURIComponent(name)}`, {
        name,
        permissions: { READ: ['r'] },
      }),
    ])
    for (const { status, body: answer } of answers) {
      assert.ok(
        status === 400 || status === 404,
        `${JSON.stringify(name)}: ${status} ${JSON.stringify(answer)}`,
      )
    }
    assert.match(String((answers[0].body as Fields)['message']), /application name/)
    assert.equal((await store.ask('GET', path)).status, 404)
  }
  assert.deepEqual(await store.ok('GET', '/v2/applications'), [])
  assert.deepEqual(await store.ok('GET', '/permissions/applications'), [])
})

test('nothing is saved under an application name with invisible characters', async (t) => {
  const store = await startStore(t)
  for (const [name, reason] of [
    ['we\u200bb', 'holds the character U+200B, which is invisible'],
    ['web\u2060', 'holds the character U+2060, which is invisible'],
    ['web\ufeff', 'holds the character U+FEFF, which is invisible'],
    ['\uff57eb', 'holds the character U+FF57, which Unicode takes for U+0077'],
  ] as const) {
    const body = { application: name, name: 'p' }
    const answers = await Promise.all([
      store.fails(400, 'POST', '/pipelines', body),
      store.fails(400, 'POST', '/strategies', body),
      store.fails(400, 'POST', '/snapshots', { application: name, account: 'prod' }),
      store.fails(400, 'POST', `/notifications/application/${encodeURIComponent(name)}`, {}),
    ])
    for (const { message } of answers) assert.ok(String(message).includes(reason), `${message}`)
    const batch = await store.ok('POST', '/pipelines/batchUpdate', [body])
    assert.ok(
      String(at(batch, 'failed_pipelines', 0, 'errorMsg')).includes(reason),
      JSON.stringify(batch),
    )
  }
  assert.deepEqual(await store.ok('GET', '/pipelines'), [])
})

test('clients do not say when something was created', async (t) => {
  let now = 1_900_000_000_000
  const store = await startStore(t, { now: () => now })
  const sent = { createTs: '1', updateTs: '1' }
  await store.ok('POST', '/v2/applications', { name: 'web', email: 'a@b.c', ...sent })
  await store.ok('POST', '/pipelines', { id: 'P', application: 'web', name: 'build', ...sent })
  await store.ok('POST', '/v2/projects', { id: 'J', name: 'harbour', createTs: 1, updateTs: 1 })
  const created = now
  now += 1000
  await store.ok('PATCH', '/v2/applications/web', { name: 'web', note: 'x', ...sent })
  await store.ok('PUT', '/v2/projects/J', { id: 'J', name: 'harbour', createTs: 1 })

  const application = await store.ok('GET', '/v2/applications/web')
  const project = await store.ok('GET', '/v2/projects/J')
  const pipeline = await store.ok('GET', '/pipelines/P/get')
  assert.deepEqual(
    [application['createTs'], application['updateTs']],
    [String(created), String(now)],
  )
  assert.deepEqual([project['createTs'], project['updateTs']], [created, now])
  assert.deepEqual([pipeline['createTs'], pipeline['updateTs']], [undefined, String(created)])
})

test('the list of applications is what each of them is, in order of their names', async (t) => {
  const store = await startStore(t)
  const tag = async (known = '') => {
    const answer = await fetch(`${store.url}/v2/applications`, {
      headers: { 'if-none-match': known },
    })
    return [answer.status, answer.headers.get('etag') ?? ''] as const
  }
  assert.deepEqual(await store.ok('GET', '/v2/applications'), [])
  const [, empty] = await tag()
  for (const name of ['b_', 'B', 'ba', 'a-1'])
    await store.ok('POST', '/v2/applications', { ...demo, name })
  await store.ok('POST', '/permissions/applications/ba', {
    name: 'ba',
    permissions: { READ: ['dev'] },
  })
  await store.ok('POST', '/permissions/applications/b', { name: 'b', permissions: {} })
  const list = await store.ok<Fields[]>('GET', '/v2/applications')
  assert.deepEqual(
    list.map(({ name }) => name),
    ['A-1', 'B', 'BA', 'B_'],
  )
  for (const listed of list)
    assert.deepEqual(listed, await store.ok('GET', `/v2/applications/${listed['name']}`))
  assert.deepEqual((await store.ok<Fields[]>('GET', '/v2/applications?pageSize=2')).length, 2)
  const [status, now] = await tag(empty)
  assert.equal(status, 200)
  assert.deepEqual(await tag(now), [304, now])
  await store.ok('POST', '/permissions/applications/b', {
    name: 'b',
    permissions: { READ: ['dev'] },
  })
  assert.equal((await tag(now))[0], 200)
})

test('declared environments are stored as they are, and mistakes are named', async (t) => {
  const store = await startStore(t)
  const production = {
    name: 'production',
    accounts: ['prod'],
    mayPromote: ['ops'],
    constraints: [{ type: 'soakTime', minutes: 5 }],
  }
  const constrained = (constraint: Fields) => ({ ...production, constraints: [constraint] })
  const canary = (lifetimeDuration: string) => {
    const canaryConfig = {
      canaryConfigId: 'c',
      lifetimeDuration,
      scopes: [{ scopeName: 'default' }],
    }
    return { type: 'canary', trafficPercent: 5, canaryConfig }
  }
  const environments = [{ name: 'staging', accounts: ['staging'], regions: ['eu'] }, production]
  const created = await store.ok('POST', '/v2/applications', { ...demo, environments })
  assert.deepEqual(created['environments'], environments)
  const mistakes: [declared: unknown, message: RegExp][] = [
    [[{ name: 'staging' }], /environments\.0\.accounts: it is missing/],
    [
      [{ ...production, account: 'prod' }],
      /environments\.0\.account: an environment has no such field, only name, accounts, /,
    ],
    [
      [production, { ...production, name: 'Production' }],
      /environments\.1\.name: another environment is named "Production" too/,
    ],
    [
      [{ ...production, constraints: [{ type: 'soak' }] }],
      /constraints\.0\.type: it must be one of judgment, soakTime, /,
    ],
    [
      [{ ...production, constraints: [{ type: 'soakTime' }] }],
      /minutes: a constraint of the type soakTime needs it/,
    ],
    [
      [constrained({ type: 'soakTime', minutes: 5, hours: 1 })],
      /"hours" is not a field of the constraint soakTime. Use one of minutes/,
    ],
    [
      [constrained({ type: 'verification', checks: [{ type: 'metric', bound: 'low' }] })],
      /"checks\[0\].bound" must be a number/,
    ],
    [
      [constrained({ type: 'canary', canaryConfig: { lifetimeDuration: 'PT1H' } })],
      /"canaryConfig.scopes" is missing/,
    ],
    [
      [constrained(canary('soon'))],
      /"canaryConfig.lifetimeDuration" must be a duration such as PT1H30M, not "soon"\.$/,
    ],
  ]
  await store.ok('PATCH', '/v2/applications/demo', {
    name: 'demo',
    environments: [constrained(canary('PT1H'))],
  })
  for (const [declared, message] of mistakes) {
    const refused = await store.fails(400, 'PATCH', '/v2/applications/demo', {
      name: 'demo',
      environments: declared,
    })
    assert.match(String(refused['message']), message)
  }
})

test('environments that cannot work have findings', () => {
  const accounts = [
    { name: 'prod', regions: [{ name: 'eu' }] },
    { name: 'cluster', namespaces: ['web'] },
  ].map(toAccount)
  const declared = [
    { name: 'staging', accounts: ['cluster', 'gone'], regions: ['new-namespace'] },
    { name: 'production', accounts: ['prod'], regions: ['eu', 'us'] },
  ]
  const misfits = (known: typeof accounts | undefined) =>
    environmentFindings(declared, known).map(({ message }) => message)
  assert.deepEqual(misfits(accounts), [
    'The environment "staging" names the account "gone", which does not exist: correct or add it.',
    'The environment "production" names the region "us": its accounts have eu only.',
  ])
  assert.deepEqual(misfits(undefined), [], 'another service knows the accounts')
})
