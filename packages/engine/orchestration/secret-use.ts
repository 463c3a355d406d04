/** Values of secrets in what leaves the engine: docs/contracts/secrets.md#references. */
import { isObject, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { allReferencesIn, mapHolders } from '@fairlead/model/secrets/secret-references.ts'
import { accountOf } from '@fairlead/ports/cloud-values.ts'
import type { Revealed, SecretUse } from '@fairlead/ports/secrets.ts'
import { checkAuthored } from './authored-references.ts'
import type { EngineOptions } from './engine-parts.ts'
import { actingUsers } from './identity.ts'
import { RetryableError, StageError } from './machine/failure.ts'
import type { StagePlace } from './model.ts'

type SecretParts = Pick<EngineOptions, 'secrets' | 'judges' | 'accessOf'>

/**
 * A copy with values, for a call that the engine makes itself.
 *
 * @param account Of which secrets may be used too: the context of a stage is free text, so that it names none
 * @throws {StageError} for people; {RetryableError} while a store is away
 */
export async function revealForStage<T>(
  value: T,
  place: StagePlace,
  { secrets }: Pick<SecretParts, 'secrets'>,
  account?: string,
): Promise<Revealed<T>> {
  checkAuthored(value, place)
  try {
    return await secrets.reveal(value, useOf(place, account))
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    throw error.status >= 500
      ? new RetryableError([error.message])
      : new StageError([error.message])
  }
}

function useOf({ execution, stage }: StagePlace, account: string | undefined): SecretUse {
  const { application, name, type, id, description = '' } = execution
  const whole =
    type === 'PIPELINE'
      ? `pipeline ${application}/${name ?? id}`
      : `task "${description}" of ${application}`
  return {
    application,
    account,
    user: actingUsers({ execution, stage }),
    place: `stage ${stage.name} of ${whole}`,
    run: { service: 'orca', id },
  }
}

/** @throws {StageError} without WRITE; {RetryableError} while the permission service cannot be asked */
async function checkMayUse(
  account: string,
  place: StagePlace,
  { judges, accessOf }: SecretParts,
): Promise<void> {
  if (!judges) return
  const user = actingUsers(place)
  const access = await accessOf(user).catch((error: unknown) => {
    throw new RetryableError([(error as Error).message])
  })
  if (access.mayOnAccount(account, 'WRITE')) return
  const message =
    `An operation with secrets needs WRITE on the account ${account}; ${user} has not got it. ` +
    'An operator can grant it, or the stage can name another account.'
  throw new StageError([message], { status: 403, kind: 'PERMISSION' })
}

interface Revealing {
  readonly place: StagePlace
  readonly parts: SecretParts
  /** Whether the receiver puts the values in by itself. */
  readonly takesReferences: boolean
}

/** @returns the argument to send, and what its answer must not show */
export async function revealIn(
  value: unknown,
  revealing: Revealing,
): Promise<{ value: unknown; secrets: readonly string[] }> {
  const found: string[] = []
  return { value: await mapOperations(value, createChange(revealing, found)), secrets: found }
}

type ChangeFor = (account?: string) => (member: unknown, name: string) => Promise<unknown>

function createChange({ place, parts, takesReferences }: Revealing, found: string[]): ChangeFor {
  return (account) => async (member, name) => {
    if (!takesReferences) {
      if (account !== undefined && allReferencesIn(member).size > 0)
        await checkMayUse(account, place, parts)
      const { value, secrets } = await revealForStage(member, place, parts, account)
      found.push(...secrets)
      return value
    }
    // Manifests come from repositories, whose references count for the Secrets in them.
    if (name !== 'stringData') checkAuthored(member, place)
    return member
  }
}

/** Operations are a list of objects with a description under the name of the operation; other bodies are descriptions themselves. */
async function mapOperations(body: unknown, changeFor: ChangeFor): Promise<unknown> {
  const change = (description: unknown) => mapHolders(description, changeFor(targetOf(description)))
  if (!Array.isArray(body)) return change(body)
  const operations: unknown[] = []
  for (const operation of body)
    operations.push(isObject(operation) ? await mapDescriptions(operation, change) : operation)
  return operations
}

async function mapDescriptions(
  operation: JsonObject,
  change: (description: unknown) => Promise<unknown>,
): Promise<JsonObject> {
  const descriptions: [string, unknown][] = []
  for (const [name, description] of Object.entries(operation))
    descriptions.push([name, await change(description)])
  return Object.fromEntries(descriptions)
}

/** The account in a description of an operation or bake. */
function targetOf(description: unknown): string | undefined {
  const fields = objectOf(description)
  return accountOf(fields) ?? textOf(fields['account_name'])
}
