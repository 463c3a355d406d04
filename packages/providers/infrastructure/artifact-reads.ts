/** Reads of the versions of artifacts for triggers, with the credentials of artifact accounts. */

import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { ArtifactDigests, ArtifactName } from '@fairlead/ports/infrastructure.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { ArtifactAccount } from '../artifacts/artifact-account.ts'
import type { Infrastructure } from './route.ts'

export async function versionsOfArtifact(wanted: ArtifactName, infrastructure: Infrastructure): Promise<readonly string[]> {
  const account = accountOf(wanted, infrastructure)
  if (account.versions === undefined)
    throw new PortError(400, `The artifact account "${account.name}" lists no versions of ${wanted.type}: nothing can be polled.`)
  return account.versions(wanted.name, undefined)
}

export async function digestsOfArtifact(
  wanted: ArtifactName,
  versions: readonly string[],
  infrastructure: Infrastructure,
): Promise<ArtifactDigests> {
  const account = accountOf(wanted, infrastructure)
  const entries = await callInTurns([...versions], async (version): Promise<[string, string][]> => {
    const digest = await account.digestOf?.(wanted.name, version)
    return digest === undefined ? [] : [[version, digest]]
  })
  return { host: account.host, digests: new Map(entries.flat()) }
}

/** @throws {PortError} 400 naming the accounts */
function accountOf({ account: name, type }: ArtifactName, { artifactAccounts }: Infrastructure): ArtifactAccount {
  const able = artifactAccounts.filter(({ types }) => types.includes(type))
  const account = able.find((each) => each.name === name)
  if (account !== undefined) return account
  const choice = able.length === 0 ? 'there is none' : `there are ${able.map((each) => each.name).join(', ')}`
  throw new PortError(400, `The account "${name}" of the trigger is no artifact account for ${type}: ${choice}.`)
}
