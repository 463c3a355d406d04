/** Reads of Git repositories for other back ends, with the credentials of artifact accounts. */
import { dirname, join } from 'node:path'
import { type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { GitAccount } from '@fairlead/base/outside/git-access.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { gitArtifacts } from '../artifacts/git.ts'
import { checkCommit, checkRef, GitMirrors } from '../artifacts/git-mirrors.ts'
import { digestOf, GitRefReader, type GitRepository } from '../artifacts/git-refs.ts'

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

export async function gitRefs(wanted: JsonObject, context: BackendContext): Promise<JsonObject> {
  const repository = repositoryOf(wanted, context)
  const found = await readers(context).refs.read(repository)
  removeUnusedMirrors(context)
  const digest = digestOf(found)
  return digest === textOf(wanted['known']) ? { digest } : { digest, refs: found }
}

/** At each start and poll: triggers that needed them may be gone. */
export function removeUnusedMirrors(context: BackendContext): void {
  const { mirrors } = readers(context)
  mirrors.removeUnused().catch((error: unknown) => context.log.debug({ err: error }, 'unused mirrors cannot be removed'))
}

export async function changedPaths(wanted: JsonObject, context: BackendContext): Promise<JsonObject> {
  const repository = repositoryOf(wanted, context)
  const [before, after] = [checkCommit(textOf(wanted['before'])), checkCommit(textOf(wanted['after']))]
  const push = { ref: checkRef(textOf(wanted['ref'])), before, after }
  return { paths: await readers(context).mirrors.changedPaths(repository, push) }
}

/** @throws {PortError} 400 naming the accounts */
function repositoryOf(wanted: JsonObject, context: BackendContext): GitRepository {
  const url = textOf(wanted['repository'])
  if (url === undefined) throw new PortError(400, 'The trigger names no repository. Set its address as "repository".')
  const name = textOf(wanted['account'])
  if (name === undefined && !/^https?:/i.test(url))
    throw new PortError(400, 'SSH needs a key: name an account of artifacts.git-repo as "artifactAccount" of the trigger.')
  return { url, account: findAccount(name, context) }
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
