/** Reads of Git repositories for other back ends, with the credentials of artifact accounts. */
import { dirname, join } from 'node:path'
import type { GitAccount } from '@fairlead/base/outside/git-access.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { PolledRepository, VersionReads } from '@fairlead/ports/infrastructure.ts'
import { fetchFromRepository, gitArtifacts } from '../artifacts/git.ts'
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

export async function gitRefs(
  wanted: PolledRepository,
  known: string | undefined,
  context: BackendContext,
) {
  const repository = repositoryOf(wanted, context)
  const refs = await readers(context).refs.read(repository)
  removeUnusedMirrors(context)
  const digest = digestOf(refs)
  return digest === known ? { digest } : { digest, refs }
}

/** Runs at each start and poll: triggers that needed them may be gone. */
export function removeUnusedMirrors(context: BackendContext): void {
  const { mirrors } = readers(context)
  mirrors
    .removeUnused()
    .catch((error: unknown) =>
      context.log.debug({ err: error }, 'unused mirrors cannot be removed'),
    )
}

export async function changedPaths(
  wanted: PolledRepository,
  { ref, before, after }: Parameters<VersionReads['changedPaths']>[1],
  context: BackendContext,
): Promise<string[]> {
  const push = { ref: checkRef(ref), before: checkCommit(before), after: checkCommit(after) }
  return readers(context).mirrors.changedPaths(repositoryOf(wanted, context), push)
}

/** @throws {PortError} naming the repository and what Git says */
export async function archiveOf(
  wanted: PolledRepository,
  revision: string,
  context: BackendContext,
): Promise<Buffer> {
  const { url, account } = repositoryOf(wanted, context)
  const artifact = { url, revision, path: undefined, isFile: false }
  return fetchFromRepository(artifact, account, context.settings.outside)
}

/** @throws {PortError} 400 naming the accounts */
function repositoryOf(
  { url, account: name }: PolledRepository,
  context: BackendContext,
): GitRepository {
  if (name === undefined && !/^https?:/i.test(url))
    throw new PortError(
      400,
      'SSH needs a key: name an account of artifacts.git-repo as "artifactAccount" of the trigger.',
    )
  return { url, account: findAccount(name, context) }
}

function findAccount(name: string | undefined, { settings }: BackendContext): GitAccount {
  if (name === undefined) return { name: '(none)' }
  const configured = settings.infrastructure?.artifacts?.[gitArtifacts.id]
  const accounts = (configured ?? []) as readonly GitAccount[]
  const found = accounts.find((account) => account.name === name)
  if (found !== undefined) return found
  const choice =
    accounts.length === 0
      ? 'none is set'
      : `there are ${accounts.map((account) => account.name).join(', ')}`
  throw new PortError(
    400,
    `The artifact account "${name}" is none of artifacts.git-repo.accounts: ${choice}.`,
  )
}
