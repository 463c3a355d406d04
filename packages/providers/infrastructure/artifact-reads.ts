/** Reads of the versions of artifacts for triggers, with the credentials of artifact accounts. */
import { definedOf, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { ArtifactAccount } from '../artifacts/artifact-account.ts'
import type { Infrastructure } from './route.ts'

export async function versionsOfArtifact(wanted: JsonObject, infrastructure: Infrastructure): Promise<JsonObject> {
  const { account, name, type } = parseRequest(wanted, infrastructure)
  if (account.versions === undefined)
    throw new PortError(400, `The artifact account "${account.name}" lists no versions of ${type}: nothing can be polled.`)
  return definedOf({ host: account.host, versions: await account.versions(name, undefined) })
}

export async function digestsOfArtifact(wanted: JsonObject, infrastructure: Infrastructure): Promise<JsonObject> {
  const { account, name } = parseRequest(wanted, infrastructure)
  const entries = await callInTurns(textsOf(wanted['versions']), async (version): Promise<[string, string][]> => {
    const digest = await account.digestOf?.(name, version)
    return digest === undefined ? [] : [[version, digest]]
  })
  return definedOf({ host: account.host, digests: Object.fromEntries(entries.flat()) })
}

interface VersionRequest {
  readonly account: ArtifactAccount
  readonly type: string
  readonly name: string
}

/** @throws {PortError} 400 naming the accounts */
function parseRequest(wanted: JsonObject, { artifactAccounts }: Infrastructure): VersionRequest {
  const [accountName, type = '', name] = [wanted['account'], wanted['type'], wanted['name']].map(textOf)
  if (accountName === undefined || name === undefined)
    throw new PortError(400, 'The trigger needs an artifact account and the name of what it waits for.')
  const able = artifactAccounts.filter(({ types }) => types.includes(type))
  const account = able.find((each) => each.name === accountName)
  if (account !== undefined) return { account, type, name }
  const choice = able.length === 0 ? 'there is none' : `there are ${able.map((each) => each.name).join(', ')}`
  throw new PortError(400, `The account "${accountName}" of the trigger is no artifact account for ${type}: ${choice}.`)
}
