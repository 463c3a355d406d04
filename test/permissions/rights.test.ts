/** May this user? The same cases at the gateway, in the embedded services, and for services that ask the embedded permission service. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { isAllowed, type ResourceType, type View } from '../../packages/engine/permissions/view.ts'
import { openFiat } from '../../packages/external/fiat.ts'
import { decide, type Need } from '../../packages/model/rights/decide.ts'
import { parsePermissionView } from '../../packages/model/rights/permission-view.ts'
import type { Authorization } from '../../packages/model/rights/permissions.ts'
import type { BackendContext } from '../../packages/ports/backend.ts'
import { requireAccess } from '../../packages/ports/rights/access.ts'

type Kind = 'application' | 'account' | 'build-service' | 'service-account'

const base = {
  name: 'alice',
  admin: false,
  accounts: [
    { name: 'prod', authorizations: ['READ', 'WRITE'] },
    { name: 'test', authorizations: ['READ'] },
    { name: 'Twice', authorizations: ['READ'] },
    { name: 'twice', authorizations: ['WRITE'] },
  ],
  applications: [
    { name: 'Web', authorizations: ['READ'] },
    { name: 'api', authorizations: ['WRITE'] },
    { name: 'bare', authorizations: [] },
    { name: 'twice', authorizations: ['READ'] },
    { name: 'TWICE', authorizations: ['EXECUTE'] },
    { name: ' twice ', authorizations: [] },
  ],
  buildServices: [
    { name: 'ci', authorizations: ['READ'] },
    { name: 'CI', authorizations: ['WRITE'] },
  ],
  serviceAccounts: [{ name: 'deployer', memberOf: ['dev'] }],
  roles: [],
}
const administrator = { ...base, admin: true }
const fallback = { ...base, legacyFallback: true }
const open = { ...base, allowAccessToUnknownApplications: true }

const cases: readonly [view: object, kind: Kind, name: string, allowed: string][] = [
  [base, 'application', 'WEB', 'READ'],
  [base, 'application', 'api', 'WRITE'],
  [base, 'application', 'bare', ''],
  [base, 'application', 'twice', 'READ EXECUTE'],
  [base, 'application', 'twi', ''],
  [base, 'application', 'web-main', ''],
  [base, 'application', '\u017Fweb', ''],
  [base, 'application', 'unknown', ''],
  [base, 'application', '__proto__', ''],
  [open, 'application', 'unknown', 'READ WRITE EXECUTE'],
  [open, 'application', 'webs', 'READ WRITE EXECUTE'],
  [open, 'application', 'bare', ''],
  [open, 'application', ' WEB ', 'READ'],
  [open, 'account', 'unknown', ''],
  [open, 'build-service', 'unknown', ''],
  [base, 'account', 'PROD', 'READ WRITE'],
  [base, 'account', 'test', 'READ'],
  [base, 'account', 'twice', 'READ WRITE'],
  [base, 'account', 'prod-eu', ''],
  [base, 'account', 'pro', ''],
  [base, 'build-service', 'ci', 'READ WRITE'],
  [base, 'build-service', 'c', ''],
  [base, 'service-account', 'Deployer', 'READ WRITE EXECUTE'],
  [base, 'service-account', 'deploy', ''],
  [fallback, 'application', 'bare', 'READ WRITE EXECUTE'],
  [fallback, 'application', 'unknown', 'READ WRITE EXECUTE'],
  [fallback, 'account', 'test', 'READ'],
  [fallback, 'account', 'unknown', ''],
  [fallback, 'build-service', 'unknown', 'READ WRITE EXECUTE'],
  [fallback, 'service-account', 'other', ''],
  [administrator, 'application', 'bare', 'READ WRITE EXECUTE'],
  [administrator, 'account', 'unknown', 'READ WRITE EXECUTE'],
  [administrator, 'build-service', 'unknown', 'READ WRITE EXECUTE'],
  [administrator, 'service-account', 'other', 'READ WRITE EXECUTE'],
]
const types: Readonly<Record<Kind, ResourceType>> = {
  application: 'applications',
  account: 'accounts',
  'build-service': 'buildServices',
  'service-account': 'serviceAccounts',
}

for (const [index, [view, kind, name, allowed]] of cases.entries()) {
  test(`case ${index + 1}: ${kind} ${JSON.stringify(name)} is judged alike everywhere`, async () => {
    const access = await accessOf(view)
    for (const authorization of ['READ', 'WRITE', 'EXECUTE'] as const) {
      const expected = allowed.split(' ').includes(authorization)
      const atGateway = decide(parsePermissionView(view, 'alice'), {
        kind,
        name,
        authorization,
      } as Need).allowed
      const forServices = isAllowed(
        parsePermissionView(view, 'alice') as View,
        types[kind],
        name,
        authorization,
      )
      assert.deepEqual(
        { atGateway, forServices },
        { atGateway: expected, forServices: expected },
        authorization,
      )
      const embedded = askEmbedded(access, kind, name, authorization)
      if (embedded !== undefined)
        assert.equal(embedded, expected, `${authorization} in an embedded service`)
    }
  })
}

/** @returns undefined for what they never ask */
function askEmbedded(
  access: Access,
  kind: Kind,
  name: string,
  authorization: Authorization,
): boolean | undefined {
  if (authorization === 'CREATE' || kind === 'build-service') return undefined
  if (kind === 'application') return access.mayOnApplication(name, authorization)
  if (kind === 'service-account') return access.mayUse(name)
  return authorization === 'EXECUTE' ? undefined : access.mayOnAccount(name, authorization)
}

type Access = Awaited<ReturnType<typeof requireAccess>>

function accessOf(view: object): Promise<Access> {
  const rights = openFiat(async () => ({ status: 200, body: view }))
  return requireAccess(
    { settings: { authorization: true }, ports: { rights } } as unknown as BackendContext,
    'alice',
  )
}
