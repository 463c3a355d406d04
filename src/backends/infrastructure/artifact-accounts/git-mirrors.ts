/** Mirrors of Git repositories without their files: enough to tell which files a push has changed. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { BackendError } from '../../backend.ts'
import { gitEnvironment, isRevision } from '../../outside/git-repository.ts'
import { ProgramError, runProgram } from '../../outside/run-program.ts'
import type { OutsideSettings } from '../../outside/settings.ts'
import { openGitAccess } from './git-access.ts'
import { type GitRepository, toGitFailure } from './git-refs.ts'

/** Of one mirror; a larger one begins anew. */
const maxPackBytes = 256 * 1024 * 1024
/** The one that was not used for the longest time gives way. */
const mostMirrors = 50
const maxListBytes = 4 * 1024 * 1024
const timeLimitMs = 60_000

export interface Push {
  /** The branch or tag, such as `refs/heads/main`. */
  readonly ref: string
  readonly before: string
  readonly after: string
}

export class GitMirrors {
  readonly #outside: OutsideSettings
  /** May be removed while no process of Fairlead runs. */
  readonly #folder: string
  /** One push after the other in each of them. */
  readonly #running = new Map<string, Promise<unknown>>()

  constructor(outside: OutsideSettings, folder: string) {
    this.#outside = outside
    this.#folder = folder
  }

  /** @throws {BackendError} 400, 502 or 504, saying what failed */
  async changedPaths(repository: GitRepository, push: Push): Promise<string[]> {
    const mark = JSON.stringify([repository.url, repository.account.name])
    const name = `${createHash('sha256').update(mark).digest('hex').slice(0, 32)}.git`
    const before = this.#running.get(name) ?? Promise.resolve()
    const work = before.catch(() => {}).then(() => this.#read(repository, push, join(this.#folder, name)))
    this.#running.set(name, work)
    try {
      return await work
    } finally {
      if (this.#running.get(name) === work) this.#running.delete(name)
    }
  }

  async #read(repository: GitRepository, push: Push, folder: string): Promise<string[]> {
    await this.#makeRoom(folder)
    const { url, environment } = await openGitAccess(repository.url, { ...repository, outside: this.#outside, folder })
    const git = (...args: string[]) =>
      runProgram({
        program: 'git',
        args: ['-c', 'gc.auto=0', '-c', 'maintenance.auto=false', ...args],
        folder,
        environment: { ...gitEnvironment, ...environment, HOME: folder },
        timeLimitMs,
        maxOutputBytes: maxListBytes,
      })
    try {
      await git('init', '--quiet', '--bare', '.')
      await fetchBoth(git, url, push)
      const list = await git('diff-tree', '-r', '--name-only', '--no-renames', '-z', push.before, push.after)
      return list
        .toString('utf8')
        .split('\0')
        .filter((path) => path !== '')
    } catch (error) {
      throw toGitFailure(error, repository.url)
    }
  }

  /** Others are removed only while nothing runs in them. */
  async #makeRoom(folder: string): Promise<void> {
    if ((await packBytes(folder)) > maxPackBytes) await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await utimes(folder, new Date(), new Date())
    const names = (await readdir(this.#folder)).filter((name) => !this.#running.has(name))
    const others = await Promise.all(
      names.map(async (name) => ({ name, usedMs: (await stat(join(this.#folder, name))).mtimeMs })),
    )
    const oldest = others.toSorted((one, other) => other.usedMs - one.usedMs).slice(mostMirrors - 1)
    for (const { name } of oldest) await rm(join(this.#folder, name), { recursive: true, force: true })
  }
}

/** Commits that are fetched from a server that gives only what its refs name, as over SSH. */
const fallbackDepth = 100

async function fetchBoth(git: (...args: string[]) => Promise<Buffer>, url: string, { ref, before, after }: Push): Promise<void> {
  const fetch = (depth: number, ...names: string[]) => {
    const options = ['--quiet', '--depth', String(depth), '--no-tags', '--filter=blob:none', '--no-write-fetch-head']
    return git('fetch', ...options, '--end-of-options', url, ...names)
  }
  try {
    await fetch(1, before, after)
  } catch (error) {
    if (!(error instanceof ProgramError) || !/unadvertised object|not our ref/.test(error.errors)) throw error
    await fetch(fallbackDepth, ref)
  }
}

async function packBytes(folder: string): Promise<number> {
  const packs = join(folder, 'objects', 'pack')
  const names = await readdir(packs).catch(() => [])
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(packs, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** @throws {BackendError} 400 */
export function checkRef(text: string | undefined): string {
  if (text?.startsWith('refs/') && isRevision(text)) return text
  throw new BackendError(400, `"${text ?? ''}" is no whole name of a branch or tag.`)
}

const commitPattern = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** @throws {BackendError} 400 */
export function checkCommit(text: string | undefined): string {
  if (text !== undefined && commitPattern.test(text)) return text
  throw new BackendError(400, `"${text ?? ''}" is no whole name of a commit.`)
}
