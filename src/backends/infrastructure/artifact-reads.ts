/** Reads of the versions of artifacts for triggers, with the credentials of artifact accounts. */
import type { FastifyRequest } from 'fastify'
import { definedOf, type JsonObject, objectOf, textOf, textsOf } from '../../json/values.ts'
import { PortError } from '../../ports/port-error.ts'
import { isFromBackend } from '../requests/request-caller.ts'
import { callInTurns } from '../stores/in-turns.ts'
import type { ArtifactAccount } from './artifact-accounts/artifact-account.ts'
import type { Answer, Infrastructure, InfrastructureRoute } from './route.ts'

const versions: Answer = async (request, infrastructure) => {
  const { account, name, type } = parseRequest(request, infrastructure)
  if (account.versions === undefined)
    throw new PortError(400, `The artifact account "${account.name}" lists no versions of ${type}: nothing can be polled.`)
  return definedOf({ host: account.host, versions: await account.versions(name, undefined) })
}

const digests: Answer = async (request, infrastructure) => {
  const { account, name, body } = parseRequest(request, infrastructure)
  const entries = await callInTurns(textsOf(body['versions']), async (version): Promise<[string, string][]> => {
    const digest = await account.digestOf?.(name, version)
    return digest === undefined ? [] : [[version, digest]]
  })
  return definedOf({ host: account.host, digests: Object.fromEntries(entries.flat()) })
}

interface VersionRequest {
  readonly account: ArtifactAccount
  readonly type: string
  readonly name: string
  readonly body: JsonObject
}

/** @throws {PortError} 403 for clients, 400 naming the accounts */
function parseRequest(request: FastifyRequest, { artifactAccounts }: Infrastructure): VersionRequest {
  if (!isFromBackend(request)) throw new PortError(403, 'Only triggers read versions in this way.')
  const body = objectOf(request.body)
  const [accountName, type = '', name] = [body['account'], body['type'], body['name']].map(textOf)
  if (accountName === undefined || name === undefined)
    throw new PortError(400, 'The trigger needs an artifact account and the name of what it waits for.')
  const able = artifactAccounts.filter(({ types }) => types.includes(type))
  const account = able.find((each) => each.name === accountName)
  if (account !== undefined) return { account, type, name, body }
  const choice = able.length === 0 ? 'there is none' : `there are ${able.map((each) => each.name).join(', ')}`
  throw new PortError(400, `The account "${accountName}" of the trigger is no artifact account for ${type}: ${choice}.`)
}

export const artifactReadRoutes: InfrastructureRoute[] = [
  { method: 'POST', path: '/artifacts/versions', answer: versions },
  { method: 'POST', path: '/artifacts/digests', answer: digests },
]
