/** Artifacts: files that pipelines refer to, fetched by the accounts for them. */

import { PortError } from '@fairlead/base/port-error.ts'
import { pathValue, queryValue, requiredQuery } from '@fairlead/ports/requests/request-values.ts'
import { type AccountAccess, openAccountAccess } from '@fairlead/ports/rights/account-use.ts'
import { type Artifact, type ArtifactAccount, toArtifact } from '../artifacts/account-type.ts'
import { artifactAccountTypes } from '../artifacts/all.ts'
import { checkDigest, parseDigest } from '../artifacts/digests.ts'
import {
  type Asked,
  type EmbeddedInfrastructure,
  get,
  type InfrastructureRoute,
  notFound,
  type RouteHandler,
} from './route.ts'

const kind = 'artifact account'

/** Providers whose artifacts are not files have an account of their name, so that pickers offer them. */
const credentials: RouteHandler = async (request, { context, artifactAccounts, types }) => {
  const { mayUse } = await openAccountAccess(context, request.asker)
  return [
    ...artifactAccounts.filter(mayUse).map(({ name, types: own }) => ({ name, types: own })),
    ...types.flatMap(({ id, artifactTypes }) =>
      artifactTypes === undefined ? [] : [{ name: id, types: artifactTypes }],
    ),
  ]
}

const content: RouteHandler = async (request, infrastructure) => {
  const artifact = toArtifact(request.body)
  const { type, artifactAccount: name } = artifact
  const access = await openAccountAccess(infrastructure.context, request.asker)
  const account = findAccount(infrastructure, type, name, access)
  const expected = account.checksDigest ? undefined : expectedDigest(artifact)
  const found = await account.fetch(artifact, request.asker)
  return expected === undefined
    ? found
    : checkDigest(found, expected, `the artifact of type ${type}`)
}

/** What the artifact says about its content. @throws {PortError} 400 */
function expectedDigest({ metadata: { digest: text } }: Artifact) {
  const digest = text === undefined ? undefined : parseDigest(text)
  if (text !== undefined && digest === undefined)
    throw new PortError(
      400,
      `The "metadata.digest" of an artifact must be like sha256:…, and is "${text.slice(0, 200)}".`,
    )
  return digest
}

/** Empty where there is no such account, or its source has no list. */
const names: RouteHandler = async (request, infrastructure) =>
  (await (await accountInPath(request, infrastructure))?.names?.(request.user)) ?? []

const versions: RouteHandler = async (request, infrastructure) => {
  const account = await accountInPath(request, infrastructure)
  return (await account?.versions?.(requiredQuery(request, 'artifactName'), request.user)) ?? []
}

/** The type in the query may be the beginning of one, such as `helm`. */
async function accountInPath(
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
): Promise<ArtifactAccount | undefined> {
  const name = pathValue(request, 'account')
  const type = queryValue(request, 'type') ?? ''
  const isWanted = (each: ArtifactAccount) =>
    each.name === name && each.types.some((own) => own.startsWith(type))
  const account = infrastructure.artifactAccounts.find(isWanted)
  const access = await openAccountAccess(infrastructure.context, request.asker)
  if (account !== undefined) access.check(account, kind)
  return account
}

const settingNames = artifactAccountTypes
  .filter(({ keys }) => Object.keys(keys.shape).length > 0)
  .map(({ id }) => `artifacts.${id}`)
  .toSorted()
  .join(', ')

/** @throws {PortError} 400 naming what to choose or to set, 403 */
function findAccount(
  { artifactAccounts, types }: EmbeddedInfrastructure,
  type: string,
  name: string | undefined,
  access: AccountAccess,
): ArtifactAccount {
  const able = artifactAccounts.filter((account) => account.types.includes(type))
  const implied = able.find(({ isImplied }) => isImplied)
  if (implied !== undefined) return implied
  if (types.some(({ artifactTypes }) => artifactTypes?.includes(type))) {
    throw new PortError(
      400,
      `An artifact of type ${type} is an object that is deployed, and has no content to fetch. Choose an artifact that is a file.`,
    )
  }
  const account = able.find((each) => each.name === name)
  if (account !== undefined) {
    access.check(account, kind)
    return account
  }
  const choice =
    able.length === 0
      ? `No artifact account fetches artifacts of type ${type}. Artifact accounts are set by ${settingNames}.`
      : `Accounts for artifacts of type ${type} are ${able
          .filter(access.mayUse)
          .map((each) => each.name)
          .join(', ')}.`
  if (name === undefined)
    throw new PortError(
      400,
      `An artifact of type ${type} needs an artifact account, and the request names none. ${choice}`,
    )
  const isKnown = artifactAccounts.some((each) => each.name === name)
  const problem = isKnown ? `does not fetch artifacts of type ${type}` : 'does not exist'
  throw new PortError(400, `The artifact account "${name}" ${problem}. ${choice}`)
}

export const artifactContent: InfrastructureRoute = {
  method: 'PUT',
  path: '/artifacts/fetch',
  answer: content,
}

export const artifactRoutes: InfrastructureRoute[] = [
  get('/artifacts/credentials', credentials),
  artifactContent,
  get('/artifacts/account/:account/names', names),
  get('/artifacts/account/:account/versions', versions),
  get('/artifacts/content-address/:application/:hash', notFound('Artifact', 'application', 'hash')),
  get('/v1/data/static/:id', notFound('Data', 'id')),
  get('/v1/data/adhoc/:group/:bucket/*', notFound('Object', 'group', 'bucket', '*')),
]
