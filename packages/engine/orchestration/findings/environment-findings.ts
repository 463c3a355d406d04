/** Findings about declared environments: accounts that do not exist, and canaries that cannot run. */
import { type DocumentFinding, errorAt } from '@fairlead/base/findings/document-finding.ts'
import { objectOf } from '@fairlead/base/json/values.ts'
import {
  type Account,
  findUnknownPlaces,
  toAccounts,
} from '@fairlead/model/environments/accounts.ts'
import { declaredEnvironments, type Environment } from '@fairlead/model/environments/declaration.ts'
import { StageError } from '../machine/failure.ts'
import { intervalStages } from '../stages/canaries/intervals.ts'

/** @param accounts Undefined where another service knows them */
export function environmentFindings(
  declared: unknown,
  accounts: readonly Account[] | undefined,
): DocumentFinding[] {
  const environments = declaredEnvironments(declared)
  if (!Array.isArray(environments))
    return environments === undefined ? [] : [errorAt('environments', environments)]
  const known = accounts && toAccounts(accounts)
  return environments.flatMap((environment, index) => {
    const messages = [
      ...(known === undefined ? [] : findUnknownPlaces(environment, known)),
      ...canaryProblems(environment),
    ]
    return messages.map((message) => errorAt(`environments[${index}]`, message))
  })
}

/** Promotions deploy baseline and canary themselves, so that scopes need not name them. */
function canaryProblems({ name, constraints }: Environment): string[] {
  return constraints.flatMap(({ type, canaryConfig }) => {
    // What is an expression is known once the stage runs.
    if (type !== 'canary' || JSON.stringify(canaryConfig).includes('${')) return []
    try {
      intervalStages(objectOf(canaryConfig), 0, {})
      return []
    } catch (error) {
      if (!(error instanceof StageError)) throw error
      return [`The canary of the environment "${name}": ${error.message}`]
    }
  })
}
