/** Declared environments, compared with the accounts that exist and with what a canary analysis needs. */

import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { findUnknownPlaces, toAccounts } from '@fairlead/model/environments/accounts.ts'
import { declaredEnvironments, type Environment } from '@fairlead/model/environments/declaration.ts'
import { StageError } from '../orchestration/machine/failure.ts'
import { intervalStages } from '../orchestration/stages/canaries/intervals.ts'
import type { Definitions } from './collections.ts'
import { refusal } from './requests.ts'

/**
 * Refuses what could never be promoted to. What is stored already is left alone: an account may have gone since.
 *
 * @throws {PortError} 400 with a sentence for each mistake
 */
export function checkEnvironments(
  { context }: Definitions,
  declared: unknown,
  stored: unknown,
): void {
  const accounts = context.ports.infrastructure.accountsAtHand()
  const before = environmentMisfits(stored, accounts)
  const wrong = environmentMisfits(declared, accounts).filter(
    (sentence) => !before.includes(sentence),
  )
  if (wrong.length > 0) throw refusal(wrong.join(' '), wrong)
}

/** @param accounts Undefined where another service knows them */
export function environmentMisfits(
  declared: unknown,
  accounts: readonly JsonObject[] | undefined,
): string[] {
  const environments = declaredEnvironments(declared)
  if (!Array.isArray(environments)) return environments === undefined ? [] : [environments]
  const known = accounts && toAccounts(accounts)
  return environments.flatMap((environment) => [
    ...(known === undefined ? [] : findUnknownPlaces(environment, known)),
    ...canaryMisfits(environment),
  ])
}

/** Promotions deploy baseline and canary themselves, so that scopes need not name them. */
function canaryMisfits({ name, constraints }: Environment): string[] {
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
