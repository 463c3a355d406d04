/** The guide about directories, followed step by step: its configurations are used as they stand, with other addresses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { person } from '../../fixtures/directory-entries.ts'
import { type DirectoryServer, startDirectory } from '../../support/directory.ts'
import { runGateway } from '../../support/gateway.ts'
import { blocksOf, readGuide } from '../../support/guide.ts'
import { Browser } from '../browser.ts'
import { basic } from '../support.ts'

const guide = readGuide('login-ldap')
const blocks = blocksOf(guide, 'yaml')

type Tree = { [key: string]: Tree | string | undefined; ldap?: Tree }

function configurationOf(index: number, { secureUrl, caFile }: DirectoryServer): Tree {
  const origin = new URL(secureUrl).host
  return parse(
    (blocks[index] ?? '')
      .replaceAll(/(directory|dc[12])\.example\.com/g, origin)
      .replaceAll('/etc/fairlead/ca.pem', caFile),
  ) as Tree
}

test('sections 1 to 3 of the guide give roles', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  assert.equal(blocks.length, 5)
  const first = configurationOf(0, directory)
  const steps = [0, 1, 2].map((index) => configurationOf(index, directory).ldap)
  const rolesOf = async (ldap: Tree) => {
    const { url } = await runGateway(t, { ...first, ldap })
    const browser = new Browser(url)
    await browser.login('bob', 'bobs word')
    return (await browser.user())?.['roles']
  }
  assert.equal(await rolesOf({ ...steps[0] }), undefined, 'nobody vouches for the certificate yet')
  assert.deepEqual(await rolesOf({ ...steps[0], ...steps[1] }), [])
  assert.deepEqual(await rolesOf({ ...steps[0], ...steps[1], ...steps[2] }), [
    'circle',
    'dev',
    'inner',
    'middle',
    'outer',
  ])
})

/** As far as Active Directory has it. */
const schema = [
  "attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
  "objectclass ( 1.2.840.113556.1.5.9 NAME 'user' AUXILIARY MAY sAMAccountName )",
].join('\n')

test('sections 4 and 5 of the guide search and explain', async (t) => {
  const ldif = [
    person('reader', 'password of the reader', { escaped: 'reader' }).replace(
      /^dn:: .*/,
      'dn: cn=reader,ou=users,dc=example,dc=org',
    ),
    person('Ann Example', 'anns word', {
      escaped: 'ann',
      more: ['uid: ann', 'objectClass: user', 'sAMAccountName: ann'],
    }),
  ].join('\n\n')
  const directory = await startDirectory(t, { schema, ldif })
  if (directory === undefined) return
  const { ldap } = configurationOf(3, directory)
  const { url } = await runGateway(t, { ldap: { ...ldap, ...configurationOf(1, directory).ldap } })
  const answer = await new Browser(url).visit('/auth/user', { headers: basic('ANN', 'anns word') })
  const { username, email } = JSON.parse(answer.text) as Record<string, unknown>
  assert.deepEqual([username, email], ['ann', 'AnnExample@example.org'])
  assert.equal(
    directory.asked('BIND dn="cn=reader,ou=users,dc=example,dc=org" mech=SIMPLE').length,
    1,
  )
  assert.equal(
    (await new Browser(url).visit('/auth/user', { headers: basic('ann', 'wrong') })).text,
    '',
  )
})

test('section 6 of the guide customizes the page', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  const { url } = await runGateway(t, {
    ...configurationOf(0, directory),
    ...configurationOf(4, directory),
  })
  const { text } = await new Browser(url).visit('/login')
  assert.match(
    text,
    /to Acme Delivery.*Use your company account\.\nTrouble\? Ask the platform team\./s,
  )
})
