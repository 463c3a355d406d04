/** Artifacts in Git repositories: `git/repo`, an archive of a commit, and `git/file`, a file of it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { fieldOf, type JsonObject, textOf } from '../../../json/values.ts'
import { off, type SettingsReport, setting, settings } from '../../../settings/setting.ts'
import { type BackendContext, BackendError } from '../../backend.ts'
import { fetchCommit, gitEnvironment, isRevision, withoutUserinfo } from '../../outside/git-repository.ts'
import { ProgramError, runProgram } from '../../outside/run-program.ts'
import { defaultOutsideSettings, type OutsideSettings } from '../../outside/settings.ts'
import { type ArtifactAccountType, fetchTimeoutMs, maxArtifactBytes } from './account-type.ts'
import type { ArtifactAccount } from './artifact-account.ts'
import { artifactTokenKeys, checkArtifactAccounts, credentialKeys } from './credentials.ts'
import { type GitAccess, type GitAccount, openGitAccess, sshKeys } from './git-access.ts'

const accountsKey = 'artifacts.git-repo.accounts'

const gitKeys = settings({
  enabled: setting('artifacts.git-repo.enabled', off).describe(
    'Fetch artifacts from Git repositories: `git/repo` and `git/file`. Git must be installed.',
  ),
  accounts: setting(
    accountsKey,
    z.array(z.strictObject({ ...credentialKeys, ...artifactTokenKeys, ...sshKeys })).default([]),
  ).describe('Accounts for repositories; one without credentials reads public repositories.'),
})

export const gitArtifacts: ArtifactAccountType = {
  id: 'git-repo',
  keys: gitKeys.keys,
  toSettings(keys: object, report: SettingsReport): readonly GitAccount[] | undefined {
    const { enabled, accounts } = gitKeys.read(keys)
    if (!enabled) return undefined
    checkArtifactAccounts(accountsKey, accounts, report)
    return accounts
  },
  open: (accounts, context) => openGitAccounts(accounts as readonly GitAccount[], context),
}

function openGitAccounts(accounts: readonly GitAccount[], { settings: { outside } }: BackendContext): ArtifactAccount[] {
  return accounts.map((account) => ({
    name: account.name,
    types: ['git/repo', 'git/file'],
    fetch: (artifact) => fetchFromRepository(parseArtifact(artifact), account, outside ?? defaultOutsideSettings),
  }))
}

interface RepositoryArtifact {
  readonly url: string
  readonly revision: string | undefined
  /** Place in the repository; undefined: all of it. */
  readonly path: string | undefined
  readonly isFile: boolean
}

/** @throws {BackendError} 400 */
function parseArtifact({ type, name, version, reference, metadata }: JsonObject): RepositoryArtifact {
  const url = textOf(reference)
  if (url === undefined)
    throw new BackendError(400, `An artifact of type ${type} needs the address of its repository as "reference".`)
  const revision = textOf(version)
  if (revision !== undefined && !isRevision(revision))
    throw new BackendError(400, `"${revision}" is no version of a repository: name a branch, a tag or a commit.`)
  const isFile = type === 'git/file'
  const path = textOf(fieldOf(metadata, 'subPath')) ?? (isFile ? textOf(name) : undefined)
  if (isFile && path === undefined)
    throw new BackendError(400, 'An artifact of type git/file needs the path of the file as "name", or as "metadata.subPath".')
  if (path !== undefined && (path.startsWith('/') || path.includes('\0') || path.split('/').includes('..')))
    throw new BackendError(400, `The path of an artifact must be inside its repository, and is "${path}".`)
  return { url, revision, path: path?.replace(/^(?:\.\/+)+|(?<!\/)\/+$/g, '') || undefined, isFile }
}

async function fetchFromRepository(artifact: RepositoryArtifact, account: GitAccount, outside: OutsideSettings): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-git-'))
  try {
    const access = await openGitAccess(artifact.url, { account, outside, folder })
    return await readArtifact(artifact, access, folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The commit is never checked out: nothing of it becomes a file. */
async function readArtifact({ url, revision, path, isFile }: RepositoryArtifact, access: GitAccess, folder: string) {
  const environment = { ...gitEnvironment, ...access.environment, HOME: folder, GIT_LITERAL_PATHSPECS: '1' }
  const endMs = performance.now() + fetchTimeoutMs
  const git = async (...args: string[]) => {
    const timeLimitMs = Math.max(1, Math.round(endMs - performance.now()))
    try {
      return await runProgram({ program: 'git', args, folder, environment, timeLimitMs, maxOutputBytes: maxArtifactBytes })
    } catch (error) {
      throw toGitError(error, { url, revision })
    }
  }
  await git('init', '--quiet', '--bare', '.')
  const commit = await fetchCommit(git, { url: access.url, revision })
  if (isFile) return git('cat-file', 'blob', `${commit}:${path}`)
  return git('archive', '--format=tar.gz', commit, ...(path === undefined ? [] : ['--', path]))
}

const missingPattern =
  /couldn't find remote ref|not our ref|did not match any|does not exist|not a valid object|repository not found|' not found/i

/** @returns 404 for what the repository does not have, else 502 or 504 */
function toGitError(error: unknown, { url, revision }: Pick<RepositoryArtifact, 'url' | 'revision'>): unknown {
  if (!(error instanceof ProgramError)) return error
  const { fault, errors, message } = error
  if (fault === 'missing')
    return new BackendError(500, 'Git is not installed on this machine. Install it to fetch artifacts from repositories.')
  const place = `${withoutUserinfo(url)}${revision === undefined ? '' : ` at ${revision}`}`
  const text = `The artifact cannot be fetched from ${place}: git ${message}. ${withoutUserinfo(errors)}`.trim()
  if (fault === 'timeout') return new BackendError(504, text)
  return new BackendError(missingPattern.test(errors) ? 404 : 502, text)
}
