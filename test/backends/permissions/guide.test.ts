/** The guide about permissions, followed literally: its configurations, its file, and what it says they do. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { parse, stringify } from 'yaml'
import type { z } from 'zod'
import { BackendKeys } from '../../../packages/app/hosting/settings.ts'
import { permissionServiceKeys } from '../../../packages/engine/permissions/settings.ts'
import { permissionSettings } from '../../../packages/gateway/permissions/settings.ts'
import { userDn } from '../../fixtures/directory-entries.ts'
import { startSeeded } from '../../permissions/support.ts'
import { manager, root, startDirectory } from '../../support/directory.ts'
import type { GatewaySettings } from '../../support/gateway.ts'
import { createRoleFile, until } from './support.ts'

const guide = readFileSync(
  resolve(import.meta.dirname, '../../../docs/guides/permissions.md'),
  'utf8',
)
const blocks = [...guide.matchAll(/```(yaml|yml)\n(.*?)```/gs)].map(([, kind, text = '']) => ({
  kind,
  text,
}))
const [byFile = '', byDirectory = '', byRules = ''] = blocks
  .filter(({ kind }) => kind === 'yaml')
  .map(({ text }) => text)
const [roleFile = ''] = blocks.filter(({ kind }) => kind === 'yml').map(({ text }) => text)

const documented = {
  ...BackendKeys.shape,
  ...permissionServiceKeys.keys.shape,
  ...permissionSettings.keys.shape,
} as Record<string, z.ZodType>
const table = [...guide.matchAll(/^\| `([a-zA-Z0-9.-]+)` \| (\S+) \|/gm)].map(
  ([, key = '', value = '']) => [key, value] as const,
)

for (const [key, value] of table) {
  test(`${key} defaults to ${value} as in the guide`, () => {
    const preset = documented[key]?.parse(undefined)
    const shown = Array.isArray(preset) ? preset.join(', ') || 'none' : String(preset)
    assert.equal(shown, value.replaceAll('`', ''))
  })
}

const toSettings = (text: string) => parse(text) as GatewaySettings

test("the guide's file adds roles to those of the login", async (t) => {
  const file = createRoleFile(t, {})
  file.writeText(roleFile)
  const { ask, add } = await startSeeded(
    t,
    toSettings(byFile.replace('/etc/fairlead/roles.yml', file.path)),
  )
  await add('Alice', ['people', 'OPS'])
  await add('bob@example.org', [])
  const rolesOf = async (user: string) =>
    ((await ask(user, 'GET /auth/user')).json() as { roles: string[] }).roles.sort()
  assert.deepEqual(await rolesOf('Alice'), ['ops', 'people', 'release-managers'])
  assert.deepEqual(await rolesOf('bob@example.org'), ['dev'])

  file.writeText(roleFile.replace('dev', 'qa'))
  assert.equal((await ask('admin', 'POST /auth/roles/sync')).status, 200)
  await until(async () => (await rolesOf('bob@example.org')).join() === 'qa')

  file.writeText(roleFile.replace(/roles:/g, 'roles: ['))
  // A synchronisation that takes long is answered before its outcome is known.
  await until(async () =>
    /the file \S+ is no YAML/.test((await ask('admin', 'POST /auth/roles/sync')).text),
  )
  assert.deepEqual(await rolesOf('bob@example.org'), ['qa'])
})

test("the guide's directory turns groups into roles", async (t) => {
  const ldif = ['Release Managers', 'role_x']
    .map(
      (name) =>
        `dn: cn=${name},ou=groups,${root}\nobjectClass: groupOfNames\ncn: ${name}\nmember: ${userDn('alice')}`,
    )
    .join('\n\n')
  const directory = await startDirectory(t, { ldif })
  if (directory === undefined) return
  const settings = toSettings(byDirectory)
  const { ldap } = (settings['auth'] as { 'group-membership': { ldap: Record<string, unknown> } })[
    'group-membership'
  ]
  Object.assign(ldap, {
    url: directory.url,
    managerDn: manager.dn,
    managerPassword: manager.password,
  })
  const { ask, add } = await startSeeded(t, toSettings(stringify(settings)))
  await add('alice@example.org', ['people'])
  await add('stranger', ['people'])
  const rolesOf = async (user: string) =>
    ((await ask(user, 'GET /auth/user')).json() as { roles: string[] }).roles.sort()
  assert.deepEqual(await rolesOf('alice@example.org'), ['people', 'release managers', 'role_x'])
  assert.deepEqual(await rolesOf('stranger'), ['people'])
})

test("the guide's rules decide by name", async (t) => {
  const { ask, add, createApplication } = await startSeeded(t, toSettings(byRules))
  const people = { sam: 'shop', pat: 'platform', sue: 'staff' }
  for (const [name, role] of Object.entries(people)) await add(name, [role])
  const creates = async (user: string, name: string) => {
    const job = [{ type: 'createApplication', application: { name, email: 'a@example.com' } }]
    return (await ask(user, 'POST /tasks', { application: name, description: 'Create', job }))
      .status
  }
  assert.equal(await creates('sam', 'api'), 403)
  assert.equal(await creates('sue', 'shop-web'), 403)
  assert.equal(await creates('pat', 'api'), 200)
  assert.equal(await creates('sam', 'Shop-Web'), 200)
  await createApplication('shop-app')
  for (const [user, status] of [
    ['sam', 200],
    ['sue', 200],
    ['pat', 403],
  ] as const) {
    assert.equal((await ask(user, 'GET /applications/shop-app')).status, status, user)
  }
})
