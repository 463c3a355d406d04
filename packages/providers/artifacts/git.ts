/** Artifacts in Git repositories: `git/repo`, an archive of a commit, and `git/file`, a file of it. */

import {
  artifactTokenKeys,
  checkHosts,
  credentialKeys,
} from '@fairlead/base/outside/account-credentials.ts'
import { type GitAccount, sshKeys, withGit } from '@fairlead/base/outside/git-access.ts'
import { fetchCommit, isRevision, withoutUserinfo } from '@fairlead/base/outside/git-repository.ts'
import { ProgramError } from '@fairlead/base/outside/run-program.ts'
import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import { fetchTimeoutMs, maxArtifactBytes } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import { type Artifact, type ArtifactAccount, listedAccounts } from './account-type.ts'

export const gitArtifacts = listedAccounts({
  id: 'git-repo',
  enabled:
    'Fetch artifacts from Git repositories: `git/repo` and `git/file`. Git must be installed.',
  accounts: 'Accounts for repositories; one without credentials reads public repositories.',
  account: z.strictObject({ ...credentialKeys, ...artifactTokenKeys, ...sshKeys }),
  check: checkHosts,
  open: openAccounts,
})

function openAccounts(
  accounts: readonly GitAccount[],
  { settings: { outside } }: BackendContext,
): ArtifactAccount[] {
  return accounts.map((account) => ({
    name: account.name,
    types: ['git/repo', 'git/file'],
    fetch: (artifact) => fetchFromRepository(parseArtifact(artifact), account, outside),
  }))
}

interface RepositoryArtifact {
  readonly url: string
  readonly revision: string | undefined
  readonly path: string | undefined
  readonly isFile: boolean
}

/** @throws {PortError} 400 */
function parseArtifact({
  type,
  name,
  version: revision,
  reference: url,
  metadata,
}: Artifact): RepositoryArtifact {
  if (url === undefined)
    throw new PortError(
      400,
      `An artifact of type ${type} needs the address of its repository as "reference".`,
    )
  if (revision !== undefined && !isRevision(revision))
    throw new PortError(
      400,
      `"${revision}" is no version of a repository: name a branch, a tag or a commit.`,
    )
  const isFile = type === 'git/file'
  const path = metadata.subPath ?? (isFile ? name : undefined)
  if (isFile && path === undefined)
    throw new PortError(
      400,
      'An artifact of type git/file needs the path of the file as "name", or as "metadata.subPath".',
    )
  if (
    path !== undefined &&
    (path.startsWith('/') || path.includes('\0') || path.split('/').includes('..'))
  )
    throw new PortError(
      400,
      `The path of an artifact must be inside its repository, and is "${path}".`,
    )
  return { url, revision, path: path?.replace(/^(?:\.\/+)+|(?<!\/)\/+$/g, '') || undefined, isFile }
}

/** The commit is never checked out: nothing of it becomes a file. */
export async function fetchFromRepository(
  artifact: RepositoryArtifact,
  account: GitAccount,
  outside: OutsideSettings,
): Promise<Buffer> {
  const { url, revision, path, isFile } = artifact
  const run = { account, outside, timeLimitMs: fetchTimeoutMs, maxOutputBytes: maxArtifactBytes }
  try {
    return await withGit(url, run, async (git, address) => {
      await git('init', '--quiet', '--bare', '.')
      const commit = await fetchCommit(git, { url: address, revision })
      if (isFile) return git('cat-file', 'blob', `${commit}:${path}`)
      return git('archive', '--format=tar.gz', commit, ...(path === undefined ? [] : ['--', path]))
    })
  } catch (error) {
    throw toGitError(error, artifact)
  }
}

const missingPattern =
  /couldn't find remote ref|not our ref|did not match any|does not exist|not a valid object|repository not found|' not found/i

/** @returns 404 for what the repository does not have, else 502 or 504 */
function toGitError(
  error: unknown,
  { url, revision }: Pick<RepositoryArtifact, 'url' | 'revision'>,
): unknown {
  if (!(error instanceof ProgramError)) return error
  const { fault, errors, message } = error
  if (fault === 'missing')
    return new PortError(
      500,
      'Git is not installed on this machine. Install it to fetch artifacts from repositories.',
    )
  if (fault === 'machine') return new PortError(500, `Git ${message}`)
  const place = `${withoutUserinfo(url)}${revision === undefined ? '' : ` at ${revision}`}`
  const text =
    `The artifact cannot be fetched from ${place}: git ${message}. ${withoutUserinfo(errors)}`.trim()
  if (fault === 'timeout') return new PortError(504, text)
  return new PortError(missingPattern.test(errors) ? 404 : 502, text)
}
