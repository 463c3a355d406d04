/** Environments of an application, declared or not. */
import type { Account } from './accounts.ts'
import { declaredEnvironments, type Environment } from './declaration.ts'
import { inOrder } from './order.ts'
import { targetsOf } from './pipelines.ts'

interface Derivation {
  readonly accounts: readonly Pick<Account, 'name' | 'environment'>[]
  /** Stored pipelines of the application. */
  readonly pipelines: readonly unknown[]
  /** Accounts in which it runs. */
  readonly used: readonly string[]
}

/** Environments of an application that declares none: those of its accounts, as pipelines deploy to them, else as their names say. */
function derivedEnvironments({ accounts, pipelines, used }: Derivation): Environment[] {
  const known = new Map(
    accounts.flatMap(({ name, environment = name }) =>
      name === '' ? [] : [[name, environment] as const],
    ),
  )
  const chains = pipelines.map((pipeline) =>
    targetsOf(pipeline).flatMap(({ account = '' }) => (known.has(account) ? [account] : [])),
  )
  const meant = new Set([...used.filter((account) => known.has(account)), ...chains.flat()])
  const byName = Map.groupBy(
    meant.size > 0 ? meant : known.keys(),
    (account) => known.get(account) ?? account,
  )
  const ways = chains.map((chain) => [
    ...new Set(chain.map((account) => known.get(account) ?? account)),
  ])
  return inOrder([...byName.keys()], ways).map((each) => ({
    name: each,
    accounts: byName.get(each) ?? [],
    constraints: [],
  }))
}

export interface Environments {
  readonly isDeclared: boolean
  /** Why the declaration cannot be used. */
  readonly problem: string | undefined
  /** In the order of promotion. */
  readonly list: readonly Environment[]
}

/** @param attribute The attribute `environments` of the application */
export function environmentsOf(attribute: unknown, derivation: Derivation): Environments {
  const declared = declaredEnvironments(attribute)
  if (Array.isArray(declared)) return { isDeclared: true, problem: undefined, list: declared }
  return { isDeclared: false, problem: declared, list: derivedEnvironments(derivation) }
}
