/** Roles from the groups of a directory: direct ones, groups within groups, Unix groups, `memberOf`, and very many. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { group, person, userDn } from '../../fixtures/directory-entries.ts'
import { pattern, search, startLdap } from './support.ts'

const inGroups = { ...pattern, groupSearchBase: 'ou=groups' }
const many = 1200

const cases: {
  name: string
  ldap: Record<string, unknown>
  user: [string, string]
  roles: string[]
}[] = [
  {
    name: 'groups list their members',
    ldap: inGroups,
    user: ['bob', 'bobs word'],
    roles: ['dev', 'inner'],
  },
  {
    name: 'groups within groups count once they are asked for, and a circle of groups ends',
    ldap: { ...inGroups, nestedGroups: 'recursive' },
    user: ['bob', 'bobs word'],
    roles: ['circle', 'dev', 'inner', 'middle', 'outer'],
  },
  {
    name: 'the same as the manager',
    ldap: { ...search, groupSearchBase: 'ou=groups', nestedGroups: 'recursive' },
    user: ['bob', 'bobs word'],
    roles: ['circle', 'dev', 'inner', 'middle', 'outer'],
  },
  {
    name: 'an empty base of groups is the root',
    ldap: { ...pattern, groupSearchBase: '' },
    user: ['bob', 'bobs word'],
    roles: ['dev', 'inner'],
  },
  {
    name: 'groups of Unix list user names',
    ldap: {
      ...pattern,
      groupSearchBase: 'ou=posix',
      groupSearchFilter: '(&(objectClass=posixGroup)(memberUid={1}))',
    },
    user: ['alice', 'pw'],
    roles: ['unix'],
  },
  {
    name: 'the role has the name of another attribute',
    ldap: {
      ...inGroups,
      groupSearchBase: 'ou=posix',
      groupSearchFilter: '(memberUid={1})',
      groupRoleAttributes: 'gidnumber',
    },
    user: ['alice', 'pw'],
    roles: ['100'],
  },
  {
    name: 'groups that the entry of the user lists count, besides the others',
    ldap: { ...inGroups, memberOfAttribute: 'memberOf' },
    user: ['carol', 'carols word'],
    roles: ['release, managers', 'testers'],
  },
  {
    name: 'groups that the entry of the user lists count alone',
    ldap: { ...search, memberOfAttribute: 'memberOf' },
    user: ['carol', 'carols word'],
    roles: ['release, managers'],
  },
]

const carol = [
  person('carol', 'carols word', {
    more: [String.raw`memberOf: cn=Release\, Managers,ou=memberof,dc=example,dc=org`],
  }),
  group('Testers', [userDn('carol')]),
].join('\n\n')

for (const { name, ldap, user, roles } of cases) {
  test(name, async (t) => {
    const gateway = await startLdap(t, ldap, { directory: { ldif: carol } })
    if (gateway === undefined) return
    const browser = gateway.open()
    await browser.login(...user)
    assert.deepEqual((await browser.user())?.['roles'], roles)
  })
}

test('1200 groups arrive although the directory limits pages', async (t) => {
  const numbers = Array.from({ length: many }, (_, index) => index)
  const ldif = numbers.flatMap((number) => [
    person(`user${number}`, `word${number}`),
    group(`g${number}`, [userDn('busy')]),
  ])
  const directory = { ldif: [person('busy', 'word'), ...ldif].join('\n\n') }
  const gateway = await startLdap(t, { ...search, groupSearchBase: 'ou=groups' }, { directory })
  if (gateway === undefined) return
  const browser = gateway.open()
  await browser.login('busy', 'word')
  const { roles } = (await browser.user()) as { roles: string[] }
  assert.equal(roles.length, many)
  const other = gateway.open()
  await other.login('user1199', 'word1199')
  assert.equal((await other.user())?.['username'], 'user1199')
})

test('a filter that fits all users admits none', async (t) => {
  const ldif = Array.from({ length: 600 }, (_, index) => person(`user${index}`, 'word')).join(
    '\n\n',
  )
  const gateway = await startLdap(
    t,
    { ...search, userSearchFilter: '(|(uid={0})(objectClass=person))' },
    { directory: { ldif } },
  )
  if (gateway === undefined) return
  const browser = gateway.open()
  await browser.login('alice', 'pw')
  assert.equal(await browser.user(), undefined)
  assert.ok(gateway.lines.some(({ reason }) => reason === 'several entries match the user name'))
})
