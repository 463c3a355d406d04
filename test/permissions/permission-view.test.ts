/** Reading a permission view, and which accounts follow from it. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { allowedAccounts } from '../../packages/model/rights/allowed-accounts.ts'
import { fallbackView, parsePermissionView } from '../../packages/model/rights/permission-view.ts'
import { toPermissionRecord } from '../../packages/model/rights/permissions.ts'
import { isGranted } from '../../packages/model/rights/rights.ts'

const view = parsePermissionView(
  {
    name: 'alice',
    accounts: [
      { name: 'a', authorizations: ['WRITE', 'READ'] },
      { name: 'b', authorizations: ['READ'] },
    ],
    applications: [
      { name: 'App1', authorizations: ['READ'] },
      { name: 'app2', authorizations: ['WRITE'] },
      { name: 'bare' },
    ],
  },
  'alice',
)

test('auth-scenario 231: unknown fields and words in a view are tolerated', () => {
  const odd = parsePermissionView(
    {
      name: 'alice',
      admin: null,
      future: { deep: [1] },
      roles: [{ name: 'dev', source: 'MARS' }, { source: 'x' }, null, 'dev'],
      accounts: [{ name: 'a', authorizations: ['TELEPORT', 'write'] }, 7],
      applications: null,
      extensionResources: {},
    },
    'alice',
  )
  assert.deepEqual(
    odd.roles.map(({ name }) => name),
    ['dev'],
  )
  assert.deepEqual([odd.admin, odd.applications], [false, []])
  assert.equal(isGranted(odd, 'account', 'a', 'WRITE'), true)
})

test('something that is no view is not taken for one', () => {
  for (const body of [undefined, null, 'x', 7, [], { admin: 'yes' }])
    assert.throws(() => parsePermissionView(body, 'alice'))
})

const accounts = [
  { name: 'x' },
  { name: 'y', permissions: { WRITE: ['dev'], READ: [] } },
  { name: 'z', requiredGroupMembership: ['Ops'] },
  { name: 'both', permissions: { READ: ['dev'] }, requiredGroupMembership: ['dev'] },
  { name: 'empty', permissions: {} },
  { name: 'blank', permissions: { READ: [], WRITE: [] } },
  { name: 'broken', permissions: 'yes', requiredGroupMembership: 'dev' },
].map(toPermissionRecord)

test('auth-scenario 226: without permission service, accounts are allowed by roles', () => {
  assert.deepEqual(allowedAccounts('off', accounts, ['DEV']), [
    'x',
    'y',
    'empty',
    'blank',
    'broken',
  ])
  assert.deepEqual(allowedAccounts('off', accounts, ['ops ']), [
    'x',
    'z',
    'empty',
    'blank',
    'broken',
  ])
  assert.deepEqual(allowedAccounts('off', accounts, []), ['x', 'empty', 'blank', 'broken'])
})

test('accounts are those with WRITE, or by roles', () => {
  assert.deepEqual(allowedAccounts(view, accounts, ['dev']), ['a'])
  assert.deepEqual(allowedAccounts(undefined, accounts, ['dev']), [])
  assert.deepEqual(allowedAccounts(fallbackView('alice', ['y']), accounts, ['ops']), [
    'x',
    'z',
    'empty',
    'blank',
    'broken',
  ])
})
