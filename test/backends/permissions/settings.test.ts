/** The keys of Fiat, as an operator writes them, and what is said about mistakes. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { loadConfig } from '../../../packages/app/config/config.ts'
import { defaultPermissionService } from '../../../packages/engine/permissions/settings.ts'
import { checkConfig } from '../../config/given.ts'

function places(t: TestContext, yaml: string, env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-permissions-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'fairlead.yml'), yaml)
  writeFileSync(join(folder, 'roles.yml'), 'users: []')
  writeFileSync(join(folder, 'spoilt.yml'), 'users: [')
  return { cwd: folder, homeDir: folder, systemDir: folder, env }
}

test('by default logins give roles, and unknown applications are open', () => {
  assert.deepEqual(defaultPermissionService, {
    roleSource: undefined,
    syncDelayMs: 600_000,
    accountManagerRoles: [],
    allowAccessToUnknownApplications: true,
    defaultToUnrestrictedUser: false,
    restrictApplicationCreation: false,
    executeFallback: 'READ',
    maxExpandedServiceAccounts: 25,
    anyRoleOfServiceAccount: false,
    applicationRules: { rules: [], strategy: 'AGGREGATE' },
    applicationsOwn: true,
    builtInRoles: undefined,
    keepsUsers: false,
  })
})

test("Fiat's keys are read in any spelling", async (t) => {
  const where = places(
    t,
    `
auth:
  enabled: true
  groupMembership:
    service: FILE
    file: { roleProviderType: FILE, path: roles.yml }
  permissions:
    provider: { application: aggregate }
    source.application.prefix:
      enabled: true
      resolution-strategy: most-specific
      prefixes:
        - prefix: Web-*
          permissions: { READ: "Ops, dev , ops", create: [ creators ] }
        - prefix: api
fiat:
  writeMode: { enabled: true, syncDelayMs: 5000, retryIntervalMs: 10000 }
  account.manager.roles: Keepers
  executeFallback: write
  role.or-mode: true
`,
    { FIAT_RESTRICTAPPLICATIONCREATION: 'true', FIAT_MAXEXPANDEDSERVICEACCOUNTS: '7' },
  )
  const { config, notices } = await loadConfig(where)
  assert.deepEqual(config.backends.permissions, {
    ...defaultPermissionService,
    keepsUsers: true,
    roleSource: { kind: 'file', path: join(where.cwd, 'roles.yml') },
    syncDelayMs: 5000,
    accountManagerRoles: ['keepers'],
    restrictApplicationCreation: true,
    executeFallback: 'WRITE',
    maxExpandedServiceAccounts: 7,
    anyRoleOfServiceAccount: true,
    applicationRules: {
      strategy: 'MOST_SPECIFIC',
      rules: [
        {
          name: 'web-',
          isPrefix: true,
          permissions: { READ: ['ops', 'dev'], CREATE: ['creators'] },
        },
        { name: 'api', isPrefix: false, permissions: {} },
      ],
    },
  })
  assert.doesNotMatch(notices.join('\n'), /Warning: (the rule|fiat)/)
})

const membership = (text: string) => `auth.group-membership: ${text}`

const mistakes: [name: string, yaml: string, said: RegExp][] = [
  [
    'a service that needs Google',
    membership('{service: google}'),
    /auth\.group-membership\.service: google needs an external fiat: set services\.fiat\.baseUrl/,
  ],
  [
    'a service that needs GitHub',
    membership('{service: GITHUB}'),
    /auth\.group-membership\.service: github needs an external fiat/,
  ],
  [
    'a service that nobody has',
    membership('{service: fil}'),
    /auth\.group-membership\.service: must be one of external, file, ldap/,
  ],
  ['no path', membership('{service: file}'), /auth\.group-membership\.file\.path: names no file/],
  [
    'a file that is not there',
    membership('{service: file, file: {path: missing.yml}}'),
    /fairlead\.yml:1:? .*auth\.group-membership\.file\.path: the file \S+missing\.yml does not exist/s,
  ],
  [
    'a file that is spoilt',
    membership('{service: file, file: {path: spoilt.yml}}'),
    /file\.path: the file \S+spoilt\.yml is no YAML/,
  ],
  [
    'a folder',
    membership('{service: file, file: {path: .}}'),
    /file\.path: the file \S+ is a directory; name a file/,
  ],
  [
    'an authorization that nobody has',
    'fiat.executeFallback: LOOK',
    /fiat\.executeFallback: must be one of READ, WRITE/,
  ],
  [
    'a rule with a misspelt authorization',
    'auth.permissions.source.application.prefix: {enabled: true, prefixes: [{prefix: a, permissions: {REED: [b]}}]}',
    /REED.* did you mean .*READ/s,
  ],
  [
    'a rule without prefix',
    'auth.permissions.source.application.prefix: {enabled: true, prefixes: [{permissions: {READ: [b]}}]}',
    /prefix\.prefixes\[0\]\.prefix: is missing/,
  ],
]

for (const [name, yaml, said] of mistakes) {
  test(`${name} is told before anything starts`, async (t) => {
    const { ok, text } = await checkConfig(places(t, yaml))
    assert.equal(ok, false, text)
    assert.match(text, said)
  })
}

const notices: [name: string, yaml: string, said: RegExp][] = [
  [
    'a restriction that no rule makes one',
    'fiat.restrictApplicationCreation: true',
    /fiat\.restrictApplicationCreation restricts nothing as long as no rule/,
  ],
  [
    'rules that are not switched on',
    'auth.permissions.source.application.prefix: {prefixes: [{prefix: a, permissions: {READ: [b]}}]}',
    /prefixes has no effect without .*enabled: true/,
  ],
  [
    'a rule that leaves nobody who may look',
    'auth.permissions.source.application.prefix: {enabled: true, prefixes: [{prefix: "a*", permissions: {CREATE: [b]}}]}',
    /the rule for "a\*" .* names none for READ/,
  ],
]

for (const [name, yaml, said] of notices) {
  test(`${name}: each start says so`, async (t) => {
    assert.match((await loadConfig(places(t, yaml))).notices.join('\n'), said)
  })
}

test('what an external fiat reads is neither checked nor used here', async (t) => {
  const yaml = `
services.fiat.baseUrl: http://fiat.example:7003
auth:
  group-membership: { service: google, google: { domain: example.org }, ldap: { url: nonsense }, newer: { key: 1 } }
  permissions.source.application.prefix.prefixes: nonsense
fiat: { executeFallback: NONSENSE }
`
  const { config, notices } = await loadConfig(places(t, yaml))
  assert.equal(config.backends.permissions, undefined)
  assert.match(
    notices.join('\n'),
    /Ignored, because fiat is not embedded: auth\.group-membership, auth\.permissions/,
  )
})
