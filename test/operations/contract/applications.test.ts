/** Applications: the merged list, one from two services, and limited callers. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Reply } from '../../support/upstream.ts'
import {
  annMayLogIn,
  asAnn,
  askUntil,
  type Platform,
  type ServiceAnswers,
  startServices,
} from './contract.ts'

const stored = [
  { name: 'SHOP', email: 'Shop@Example.org', accounts: 'old', cloudProviders: 'aws' },
  { name: 'Ledger', email: 'money@example.org' },
  { email: 'nameless@example.org' },
]
const running = [
  {
    name: 'shop',
    attributes: { name: 'shop', email: 'clouddriver@x', createTs: '1' },
    clusters: { dev: [], prod: [] },
  },
  { name: 'orphan', attributes: { name: 'orphan' }, clusterNames: { dev: ['orphan-main'] } },
]
const lists = { 'front50 GET /v2/applications': stored, 'clouddriver GET /applications': running }

async function startWithList(
  t: TestContext,
  answers: ServiceAnswers,
  settings = {},
): Promise<Platform> {
  const platform = await startServices(t, { ...lists, ...answers }, settings)
  await askUntil(
    () => platform.ask('GET /applications', undefined, asAnn),
    ({ body }) => Array.isArray(body) && body.length > 0,
  )
  return platform
}

function names(body: unknown): string[] {
  return (body as { name: string }[]).map(({ name }) => name)
}

test('the list merges definitions with accounts of the infrastructure', async (t) => {
  const platform = await startWithList(t, {})
  const { status, body } = await platform.ask('GET /applications')
  assert.equal(status, 200)
  assert.deepEqual(body, [
    {
      name: 'shop',
      email: 'Shop@Example.org',
      accounts: 'dev,prod',
      cloudProviders: 'aws',
      createTs: '1',
    },
    { name: 'ledger', email: 'money@example.org' },
    { name: 'orphan', accounts: 'dev' },
  ])
})

test('the list is filtered by account and owner in any case', async (t) => {
  const platform = await startWithList(t, {})
  const rows: [query: string, wanted: string[]][] = [
    ['account=PROD', ['shop']],
    ['account=dev', ['shop', 'orphan']],
    ['account=pro', []],
    ['owner=shop@example.ORG', ['shop']],
    ['owner=shop', []],
    ['account=dev&owner=shop@example.org', ['shop']],
  ]
  for (const [query, wanted] of rows)
    assert.deepEqual(names((await platform.ask(`GET /applications?${query}`)).body), wanted, query)
})

test('applications that only the infrastructure knows can be left out', async (t) => {
  const platform = await startWithList(t, {}, { application: { useFront50AsSourceOfTruth: true } })
  assert.deepEqual(names((await platform.ask('GET /applications')).body), ['shop', 'ledger'])
})

test('auth-scenario 220: the list holds what the caller may read', async (t) => {
  const view = {
    name: 'ann',
    applications: [
      { name: 'Shop', authorizations: ['READ'] },
      { name: 'ledger', authorizations: ['WRITE'] },
    ],
  }
  const platform = await startWithList(
    t,
    { 'fiat GET /authorize/ann': view },
    { ...annMayLogIn, services: { fiat: {} } },
  )
  assert.deepEqual(names((await platform.ask('GET /applications', undefined, asAnn)).body), [
    'shop',
  ])
})

test('applications name only accounts that the caller may read', async (t) => {
  const readable = ['shop', 'orphan', 'ledger'].map((name) => ({ name, authorizations: ['READ'] }))
  const view = {
    name: 'ann',
    applications: readable,
    accounts: [{ name: 'Prod', authorizations: ['READ'] }],
  }
  const answers = {
    'fiat GET /authorize/ann': view,
    'front50 GET /v2/applications/shop': stored[0],
  }
  const platform = await startWithList(t, answers, { ...annMayLogIn, services: { fiat: {} } })
  const accountsOf = async (query: string) => {
    const { body } = await platform.ask(`GET /applications${query}`, undefined, asAnn)
    return (body as { name: string; accounts?: string }[]).map(({ name, accounts }) => [
      name,
      accounts,
    ])
  }
  assert.deepEqual(await accountsOf(''), [
    ['shop', 'prod'],
    ['ledger', undefined],
    ['orphan', ''],
  ])
  assert.deepEqual(await accountsOf('?account=prod'), [['shop', 'prod']])
  assert.deepEqual(await accountsOf('?account=dev'), [], 'a filter does not tell either')
  const { body } = await platform.ask('GET /applications/shop?expand=false', undefined, asAnn)
  assert.equal((body as { attributes: { accounts: string } }).attributes.accounts, '')
})

test('auth-scenario 221: an application unknown to the permission service is shown if allowed', async (t) => {
  const view = {
    name: 'ann',
    applications: [{ name: 'ledger', authorizations: [] }],
    allowAccessToUnknownApplications: true,
  }
  const platform = await startWithList(
    t,
    { 'fiat GET /authorize/ann': view },
    { ...annMayLogIn, services: { fiat: {} } },
  )
  assert.deepEqual(names((await platform.ask('GET /applications', undefined, asAnn)).body), [
    'shop',
    'orphan',
  ])
})

test('auth-scenario 222: an administrator is shown every application', async (t) => {
  const view = { name: 'ann', admin: true, applications: [] }
  const platform = await startWithList(
    t,
    { 'fiat GET /authorize/ann': view },
    { ...annMayLogIn, services: { fiat: {} } },
  )
  assert.deepEqual(names((await platform.ask('GET /applications', undefined, asAnn)).body), [
    'shop',
    'ledger',
    'orphan',
  ])
})

test('one application has attributes of both services, and clusters by account', async (t) => {
  const platform = await startServices(t, {
    'front50 GET /v2/applications/Web.App': {
      name: 'WEB.APP',
      email: 'a@b',
      accounts: 'old',
      big: 1,
    },
    'clouddriver GET /applications/Web.App': {
      name: 'web.app',
      attributes: { name: 'web.app', email: 'other@b', platform: 'x' },
      clusters: { dev: [{ name: 'web.app-main' }] },
    },
  })
  const { status, body } = await platform.ask('GET /applications/Web.App')
  assert.equal(status, 200)
  assert.deepEqual(body, {
    name: 'web.app',
    attributes: { name: 'web.app', email: 'a@b', accounts: 'dev', big: 1, platform: 'x' },
    clusters: { dev: [{ name: 'web.app-main' }] },
  })
  assert.deepEqual(platform.calls().sort(), [
    'clouddriver GET /applications/Web.App',
    'front50 GET /v2/applications/Web.App',
  ])
})

test('infrastructure-scenario 17: an application is shown from either service alone', async (t) => {
  const platform = await startServices(t, {
    'clouddriver GET /applications/orphan': running[1],
    'front50 GET /v2/applications/new': { name: 'NEW' },
    'clouddriver GET /applications/new': new Reply(500),
  })
  assert.deepEqual((await platform.ask('GET /applications/orphan')).body, {
    name: 'orphan',
    attributes: { name: 'orphan', accounts: 'dev' },
    clusters: {},
  })
  assert.deepEqual((await platform.ask('GET /applications/new')).body, {
    name: 'new',
    attributes: { name: 'new' },
    clusters: {},
  })
})

test('an application without the part of a service says so', async (t) => {
  const platform = await startServices(t, {
    'front50 GET /v2/applications/whole': { name: 'WHOLE' },
    'front50 GET /v2/applications/half': { name: 'HALF' },
    'clouddriver GET /applications/half': new Reply(503),
    'front50 GET /v2/applications/odd': { name: 'ODD' },
    'clouddriver GET /applications/odd': [],
    'front50 GET /v2/applications/orphan': new Reply(500),
    'clouddriver GET /applications/orphan': running[1],
    'front50 GET /v2/applications/gone': new Reply(500),
    'clouddriver GET /applications/gone': 'no object',
  })
  const warningOf = async (path: string) => {
    const { status, headers } = await platform.ask(`GET /applications/${path}`)
    return [status, headers.get('warning'), headers.get('etag') !== null]
  }
  assert.deepEqual(await warningOf('whole'), [200, null, true])
  const missing = (service: string) =>
    `199 fairlead "${service} does not answer, so its part may be missing"`
  assert.deepEqual(await warningOf('half'), [200, missing('clouddriver'), false])
  assert.deepEqual(await warningOf('odd'), [200, missing('clouddriver'), false])
  assert.deepEqual(await warningOf('half?expand=false'), [200, null, true])
  assert.deepEqual(await warningOf('orphan'), [200, missing('front50'), false])
  const gone = await platform.ask('GET /applications/gone')
  assert.equal(gone.status, 404)
  assert.match(
    String((gone.body as { message: string }).message),
    /"gone" in what is known; front50 and clouddriver gave no usable answer/,
  )
})

test('an unknown application is 404 with its name', async (t) => {
  const platform = await startServices(t, {})
  for (const query of ['', '?expand=true', '?expand=false']) {
    const { status, body } = await platform.ask(`GET /applications/nobody${query}`)
    assert.equal(status, 404)
    assert.match((body as { message: string }).message, /nobody/)
  }
})

test('with expand=false only the definition store is asked', async (t) => {
  const platform = await startWithList(t, {
    'front50 GET /v2/applications/shop': { name: 'SHOP', email: 'new@b' },
  })
  const { body } = await platform.ask('GET /applications/shop?expand=false')
  assert.deepEqual(body, {
    name: 'shop',
    attributes: {
      name: 'shop',
      email: 'new@b',
      accounts: 'dev,prod',
      cloudProviders: 'aws',
      createTs: '1',
    },
    clusters: {},
  })
  assert.deepEqual(platform.calls(), ['front50 GET /v2/applications/shop'])
})

for (const [what, reply, status] of [
  ['fails', new Reply(500), 200],
  ['is overloaded', new Reply(503), 200],
  ['says 404', new Reply(404), 200],
  ['refuses', new Reply(403, { message: 'no' }), 403],
  ['does not know the caller', new Reply(401), 401],
] as const) {
  test(`while the definition store ${what}, a listed application is ${status}`, async (t) => {
    const platform = await startWithList(t, {
      'front50 GET /v2/applications/shop': reply,
      'clouddriver GET /applications/shop': running[0],
    })
    for (const query of ['?expand=false', '?expand=true']) {
      assert.equal((await platform.ask(`GET /applications/shop${query}`)).status, status, query)
    }
  })
}

test('an unreadable definition counts as none', async (t) => {
  const platform = await startServices(t, { 'front50 GET /v2/applications/shop': '<html>' })
  assert.equal((await platform.ask('GET /applications/shop')).status, 404)
})

test('an application from the list is hidden without READ', async (t) => {
  const view = { name: 'ann', applications: [{ name: 'ledger', authorizations: ['READ'] }] }
  const answers = {
    'fiat GET /authorize/ann': view,
    'front50 GET /v2/applications/shop': new Reply(500),
  }
  const platform = await startWithList(t, answers, { ...annMayLogIn, services: { fiat: {} } })
  const { status, body } = await platform.ask(
    'GET /applications/shop?expand=false',
    undefined,
    asAnn,
  )
  assert.equal(status, 403)
  assert.doesNotMatch(JSON.stringify(body), /Example\.org/)
})

test('a new application is listed once it has been read', async (t) => {
  const platform = await startWithList(t, {
    'front50 GET /v2/applications/fresh': { name: 'FRESH', email: 'a@b' },
  })
  assert.equal((await platform.ask('GET /applications/fresh?expand=false')).status, 200)
  assert.ok(names((await platform.ask('GET /applications')).body).includes('fresh'))
})

test('the definition store is asked first as only source', async (t) => {
  const platform = await startServices(
    t,
    { 'clouddriver GET /applications/orphan': running[1] },
    { application: { useFront50AsSourceOfTruth: true } },
  )
  assert.equal((await platform.ask('GET /applications/orphan')).status, 404)
  assert.deepEqual(platform.calls(), ['front50 GET /v2/applications/orphan'])
})

test('a strategy is found by its exact name, and 404 otherwise', async (t) => {
  const platform = await startServices(t, { 'front50 GET /strategies/shop': [{ name: 'Canary' }] })
  const { status, body } = await platform.ask('GET /applications/shop/strategyConfigs/canary')
  assert.equal(status, 404)
  assert.match((body as { message: string }).message, /shop.*canary/)
})
