/** The decision, compared with a reference model of few lines for random users, roles and resources. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Resources } from '../../packages/engine/permissions/resources.ts'
import { mergeRoles } from '../../packages/engine/permissions/roles.ts'
import { toPermissionView } from '../../packages/engine/permissions/view.ts'
import { decide } from '../../packages/model/rights/decide.ts'
import { parsePermissionView } from '../../packages/model/rights/permission-view.ts'
import type { Authorization } from '../../packages/model/rights/permissions.ts'

const authorizations = ['READ', 'WRITE', 'EXECUTE', 'CREATE'] as const
const roleNames = ['a', 'b', 'c', 'd', 'admins']

interface Resource {
  name: string
  permissions: Partial<Record<Authorization, string[]>>
}

/** Reference model: a resource without lists is open; one with lists grants what the list of that authorization names. */
function expected(
  kind: 'application' | 'account',
  resources: Resource[],
  name: string,
  wanted: Authorization,
  roles: string[],
) {
  if (roles.includes('admins')) return true
  const resource = resources.find((one) => one.name.toLowerCase() === name.toLowerCase())
  if (resource === undefined) return kind === 'application'
  const lists = Object.values(resource.permissions)
  if (lists.length === 0) return true
  return resource.permissions[wanted]?.some((role) => roles.includes(role)) ?? false
}

test('random decisions match the reference model', () => {
  for (let seed = 1; seed <= 2000; seed++) {
    const random = createRandom(seed)
    const applications = ['Web', 'api', 'x'].map((name) => randomResource(random, name))
    const accounts = ['Prod', 'test'].map((name) => randomResource(random, name))
    const roles = roleNames.filter(() => random() < 0.3)
    const resources = { applications, accounts, buildServices: accounts, serviceAccounts: [] }
    const view = parsePermissionView(viewOf(roles, resources), 'u')
    for (const authorization of authorizations) {
      for (const name of ['web', 'API', 'x', 'unknown', 'prod', 'TEST']) {
        for (const kind of ['application', 'account'] as const) {
          const all = kind === 'application' ? applications : accounts
          const { allowed } = decide(view, { kind, name, authorization })
          const facts = JSON.stringify({ seed, kind, name, authorization, roles, all })
          assert.equal(allowed, expected(kind, all, name, authorization, roles), facts)
        }
      }
    }
  }
})

test('a further role never takes a right away', () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = createRandom(seed)
    const resources = {
      applications: [randomResource(random, 'web')],
      accounts: [],
      buildServices: [],
      serviceAccounts: [],
    }
    const few = roleNames.filter(() => random() < 0.3)
    const more = [...new Set([...few, ...roleNames.filter(() => random() < 0.3)])]
    const [less, greater] = [few, more].map((roles) =>
      parsePermissionView(viewOf(roles, resources), 'u'),
    )
    for (const authorization of authorizations) {
      const need = { kind: 'application', name: 'web', authorization } as const
      assert.ok(!decide(less, need).allowed || decide(greater, need).allowed, `seed ${seed}`)
    }
  }
})

test('whom the permission service does not know may do nothing', () => {
  assert.equal(
    decide(undefined, { kind: 'application', name: 'web', authorization: 'READ' }).allowed,
    false,
  )
})

test('names are compared as the definition store does', () => {
  const resources = {
    applications: [{ name: 'secret', permissions: { READ: ['a'] } }],
    accounts: [],
    buildServices: [],
    serviceAccounts: [],
  }
  const view = parsePermissionView(viewOf([], resources), 'u')
  for (const name of ['SECRET', ' secret ', '\u017Fecret', 'secret\u00A0']) {
    assert.equal(
      decide(view, { kind: 'application', name, authorization: 'READ' }).allowed,
      false,
      name,
    )
  }
})

test('unknown applications are open or closed as the view says', () => {
  for (const allowAccessToUnknownApplications of [true, false]) {
    const view = parsePermissionView({ allowAccessToUnknownApplications }, 'u')
    const { allowed } = decide(view, { kind: 'application', name: 'new', authorization: 'WRITE' })
    assert.equal(allowed, allowAccessToUnknownApplications)
  }
})

function viewOf(roles: readonly string[], resources: Omit<Resources, 'unknownApplications'>) {
  const rules = {
    adminRoles: ['admins'],
    accountManagerRoles: [],
    anyRoleOfServiceAccount: false,
    areBuiltIn: false,
  }
  return toPermissionView(
    'u',
    mergeRoles(roles, [], undefined),
    { ...resources, unknownApplications: true },
    rules,
  )
}

function randomResource(random: () => number, name: string): Resource {
  const permissions: Resource['permissions'] = {}
  for (const authorization of authorizations) {
    const roles = roleNames.filter((role) => role !== 'admins' && random() < 0.3)
    if (roles.length > 0 && random() < 0.6) permissions[authorization] = roles
  }
  return { name, permissions }
}

/** Numbers from 0 to 1 that follow from the seed. */
function createRandom(seed: number): () => number {
  let state = seed * 2654435761
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296
    return state / 4294967296
  }
}
