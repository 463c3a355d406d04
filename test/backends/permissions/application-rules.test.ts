/** Rules by the beginning of names, and what else the settings of Fiat decide about applications and service accounts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  permissionsByRule,
  toApplicationRule,
} from '../../../packages/engine/permissions/application-rules.ts'
import type { RolesByAuthorization } from '../../../packages/engine/permissions/authorizations.ts'
import { mergeRoles } from '../../../packages/engine/permissions/roles.ts'
import type { View } from '../../../packages/engine/permissions/view.ts'
import { startService } from './support.ts'

const rules = [
  toApplicationRule('*', { CREATE: ['creators'] }),
  toApplicationRule('web*', { READ: ['readers'], CREATE: ['webbers'] }),
  toApplicationRule('Web-Shop*', { READ: ['shoppers'] }),
  toApplicationRule('web-shop', { WRITE: ['owners'] }),
]

const names: [
  name: string,
  strategy: 'AGGREGATE' | 'MOST_SPECIFIC',
  permissions: RolesByAuthorization,
][] = [
  ['api', 'AGGREGATE', { CREATE: ['creators'] }],
  ['WEBSITE', 'AGGREGATE', { READ: ['readers'], CREATE: ['creators', 'webbers'] }],
  ['web-shop-2', 'AGGREGATE', { READ: ['readers', 'shoppers'], CREATE: ['creators', 'webbers'] }],
  [
    'web-shop',
    'AGGREGATE',
    { READ: ['readers', 'shoppers'], WRITE: ['owners'], CREATE: ['creators', 'webbers'] },
  ],
  ['api', 'MOST_SPECIFIC', { CREATE: ['creators'] }],
  ['website', 'MOST_SPECIFIC', { READ: ['readers'], CREATE: ['webbers'] }],
  ['web-shop-2', 'MOST_SPECIFIC', { READ: ['shoppers'] }],
  [' Web-Shop ', 'MOST_SPECIFIC', { WRITE: ['owners'] }],
]

for (const [name, strategy, permissions] of names) {
  test(`with ${strategy}, the rules say ${JSON.stringify(permissions)} about "${name}"`, () => {
    assert.deepEqual(permissionsByRule({ rules, strategy }, name), permissions)
  })
}

test('no rule says anything about a name that none fits', () => {
  assert.deepEqual(permissionsByRule({ rules: rules.slice(1), strategy: 'AGGREGATE' }, 'we'), {})
  assert.deepEqual(
    permissionsByRule({ rules: rules.slice(1), strategy: 'MOST_SPECIFIC' }, 'we'),
    {},
  )
})

const grants = (view: View) =>
  Object.fromEntries(
    view.applications.map(({ name, authorizations }) => [name, authorizations.join(' ')]),
  )

test('rules add to permissions of applications and to EXECUTE', async (t) => {
  const { ask, viewOf } = await startService(t, {
    permissions: { applicationRules: { rules, strategy: 'AGGREGATE' } },
    declared: {
      '/permissions/applications': [{ name: 'website', permissions: { WRITE: ['writers'] } }],
      '/v2/applications': [{ name: 'WEBSITE' }, { name: 'webmail' }],
      '/applications': [{ name: 'web-shop' }],
    },
  })
  await ask('PUT', '/roles/ann', ['readers', 'writers'])
  await ask('PUT', '/roles/bob', ['owners'])
  assert.deepEqual(grants(await viewOf('ann')), {
    website: 'READ WRITE EXECUTE',
    webmail: 'READ EXECUTE',
    'web-shop': 'READ EXECUTE',
  })
  assert.deepEqual(grants(await viewOf('bob')), { website: '', webmail: '', 'web-shop': 'WRITE' })
})

test('the permissions of applications themselves can be left aside', async (t) => {
  const { ask, viewOf } = await startService(t, {
    permissions: { applicationRules: { rules, strategy: 'AGGREGATE' }, applicationsOwn: false },
    declared: {
      '/permissions/applications': [{ name: 'website', permissions: { WRITE: ['writers'] } }],
    },
  })
  await ask('PUT', '/roles/ann', ['writers', 'readers'])
  assert.deepEqual(grants(await viewOf('ann')), { website: 'READ EXECUTE' })
})

test('EXECUTE falls back on the configured authorization', async (t) => {
  const declared = {
    '/permissions/applications': [
      { name: 'one', permissions: { READ: ['readers'], WRITE: ['writers'] } },
      { name: 'two', permissions: { READ: ['readers'] } },
      { name: 'three', permissions: { WRITE: ['writers'], EXECUTE: ['robots'] } },
    ],
  }
  const { ask, viewOf } = await startService(t, {
    permissions: { executeFallback: 'WRITE' },
    declared,
  })
  await ask('PUT', '/roles/ann', ['readers', 'writers'])
  assert.deepEqual(grants(await viewOf('ann')), {
    one: 'READ WRITE EXECUTE',
    two: 'READ',
    three: 'WRITE',
  })
})

test('closed unknown applications exclude running and defined ones', async (t) => {
  const declared = {
    '/v2/applications': [{ name: 'defined' }],
    '/applications': [{ name: 'running' }],
  }
  const open = await startService(t, { declared })
  await open.ask('POST', '/roles/ann')
  assert.equal((await open.viewOf('ann')).allowAccessToUnknownApplications, true)
  assert.equal((await open.ask('GET', '/authorize/ann/applications/nowhere/WRITE')).status, 200)

  const closed = await startService(t, {
    declared,
    permissions: { allowAccessToUnknownApplications: false },
  })
  await closed.ask('POST', '/roles/ann')
  assert.equal((await closed.viewOf('ann')).allowAccessToUnknownApplications, false)
  for (const [name, status] of [
    ['defined', 200],
    ['running', 200],
    ['nowhere', 404],
  ] as const) {
    assert.equal(
      (await closed.ask('GET', `/authorize/ann/applications/${name}/WRITE`)).status,
      status,
      name,
    )
  }
})

test('without clouddriver a rule closes unknown applications', async (t) => {
  const { ask, viewOf } = await startService(t, {
    permissions: { applicationRules: { rules, strategy: 'AGGREGATE' } },
    declared: { '/applications': new Error('not there') },
  })
  await ask('POST', '/roles/ann')
  assert.equal((await viewOf('ann')).allowAccessToUnknownApplications, false)
  assert.equal((await ask('GET', '/authorize/ann/applications/web-shop/READ')).status, 404)
})

const creations: [user: string, application: unknown, status: number][] = [
  ['ann', { name: 'api' }, 200],
  ['ann', { name: 'WebSite' }, 200],
  ['bob', { name: 'website' }, 200],
  ['bob', { name: 'api' }, 404],
  ['cleo', { name: 'website' }, 404],
  ['cleo', { name: 'api', permissions: { CREATE: ['nobody'] } }, 404],
  ['root', { name: 'api' }, 200],
  ['bob', {}, 400],
  ['bob', null, 400],
  ['stranger', { name: 'website' }, 404],
]

for (const [user, application, status] of creations) {
  test(`restricted creation of ${JSON.stringify(application)} by ${user} answers ${status}`, async (t) => {
    const { ask } = await startService(t, {
      permissions: {
        restrictApplicationCreation: true,
        applicationRules: { rules, strategy: 'AGGREGATE' },
      },
    })
    await ask('PUT', '/roles/ann', ['creators'])
    await ask('PUT', '/roles/bob', ['webbers'])
    await ask('PUT', '/roles/cleo', ['nobody'])
    await ask('PUT', '/roles/root', ['admins'])
    assert.equal(
      (await ask('POST', `/authorize/${user}/applications/create`, application)).status,
      status,
    )
  })
}

test('an application without a rule may be created by all', async (t) => {
  const applicationRules = { rules: rules.slice(1), strategy: 'AGGREGATE' } as const
  const { ask } = await startService(t, {
    permissions: { restrictApplicationCreation: true, applicationRules },
  })
  await ask('POST', '/roles/ann')
  assert.equal(
    (await ask('POST', '/authorize/ann/applications/create', { name: 'api' })).status,
    200,
  )
  assert.equal(
    (await ask('POST', '/authorize/ann/applications/create', { name: 'web' })).status,
    404,
  )
})

test('a service account needs all its roles, or one', async (t) => {
  const declared = {
    '/serviceAccounts': [
      { name: 'both', memberOf: ['ops', 'dev'] },
      { name: 'none', memberOf: [] },
    ],
  }
  for (const [anyRoleOfServiceAccount, usable] of [
    [false, []],
    [true, ['both']],
  ] as const) {
    const { ask, viewOf } = await startService(t, {
      declared,
      permissions: { anyRoleOfServiceAccount },
    })
    await ask('PUT', '/roles/ann', ['ops'])
    assert.deepEqual(
      (await viewOf('ann')).serviceAccounts.map(({ name }) => name),
      usable,
    )
  }
})

test('service accounts with rights are listed up to the limit', async (t) => {
  const declared = { '/serviceAccounts': ['a', 'b'].map((name) => ({ name, memberOf: ['ops'] })) }
  for (const [maxExpandedServiceAccounts, status] of [
    [2, 200],
    [1, 400],
  ] as const) {
    const { ask } = await startService(t, { declared, permissions: { maxExpandedServiceAccounts } })
    await ask('PUT', '/roles/ann', ['ops'])
    assert.equal((await ask('GET', '/authorize/ann/serviceAccounts?expand=true')).status, status)
  }
})

test('account managers have one of the configured roles', async (t) => {
  const { ask, viewOf } = await startService(t, {
    permissions: { accountManagerRoles: ['keepers'] },
  })
  await ask('PUT', '/roles/ann', ['Keepers'])
  await ask('PUT', '/roles/bob', ['ops'])
  assert.deepEqual(
    [(await viewOf('ann')).accountManager, (await viewOf('bob')).accountManager],
    [true, false],
  )
})

test('an unknown user has no roles where that is set', async (t) => {
  const declared = {
    '/permissions/applications': [
      { name: 'closed', permissions: { READ: ['ops'] } },
      { name: 'open' },
    ],
  }
  const { viewOf } = await startService(t, {
    declared,
    permissions: { defaultToUnrestrictedUser: true },
  })
  const view = await viewOf('Stranger')
  assert.deepEqual([view.name, view.roles, view.admin], ['stranger', [], false])
  assert.deepEqual(grants(view), { closed: '', open: 'READ WRITE EXECUTE CREATE' })
})

test('merged roles are normalized, unique and complete', () => {
  let state = 1
  const random = (below: number) => {
    state = (state * 1664525 + 1013904223) % 4294967296
    return Math.floor((state / 4294967296) * below)
  }
  const parts = [
    'Ops',
    'ops',
    ' OPS ',
    'dev',
    'DEV ',
    '',
    ' ',
    'Äther',
    'äther',
    '__proto__',
    'constructor',
    'a b',
  ]
  const some = () => Array.from({ length: random(8) }, () => parts[random(parts.length)] ?? '')
  for (let round = 0; round < 2000; round++) {
    const [external, provided] = [some(), some()]
    const merged = mergeRoles(external, provided, 'FILE')
    const plain = (names: string[]) =>
      new Set(names.map((name) => name.trim().toLowerCase()).filter((name) => name !== ''))
    const list = merged.map(({ name }) => name)
    assert.deepEqual(new Set(list), plain([...external, ...provided]))
    assert.equal(new Set(list).size, list.length)
    for (const { name, source } of merged)
      assert.equal(source, plain(provided).has(name) ? 'FILE' : 'EXTERNAL')
  }
})
