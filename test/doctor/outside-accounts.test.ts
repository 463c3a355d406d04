/** The warning about accounts at services outside that name no roles. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { checkOutsideAccounts } from '../../packages/app/doctor/check-outside-accounts.ts'
import { runChecks } from '../../packages/base/findings/finding.ts'
import { definitionsBackend } from '../../packages/engine/definitions/definitions.ts'
import { startBackends } from '../support/backends.ts'
import type { GatewaySettings } from '../support/gateway.ts'
import { load } from './support.ts'

const endpoint = { baseUrl: 'http://127.0.0.1:1' }
const outside = {
  artifacts: {
    http: {
      enabled: true,
      accounts: [{ name: 'web' }, { name: 'vault', permissions: { READ: ['bank'] } }],
    },
    gitea: { enabled: false, accounts: [{ name: 'off' }] },
  },
  kayenta: {
    prometheus: {
      accounts: [
        { name: 'prom', endpoint },
        { name: 'older', endpoint, requiredGroupMembership: ['bank'] },
      ],
    },
  },
}
const kinds = {
  'webhook-notifications': { enabled: true, secret: 'word' },
  slack: { enabled: true, token: 'xoxb-1', permissions: { READ: ['bank'] } },
  googlechat: { enabled: true },
}
const embedded = {
  fiat: { enabled: true },
  clouddriver: { enabled: true },
  kayenta: { enabled: true },
}
const prefixes = [{ prefix: 'shop*', permissions: { READ: ['bank'], WRITE: ['bank'] } }]
const withRules = {
  ...outside,
  auth: { permissions: { source: { application: { prefix: { enabled: true, prefixes } } } } },
}

async function foundWith(
  t: TestContext,
  settings: GatewaySettings,
  permissions?: object,
): Promise<string[]> {
  const { config } = await load(t, settings)
  if (permissions !== undefined) {
    const backends = await startBackends(t, [definitionsBackend], {
      dataDir: config.backends.dataDir,
    })
    const { status } = await backends.ask('front50', 'POST', '/permissions/applications', {
      name: 'shop',
      permissions,
    })
    assert.equal(status, 200)
    await backends.stop()
  }
  const found = await runChecks(checkOutsideAccounts(config), { answerMs: 60_000, checkMs: 60_000 })
  return found.map(({ verdict, found: text }) => `${verdict}: ${text}`)
}

const warning =
  'warning: all users who may run a pipeline of some application can use web, prom, while applications have roles'

const cases: [
  what: string,
  settings: GatewaySettings,
  permissions: object | undefined,
  found: string[],
][] = [
  ['rules for applications', { ...withRules, services: embedded }, undefined, [warning]],
  ['roles of an application', { ...outside, services: embedded }, { READ: ['bank'] }, [warning]],
  [
    'kinds of notification',
    { ...withRules, ...kinds, services: embedded },
    undefined,
    [warning.replace('prom', 'prom, webhook')],
  ],
  ['applications without roles', { ...outside, services: embedded }, {}, []],
  ['no application', { ...outside, services: embedded }, undefined, []],
  [
    'no permission service',
    { ...withRules, services: { ...embedded, fiat: { enabled: false } } },
    undefined,
    [],
  ],
  ['no accounts', { auth: withRules.auth, services: embedded }, undefined, []],
]
for (const [what, settings, permissions, found] of cases) {
  test(`accounts without roles are found by ${what}`, async (t) => {
    assert.deepEqual(await foundWith(t, settings, permissions), found)
  })
}
