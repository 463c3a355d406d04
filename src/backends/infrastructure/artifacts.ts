/** Artifacts: files that pipelines refer to. Without artifact accounts, only embedded content can be read. */
import { fieldOf, textOf } from '../../json/values.ts'
import { BackendError } from '../backend.ts'
import { type Answer, get, type InfrastructureRoute, none, notFound } from './route.ts'

/** `embedded/base64` artifacts are their own content and need no account. */
const content: Answer = (request) => {
  const type = textOf(fieldOf(request.body, 'type'))
  const reference = textOf(fieldOf(request.body, 'reference'))
  if (type === 'embedded/base64' && reference !== undefined) return Buffer.from(reference, 'base64')
  const account = textOf(fieldOf(request.body, 'artifactAccount'))
  throw new BackendError(
    400,
    account === undefined
      ? `An artifact of type ${type ?? '(none)'} needs an artifact account, and the request names none.`
      : `The artifact account "${account}" does not exist: this installation has no artifact accounts.`,
  )
}

export const artifactRoutes: InfrastructureRoute[] = [
  get('/artifacts/credentials', none),
  { method: 'PUT', path: '/artifacts/fetch', answer: content },
  get('/artifacts/account/:account/names', none),
  get('/artifacts/account/:account/versions', none),
  get('/artifacts/content-address/:application/:hash', notFound('Artifact', 'application', 'hash')),
  get('/v1/data/static/:id', notFound('Data', 'id')),
  get('/v1/data/adhoc/:group/:bucket/*', notFound('Object', 'group', 'bucket', '*')),
]
