/** Accounts: what is shown of them, and who may write to them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Reply } from '../../support/upstream.ts'
import { annMayLogIn, asAnn, askUntil, type Platform, startServices } from './contract.ts'

const accounts = [
  {
    name: 'prod.eu',
    accountId: '12',
    type: 'aws',
    cloudProvider: 'aws',
    environment: 'prod',
    requiredGroupMembership: [],
    permissions: { READ: ['Everyone'], WRITE: ['Ops'] },
    primaryAccount: true,
    regions: null,
  },
  {
    name: 'old',
    type: 'gce',
    cloudProvider: 'gce',
    requiredGroupMembership: ['Legacy'],
    accountId: null,
  },
  { name: 'open', type: 'kubernetes', cloudProvider: 'kubernetes', permissions: {} },
]

async function startWithAccounts(t: TestContext, fiat: unknown, settings = {}): Promise<Platform> {
  const platform = await startServices(
    t,
    { 'clouddriver GET /credentials?expand=true': accounts, 'fiat GET /authorize/ann': fiat },
    settings,
  )
  await askUntil(
    () => platform.ask('GET /credentials', undefined, asAnn),
    ({ body }) => Array.isArray(body) && body.length > 0,
  )
  return platform
}

function flags(body: unknown): Record<string, boolean> {
  return Object.fromEntries(
    (body as { name: string; authorized: boolean }[]).map(({ name, authorized }) => [
      name,
      authorized,
    ]),
  )
}

const withFiat = { ...annMayLogIn, services: { fiat: {} } }

test('infrastructure-scenario 9: the short form has few fields, no nulls, and permissions of a membership', async (t) => {
  const platform = await startWithAccounts(t, undefined)
  assert.deepEqual((await platform.ask('GET /credentials')).body, [
    {
      name: 'prod.eu',
      accountId: '12',
      type: 'aws',
      requiredGroupMembership: [],
      permissions: { READ: ['everyone'], WRITE: ['ops'] },
      authorized: false,
    },
    {
      name: 'old',
      type: 'gce',
      requiredGroupMembership: ['Legacy'],
      permissions: { READ: ['legacy'], WRITE: ['legacy'] },
      authorized: false,
    },
    { name: 'open', type: 'kubernetes', permissions: {}, authorized: true },
  ])
})

test('the full form has every field, in the list and alone', async (t) => {
  const platform = await startWithAccounts(t, undefined)
  const [first] = (await platform.ask('GET /credentials?expand=true')).body as Record<
    string,
    unknown
  >[]
  const { regions: _, ...fields } = accounts[0] as Record<string, unknown>
  assert.deepEqual(first, {
    ...fields,
    permissions: { READ: ['everyone'], WRITE: ['ops'] },
    authorized: false,
  })
  assert.deepEqual((await platform.ask('GET /credentials/prod.eu')).body, first)
})

test('an unknown account is 404, in other spellings too', async (t) => {
  const platform = await startWithAccounts(t, undefined)
  for (const name of ['nope', 'PROD.EU', 'constructor'])
    assert.equal((await platform.ask(`GET /credentials/${name}`)).status, 404, name)
})

test('identity never comes from the query', async (t) => {
  const platform = await startWithAccounts(t, undefined)
  const query =
    'roles=ops&roles=legacy&allowedAccounts=prod.eu&username=admin&email=a@b&firstName=a&lastName=b'
  assert.deepEqual(flags((await platform.ask(`GET /credentials?${query}`)).body), {
    'prod.eu': false,
    old: false,
    open: true,
  })
})

test('the permission service decides who reads an account, and `authorized`', async (t) => {
  const view = {
    name: 'ann',
    accounts: [
      { name: 'PROD.eu', authorizations: ['READ', 'WRITE'] },
      { name: 'open', authorizations: ['READ'] },
    ],
  }
  const platform = await startWithAccounts(t, view, withFiat)
  assert.deepEqual(flags((await platform.ask('GET /credentials', undefined, asAnn)).body), {
    'prod.eu': true,
    open: false,
  })
  assert.equal((await platform.ask('GET /credentials/old', undefined, asAnn)).status, 404)
  assert.equal(
    (
      (await platform.ask('GET /credentials/prod.eu', undefined, asAnn)).body as {
        authorized: boolean
      }
    ).authorized,
    true,
  )
})

test('READ alone authorizes no account', async (t) => {
  const view = { name: 'ann', accounts: [{ name: 'old', authorizations: ['READ'] }] }
  const platform = await startWithAccounts(t, view, withFiat)
  assert.deepEqual(flags((await platform.ask('GET /credentials', undefined, asAnn)).body), {
    old: false,
  })
})

test('infrastructure-scenario 10: a failing refresh keeps the list', async (t) => {
  const platform = await startWithAccounts(t, undefined)
  platform.upstream.answer(() => new Reply(500))
  assert.equal(((await platform.ask('GET /credentials')).body as unknown[]).length, 3)
})
