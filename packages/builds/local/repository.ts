/** Reads the repositories of jobs: commits for builds, and the files that declare jobs. Credentials never reach a build. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GitAccess, GitAccount } from '@fairlead/base/outside/git-access.ts'
import { openGitAccess } from '@fairlead/base/outside/git-access.ts'
import {
  fetchCommit,
  gitEnvironment,
  isRevision,
  withoutUserinfo,
} from '@fairlead/base/outside/git-repository.ts'
import { ProgramError, runProgram } from '@fairlead/base/outside/run-program.ts'
import { defaultOutsideSettings, type OutsideSettings } from '@fairlead/base/outside/settings.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { SandboxChoice } from '@fairlead/base/sandbox/settings.ts'
import { type FileOwner, foreignOwnerOf } from '@fairlead/base/storage/foreign-owner.ts'
import { buildBranch } from './plan.ts'
import type { BuildRepository } from './settings.ts'

export interface FetchedCommit {
  readonly sha1: string
  /** Undefined where the revision is no branch. */
  readonly branch: string | undefined
  readonly committer: string
  /** Address of the author. */
  readonly email?: string
  readonly message: string
  /** Milliseconds since the epoch. */
  readonly timestampMs: number
  /** Whether it is of the branch that is built unless a build names another. */
  readonly isUsual: boolean
  /** URL of the repository, without credentials. */
  readonly remoteUrl: string
  /** Content of a file; undefined: the commit has no such. */
  file(path: string): Promise<string | undefined>
}

interface RepositoryOptions {
  /** Accounts of `artifacts.git-repo`. */
  readonly accounts: readonly GitAccount[]
  /** Largest file that Git writes; it gets all of a fetch as one. */
  readonly maxBytes: number
  readonly sandbox: SandboxChoice
  /** Authorities and proxy, of the account whose builds have the repository. */
  readonly outgoingOf?: (
    repository: BuildRepository,
  ) => Pick<RepositoryAccess, 'environment' | 'readOnly'>
}

interface FetchFolders {
  /** Becomes the repository. */
  readonly bare: string
  /** For files that Git needs meanwhile. */
  readonly home: string
}

/** Addresses come from the settings, so they may be internal. */
const configured: OutsideSettings = {
  ...defaultOutsideSettings,
  hostNames: '.*',
  schemes: ['http', 'https'],
  rejected: [],
  rejects: { localhost: false, linkLocal: false, verbatim: false, private: false },
}

const fetchTimeoutMs = 10 * 60_000
const maxOutputBytes = 1024 * 1024
const maxMemoryBytes = 2 * 1024 * 1024 * 1024
const maxMessageLength = 5000
const mostCommits = 100
const separator = '%x00'
/** Unit of `ulimit -f`. */
const blockBytes = 512
/** A fetch becomes one pack, and not files of which each has the bound for itself; Git says that it has become too large. */
const bounded = 'trap "" XFSZ; ulimit -f "$1" && shift && exec git -c fetch.unpackLimit=1 "$@"'
const atBound = /file too large/i
const mebibyte = 1024 * 1024

interface RepositoryAccess
  extends Pick<GitAccess, 'url' | 'environment'>,
    Partial<Pick<GitAccess, 'readOnly'>> {
  /** Command that reads a repository of this machine; undefined: as Fairlead's user. */
  readonly uploadPack?: string
}

/** What leads Git to other files. */
const partsOfRepository = [
  '',
  'HEAD',
  'config',
  'commondir',
  'packed-refs',
  'refs',
  'refs/heads',
  'objects',
  'objects/info',
  'objects/info/alternates',
  'objects/pack',
]

type Git = (...args: string[]) => Promise<string>

export class RepositoryReader {
  readonly #options: RepositoryOptions
  readonly #closing = new AbortController()

  constructor(options: RepositoryOptions) {
    this.#options = options
  }

  /**
   * Fetches one commit into a repository of its own.
   *
   * @param revision Branch, tag or commit; undefined: the branch of the settings, or that of the repository
   * @throws {PortError} naming the repository and what Git says
   */
  async fetch(
    repository: BuildRepository,
    revision: string | undefined,
    { bare, home }: FetchFolders,
  ): Promise<FetchedCommit> {
    const { git, url } = await this.#init(repository, { bare, home })
    const usual = repository.branch ?? (await defaultBranch(git, url))
    const wanted = revision ?? usual
    if (wanted !== undefined && !isRevision(wanted))
      throw new PortError(400, `"${wanted}" is no branch, tag or commit.`)
    const branch = await this.#branchOf(git, url, wanted)
    // A tag of the same name would come first.
    const target = await fetchCommit(git, {
      url,
      revision: branch === undefined ? wanted : `refs/heads/${branch}`,
    })
    const sha1 = (await git('rev-parse', '--verify', `${target}^{commit}`)).trim()
    await git('update-ref', `refs/heads/${buildBranch}`, sha1)
    // It names the address, and the build gets the repository.
    await rm(join(bare, 'FETCH_HEAD'), { force: true })
    const format = ['%an', '%ae', '%ct', '%B'].join(separator)
    const [committer = '', email, seconds = '0', message = ''] = (
      await git('log', '-1', `--format=${format}`, sha1)
    ).split('\0')
    return {
      sha1,
      branch,
      isUsual:
        revision === undefined ||
        (branch !== undefined && branch === usual?.replace(/^refs\/heads\//, '')),
      committer,
      email: email || undefined,
      message: message.trim().slice(0, maxMessageLength),
      timestampMs: Number(seconds) * 1000,
      remoteUrl: withoutUserinfo(repository.url),
      file: (path) => readFile(git, sha1, path),
    }
  }

  /** Commits that one has and another one has not, the newest first. @throws {PortError} as `fetch` */
  async between(
    repository: BuildRepository,
    { from, to }: { readonly from: string; readonly to: string },
    folders: FetchFolders,
  ): Promise<Pick<FetchedCommit, 'sha1' | 'committer' | 'message' | 'timestampMs'>[]> {
    const { git, url } = await this.#init(repository, folders)
    await git(
      'fetch',
      '--quiet',
      '--no-tags',
      '--end-of-options',
      url,
      '+refs/heads/*:refs/fetched/*',
    )
    const fields = ['%H', '%an', '%ct', '%s'].join(separator)
    const log = await git(
      'log',
      `--max-count=${mostCommits}`,
      `--format=${fields}`,
      `${from}..${to}`,
      '--',
    )
    return log
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [sha1 = '', committer = '', seconds = '0', message = ''] = line.split('\0')
        return {
          sha1,
          committer,
          message: message.slice(0, maxMessageLength),
          timestampMs: Number(seconds) * 1000,
        }
      })
  }

  async #init(repository: BuildRepository, { bare, home }: FetchFolders) {
    for (const folder of [bare, home]) await mkdir(folder, { recursive: true, mode: 0o700 })
    const opened = await this.#open(repository, bare, home)
    await opened.git('init', '--quiet', '--bare', '.')
    return opened
  }

  /** Ends what is being fetched. */
  close(): void {
    this.#closing.abort()
  }

  /** Undefined: the settings of the repository name none, or one that does not exist. */
  accountOf(repository: BuildRepository | undefined): GitAccount | undefined {
    return this.#options.accounts.find(({ name }) => name === repository?.account)
  }

  /** The commit that a branch has now, for little. @throws {PortError} */
  async head(repository: BuildRepository, folder: string): Promise<string | undefined> {
    const { git, url } = await this.#open(repository, folder, folder)
    const name = repository.branch === undefined ? 'HEAD' : `refs/heads/${repository.branch}`
    return (await git('ls-remote', '--end-of-options', url, name)).split(/\s/)[0] || undefined
  }

  /** A tag or a commit is no branch. */
  async #branchOf(git: Git, url: string, wanted: string | undefined): Promise<string | undefined> {
    if (wanted === undefined || /^[0-9a-f]{40,64}$/.test(wanted)) return undefined
    const name = wanted.replace(/^refs\/heads\//, '')
    const found = await git('ls-remote', '--end-of-options', url, `refs/heads/${name}`)
    return found.trim() === '' ? undefined : name
  }

  async #open(
    repository: BuildRepository,
    cwd: string,
    home: string,
  ): Promise<{ git: Git; url: string }> {
    const { url, environment, readOnly, uploadPack } = await this.#accessTo(repository, home)
    const sandbox = readOnly === undefined ? 'none' : this.#options.sandbox
    const outgoing = this.#options.outgoingOf?.(repository)
    let excess: PortError | undefined
    const run: Git = async (verb = '', ...others) => {
      const reads = uploadPack !== undefined && (verb === 'fetch' || verb === 'ls-remote')
      const args = [verb, ...(reads ? [`--upload-pack=${uploadPack}`] : []), ...others]
      // Another way to fetch would not get less.
      if (excess !== undefined) throw excess
      try {
        const output = await runProgram({
          program: 'sh',
          args: [
            '-c',
            bounded,
            'sh',
            String(Math.ceil(this.#options.maxBytes / blockBytes)),
            ...args,
          ],
          folder: cwd,
          environment: {
            ...outgoing?.environment,
            ...gitEnvironment,
            HOME: home,
            GIT_LITERAL_PATHSPECS: '1',
            ...environment,
          },
          timeLimitMs: fetchTimeoutMs,
          maxOutputBytes,
          signal: this.#closing.signal,
          sandbox,
          network: 'host',
          readOnly: [home, ...(outgoing?.readOnly ?? []), ...(readOnly ?? [])],
          maxMemoryBytes,
          maxFolderBytes: 2 * this.#options.maxBytes,
        })
        return output.toString('utf8')
      } catch (error) {
        const fault = toFault(error, repository, this.#options.maxBytes)
        if (fault instanceof PortError && fault.status === 413) excess = fault
        throw fault
      }
    }
    return { git: run, url }
  }

  /** Without `readOnly`: Git works with the files and keys of Fairlead's user, as settings of the operator want it. @throws {PortError} 400 */
  async #accessTo(repository: BuildRepository, home: string): Promise<RepositoryAccess> {
    const { url, account: name } = repository
    const account = this.accountOf(repository)
    if (name !== undefined && account === undefined) {
      throw new PortError(
        400,
        `There is no account "${name}" in artifacts.git-repo.accounts, or artifacts.git-repo.enabled is off.`,
      )
    }
    if (/^https?:/.test(url) || account !== undefined) {
      return openGitAccess(url, {
        account: account ?? { name: '' },
        outside: configured,
        folder: home,
      })
    }
    if (/^(?:ssh:|[^/]+@)/.test(url))
      return {
        url,
        environment: { GIT_SSH_COMMAND: 'ssh -o BatchMode=yes', GIT_ALLOW_PROTOCOL: 'ssh' },
      }
    // A repository of this machine belongs to another user at times, which Git refuses unless its configuration trusts it.
    const config = join(home, 'gitconfig')
    await writeFile(config, '[safe]\n\tdirectory = *\n', { mode: 0o600 })
    const owner = await ownerOfRepository(url.replace(/^file:\/\/(?:localhost)?(?=\/)/, ''))
    const environment = { GIT_CONFIG_GLOBAL: config, GIT_ALLOW_PROTOCOL: 'file' }
    return { url, environment, ...(owner && { uploadPack: readAs(owner) }) }
  }
}

/** Another user than root who could make Git read other files. */
async function ownerOfRepository(path: string): Promise<FileOwner | undefined> {
  const git = ['', '.git'].flatMap((folder) =>
    partsOfRepository.map((part) => join(path, folder, part)),
  )
  for (const place of [path, ...git]) {
    const owner = await foreignOwnerOf(place)
    if (owner !== undefined) return owner
  }
  return undefined
}

/** Git follows links, alternates and the repository's configuration: all of that with the rights of its owner, and no others. */
function readAs({ uid, gid }: FileOwner): string {
  const rights = `--reuid=${uid} --regid=${gid} --clear-groups --inh-caps=-all --no-new-privs`
  return `cd / && exec setpriv ${rights} env -u GIT_CONFIG_GLOBAL HOME=/nonexistent git-upload-pack`
}

async function defaultBranch(git: Git, url: string): Promise<string | undefined> {
  const answer = await git('ls-remote', '--symref', '--end-of-options', url, 'HEAD')
  return /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(answer)?.[1]
}

async function readFile(git: Git, commit: string, path: string): Promise<string | undefined> {
  const entry = await git('ls-tree', commit, '--', path)
  return /^\d{6} blob /.test(entry) ? git('cat-file', 'blob', `${commit}:${path}`) : undefined
}

function toFault(error: unknown, { url }: BuildRepository, maxBytes: number): unknown {
  if (!(error instanceof ProgramError)) return error
  const { fault, errors, message } = error
  if (atBound.test(`${message} ${errors}`)) {
    const most = `builds.local.disk-mb, ${Math.floor(maxBytes / mebibyte)} MiB`
    return new PortError(
      413,
      `The repository ${withoutUserinfo(url)} is larger than a build may have (${most}). Raise the setting.`,
    )
  }
  if (fault === 'missing' || /exit code 12[67]$/.test(message))
    return new PortError(
      500,
      'Git is not installed on this machine. Install it to build from repositories.',
    )
  return new PortError(
    502,
    `The repository ${withoutUserinfo(url)} cannot be read: git ${message}. ${withoutUserinfo(errors)}`.trim(),
  )
}
