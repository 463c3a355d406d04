/** Artifacts: files that pipelines refer to, fetched by the accounts for them. */
import { objectOf, textOf } from '../../json/values.ts'
import { BackendError } from '../backend.ts'
import type { ArtifactAccount } from './artifact-accounts/account-type.ts'
import { type Answer, get, type Infrastructure, type InfrastructureRoute, none, notFound } from './route.ts'

/** Providers whose artifacts are not files have an account of their name, so that pickers offer them. */
const credentials: Answer = (_request, { artifactAccounts, types }) => [
  ...artifactAccounts.map(({ name, types: own }) => ({ name, types: own })),
  ...types.flatMap(({ id, artifactTypes }) => (artifactTypes === undefined ? [] : [{ name: id, types: artifactTypes }])),
]

const content: Answer = (request, infrastructure) => {
  const artifact = objectOf(request.body)
  const type = textOf(artifact['type']) ?? '(none)'
  const name = textOf(artifact['artifactAccount'])
  return findAccount(infrastructure, type, name).fetch(artifact)
}

/** @throws {BackendError} 400 naming what to choose or to set */
function findAccount({ artifactAccounts, types }: Infrastructure, type: string, name: string | undefined): ArtifactAccount {
  const able = artifactAccounts.filter((account) => account.types.includes(type))
  const implied = able.find(({ isImplied }) => isImplied)
  if (implied !== undefined) return implied
  if (types.some(({ artifactTypes }) => artifactTypes?.includes(type))) {
    throw new BackendError(
      400,
      `An artifact of type ${type} is an object that is deployed, and has no content to fetch. Choose an artifact that is a file.`,
    )
  }
  const account = able.find((each) => each.name === name)
  if (account !== undefined) return account
  const choice =
    able.length === 0
      ? `No artifact account fetches artifacts of type ${type}. Artifact accounts are set by artifacts.http and artifacts.git-repo.`
      : `Accounts for artifacts of type ${type} are ${able.map((each) => each.name).join(', ')}.`
  if (name === undefined)
    throw new BackendError(400, `An artifact of type ${type} needs an artifact account, and the request names none. ${choice}`)
  const isKnown = artifactAccounts.some((each) => each.name === name)
  const problem = isKnown ? `does not fetch artifacts of type ${type}` : 'does not exist'
  throw new BackendError(400, `The artifact account "${name}" ${problem}. ${choice}`)
}

export const artifactRoutes: InfrastructureRoute[] = [
  get('/artifacts/credentials', credentials),
  { method: 'PUT', path: '/artifacts/fetch', answer: content },
  get('/artifacts/account/:account/names', none),
  get('/artifacts/account/:account/versions', none),
  get('/artifacts/content-address/:application/:hash', notFound('Artifact', 'application', 'hash')),
  get('/v1/data/static/:id', notFound('Data', 'id')),
  get('/v1/data/adhoc/:group/:bucket/*', notFound('Object', 'group', 'bucket', '*')),
]
