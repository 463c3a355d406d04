/** Accounts as the infrastructure lists them, and those of declared environments compared with them. */
import { list, maybe, or, type ShapeOf, shape, withAll } from '@fairlead/base/json/shape.ts'
import { textOf, textsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { permissionFields } from '../rights/permissions.ts'
import type { Environment } from './declaration.ts'
import { listRoles } from './holds.ts'

/** How an account of Kubernetes takes apps: its settings `apps`. */
const toClusterRules = shape({
  namespace: or(textOf, 'default'),
  /** `name` or `namespace/name`; undefined: hosts are those of an Ingress. */
  gateway: textOf,
  ingressClass: textOf,
  tlsSecret: textOf,
  issuer: textOf,
  pullSecret: textOf,
  storageClass: textOf,
  volumeSize: or(textOf, '10Gi'),
})
export type ClusterRules = ShapeOf<typeof toClusterRules>

export const toAccount = withAll(
  shape({
    ...permissionFields,
    provider: [or(textOf, ''), 'cloudProvider', 'type'],
    environment: textOf,
    regions: list(shape({ name: or(textOf, '') })),
    namespaces: textsOf,
    apps: maybe(toClusterRules),
  }),
)
export type Account = ShapeOf<typeof toAccount>

/** By their names. */
export type Accounts = ReadonlyMap<string, Account>

export function toAccounts(listed: readonly Account[]): Accounts {
  return new Map(listed.map((account) => [account.name, account]))
}

/**
 * Accounts that do not exist, and regions that none of the accounts has: a sentence for each. Namespaces are not looked for, as
 * deployments make them.
 */
export function findUnknownPlaces(environment: Environment, known: Accounts): string[] {
  const { name, accounts } = environment
  const regionsOf = (account: string) =>
    known.get(account)?.regions.map((region) => region.name) ?? []
  const missing = accounts.filter((account) => !known.has(account))
  const there = accounts.flatMap(regionsOf).join(', ')
  return [
    ...missing.map(
      (account) =>
        `The environment "${name}" names the account "${account}", which does not exist: correct or add it.`,
    ),
    ...strangeRegions(environment, regionsOf).map(
      (region) =>
        `The environment "${name}" names the region "${region}": its accounts have ${there} only.`,
    ),
  ]
}

/** Namespaces that none of the accounts has at the moment: a sentence for each. */
export function findMissingNamespaces(environment: Environment, known: Accounts): string[] {
  return strangeRegions(environment, (account) => known.get(account)?.namespaces ?? []).map(
    (namespace) =>
      `The namespace "${namespace}" of the environment "${environment.name}" does not exist at present.`,
  )
}

/** None where one of the accounts does not say which it has. */
function strangeRegions(
  { accounts, regions = [] }: Environment,
  regionsOf: (account: string) => string[],
): string[] {
  const lists = accounts.map(regionsOf)
  return lists.some((list) => list.length === 0)
    ? []
    : regions.filter((region) => !lists.flat().includes(region))
}

/** Accounts in which users may deploy who may not promote: a sentence for each. */
export function findWiderAccounts(
  { name, accounts, mayPromote }: Environment,
  known: Accounts,
): string[] {
  if (mayPromote === undefined) return []
  const roles = mayPromote.map(foldName)
  return accounts.flatMap((account) => {
    const permissions = known.get(account)?.permissions
    const others = permissions?.['WRITE']?.filter((role) => !roles.includes(foldName(role))) ?? []
    const isOpen =
      known.has(account) && Object.values(permissions ?? {}).every((names) => names.length === 0)
    if (!isOpen && others.length === 0) return []
    const who = isOpen ? 'Every user' : `Users with the role ${listRoles(others)}`
    return [
      `${who} may deploy to the account "${account}" past a promotion to ${name}: give its WRITE to the roles of mayPromote only.`,
    ]
  })
}
