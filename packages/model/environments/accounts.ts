/** Accounts of declared environments, compared with those that the infrastructure has. */
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { listOf, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { Environment } from './declaration.ts'
import { listRoles } from './holds.ts'

const toAccount = shape({
  name: or(textOf, ''),
  regions: list(shape({ name: or(textOf, '') })),
  namespaces: textsOf,
  permissions: (value) => ({
    write: textsOf(objectOf(value)['WRITE']),
    isOpen: Object.values(objectOf(value)).every((roles) => listOf(roles).length === 0),
  }),
})

/** By their names. */
export type Accounts = ReadonlyMap<string, ShapeOf<typeof toAccount>>

/** @param listed As the infrastructure lists them */
export function toAccounts(listed: readonly unknown[]): Accounts {
  return new Map(listed.map(toAccount).map((account) => [account.name, account]))
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
    const { write = [], isOpen } = known.get(account)?.permissions ?? {}
    const others = write.filter((role) => !roles.includes(foldName(role)))
    if (!isOpen && others.length === 0) return []
    const who = isOpen ? 'Every user' : `Users with the role ${listRoles(others)}`
    return [
      `${who} may deploy to the account "${account}" past a promotion to ${name}: give its WRITE to the roles of mayPromote only.`,
    ]
  })
}
