/** Accounts of declared environments, compared with those that the infrastructure has. */
import { fieldOf, type JsonObject, listOf, objectOf, objectsOf, textOf, textsOf } from '../json/values.ts'
import { foldName } from '../names/fold-name.ts'
import type { Environment } from './declaration.ts'
import { listRoles } from './holds.ts'

/** By their names, as the infrastructure lists them. */
export type Accounts = ReadonlyMap<unknown, JsonObject>

export function toAccounts(listed: readonly JsonObject[]): Accounts {
  return new Map(listed.map((account) => [account['name'], account]))
}

/**
 * Accounts that do not exist, and regions that none of the accounts has: a sentence for each. Namespaces are not looked for, as
 * deployments make them.
 */
export function findUnknownPlaces(environment: Environment, known: Accounts): string[] {
  const { name, accounts } = environment
  const regionsOf = (account: string) =>
    objectsOf(known.get(account)?.['regions']).flatMap((region) => textOf(region['name']) ?? [])
  const missing = accounts.filter((account) => !known.has(account))
  const there = accounts.flatMap(regionsOf).join(', ')
  return [
    ...missing.map(
      (account) => `The environment "${name}" names the account "${account}", which does not exist: correct or add it.`,
    ),
    ...strangeRegions(environment, regionsOf).map(
      (region) => `The environment "${name}" names the region "${region}": its accounts have ${there} only.`,
    ),
  ]
}

/** Namespaces that none of the accounts has at the moment: a sentence for each. */
export function findMissingNamespaces(environment: Environment, known: Accounts): string[] {
  return strangeRegions(environment, (account) => textsOf(known.get(account)?.['namespaces'])).map(
    (namespace) => `The namespace "${namespace}" of the environment "${environment.name}" does not exist at present.`,
  )
}

/** None where one of the accounts does not say which it has. */
function strangeRegions({ accounts, regions = [] }: Environment, regionsOf: (account: string) => string[]): string[] {
  const lists = accounts.map(regionsOf)
  return lists.some((list) => list.length === 0) ? [] : regions.filter((region) => !lists.flat().includes(region))
}

/** Accounts in which users may deploy who may not promote: a sentence for each. */
export function findWiderAccounts({ name, accounts, mayPromote }: Environment, known: Accounts): string[] {
  if (mayPromote === undefined) return []
  const roles = mayPromote.map(foldName)
  return accounts.flatMap((account) => {
    const permissions = objectOf(known.get(account)?.['permissions'])
    const isOpen = Object.values(permissions).every((list) => listOf(list).length === 0)
    const others = textsOf(fieldOf(permissions, 'WRITE')).filter((role) => !roles.includes(foldName(role)))
    if (!known.has(account) || (!isOpen && others.length === 0)) return []
    const who = isOpen ? 'Every user' : `Users with the role ${listRoles(others)}`
    return [
      `${who} may deploy to the account "${account}" past a promotion to ${name}: give its WRITE to the roles of mayPromote only.`,
    ]
  })
}
