/** Reads of Git repositories for other back ends, with the credentials of artifact accounts. */
import { dirname, join } from 'node:path'
import type { FastifyRequest } from 'fastify'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../json/values.ts'
import { PortError } from '../../ports/port-error.ts'
import type { BackendContext } from '../backend.ts'
import { isFromBackend } from '../requests/request-caller.ts'
import { gitArtifacts } from './artifact-accounts/git.ts'
import type { GitAccount } from './artifact-accounts/git-access.ts'
import { checkCommit, checkRef, GitMirrors } from './artifact-accounts/git-mirrors.ts'
import { digestOf, GitRefReader, type GitRepository } from './artifact-accounts/git-refs.ts'
import type { Answer, InfrastructureRoute } from './route.ts'

interface Readers {
  readonly refs: GitRefReader
  readonly mirrors: GitMirrors
}

/** They know servers from earlier reads. */
const readersOf = new WeakMap<BackendContext, Readers>()

function readers(context: BackendContext): Readers {
  return readersOf.getOrInsertComputed(context, () => {
    const { outside } = context.settings
    const folder = join(dirname(context.db.location() ?? ''), 'git-mirrors')
    return { refs: new GitRefReader(outside), mirrors: new GitMirrors(outside, folder) }
  })
}

const refs: Answer = async (request, { context }) => {
  const { repository, body } = parseRequest(request, context)
  const found = await readers(context).refs.read(repository)
  removeUnusedMirrors(context)
  const digest = digestOf(found)
  return digest === textOf(body['known']) ? { digest } : { digest, refs: found }
}

/** At each start and poll: triggers that needed them may be gone. */
export function removeUnusedMirrors(context: BackendContext): void {
  const { mirrors } = readers(context)
  mirrors.removeUnused().catch((error: unknown) => context.log.debug({ err: error }, 'unused mirrors cannot be removed'))
}

const changedPaths: Answer = async (request, { context }) => {
  const { repository, body } = parseRequest(request, context)
  const [before, after] = [checkCommit(textOf(body['before'])), checkCommit(textOf(body['after']))]
  const push = { ref: checkRef(textOf(body['ref'])), before, after }
  return { paths: await readers(context).mirrors.changedPaths(repository, push) }
}

/** @throws {PortError} 403 for clients, 400 naming the accounts */
function parseRequest(request: FastifyRequest, context: BackendContext): { repository: GitRepository; body: JsonObject } {
  if (!isFromBackend(request)) throw new PortError(403, 'Only triggers read repositories in this way.')
  const body = objectOf(request.body)
  const url = textOf(body['repository'])
  if (url === undefined) throw new PortError(400, 'The trigger names no repository. Set its address as "repository".')
  const name = textOf(body['account'])
  if (name === undefined && !/^https?:/i.test(url))
    throw new PortError(400, 'SSH needs a key: name an account of artifacts.git-repo as "artifactAccount" of the trigger.')
  return { repository: { url, account: findAccount(name, context) }, body }
}

/** Without a name, one without credentials. */
function findAccount(name: string | undefined, { settings }: BackendContext): GitAccount {
  if (name === undefined) return { name: '(none)' }
  const configured = settings.infrastructure?.artifacts?.[gitArtifacts.id]
  const accounts = objectsOf(configured) as unknown as GitAccount[]
  const found = accounts.find((account) => account.name === name)
  if (found !== undefined) return found
  const choice = accounts.length === 0 ? 'none is set' : `there are ${accounts.map((account) => account.name).join(', ')}`
  throw new PortError(400, `The artifact account "${name}" is none of artifacts.git-repo.accounts: ${choice}.`)
}

export const gitReadRoutes: InfrastructureRoute[] = [
  { method: 'POST', path: '/artifacts/git/refs', answer: refs },
  { method: 'POST', path: '/artifacts/git/changed-paths', answer: changedPaths },
]
