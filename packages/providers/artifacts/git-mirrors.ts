/** Mirrors of Git repositories without their files: enough to tell which files a push has changed. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { openGitAccess } from '@fairlead/base/outside/git-access.ts'
import {
  gitEnvironment,
  isRevision,
  withoutUserinfo,
} from '@fairlead/base/outside/git-repository.ts'
import { ProgramError, runProgram } from '@fairlead/base/outside/run-program.ts'
import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { type GitRepository, toGitFailure } from './git-refs.ts'

/** Limit of one mirror. A larger one is cloned again; one that a single fetch makes larger is an error. */
const usualPackBytes = 256 * 1024 * 1024
/** How often a running fetch is measured. */
const measureMs = 250
const unusedMs = 7 * 24 * 60 * 60_000
const removeEveryMs = 60 * 60_000
/** The one that was not used for the longest time gives way. */
const mostMirrors = 50
const maxListBytes = 4 * 1024 * 1024
const timeLimitMs = 60_000

interface MirrorPush {
  readonly ref: string
  readonly before: string
  readonly after: string
}

export class GitMirrors {
  readonly #outside: OutsideSettings
  /** May be removed while no process of Fairlead runs. */
  readonly #folder: string
  readonly #maxPackBytes: number
  #removedMs = Number.NEGATIVE_INFINITY
  /** One push after the other in each of them. */
  readonly #running = new Map<string, Promise<unknown>>()

  constructor(outside: OutsideSettings, folder: string, maxPackBytes = usualPackBytes) {
    this.#outside = outside
    this.#folder = folder
    this.#maxPackBytes = maxPackBytes
  }

  /** Removes mirrors that were not used for a week, such as those of triggers that are gone; it looks once an hour. */
  async removeUnused(): Promise<void> {
    if (performance.now() - this.#removedMs < removeEveryMs) return
    this.#removedMs = performance.now()
    const others = await this.#idleMirrors()
    await this.#remove(others.filter(({ usedMs }) => usedMs < Date.now() - unusedMs))
  }

  /** @throws {PortError} 400, 502 or 504, saying what failed */
  async changedPaths(repository: GitRepository, push: MirrorPush): Promise<string[]> {
    const mark = JSON.stringify([repository.url, repository.account.name])
    const name = `${createHash('sha256').update(mark).digest('hex').slice(0, 32)}.git`
    const before = this.#running.get(name) ?? Promise.resolve()
    const work = before
      .catch(() => {})
      .then(() => this.#read(repository, push, join(this.#folder, name)))
    this.#running.set(name, work)
    try {
      return await work
    } finally {
      if (this.#running.get(name) === work) this.#running.delete(name)
    }
  }

  async #read(repository: GitRepository, push: MirrorPush, folder: string): Promise<string[]> {
    await this.#makeRoom(folder)
    const { url, environment, readOnly } = await openGitAccess(repository.url, {
      ...repository,
      outside: this.#outside,
      folder,
    })
    const tooLarge = new AbortController()
    const git = (...args: string[]) =>
      runProgram({
        program: 'git',
        args: ['-c', 'gc.auto=0', '-c', 'maintenance.auto=false', ...args],
        folder,
        environment: { ...gitEnvironment, ...environment, HOME: folder },
        timeLimitMs,
        maxOutputBytes: maxListBytes,
        signal: tooLarge.signal,
        sandbox: this.#outside.sandbox,
        network: 'host',
        readOnly,
      })
    try {
      await git('init', '--quiet', '--bare', '.')
      await this.#whileMeasured(folder, tooLarge, () => fetchBoth(git, url, push))
      const list = await git(
        'diff-tree',
        '-r',
        '--name-only',
        '--no-renames',
        '-z',
        push.before,
        push.after,
      )
      return list
        .toString('utf8')
        .split('\0')
        .filter((path) => path !== '')
    } catch (error) {
      // Git that was ended leaves locks and half a pack behind.
      if (error instanceof ProgramError && error.fault !== 'failed')
        await rm(folder, { recursive: true, force: true })
      throw tooLarge.signal.aborted
        ? this.#tooLarge(repository.url)
        : toGitFailure(error, repository.url)
    }
  }

  async #whileMeasured(
    folder: string,
    tooLarge: AbortController,
    fetch: () => Promise<void>,
  ): Promise<void> {
    const measure = async () => {
      if ((await packBytes(folder)) > this.#maxPackBytes) tooLarge.abort()
    }
    const timer = setInterval(() => void measure(), measureMs)
    try {
      await fetch()
    } finally {
      clearInterval(timer)
    }
  }

  #tooLarge(url: string): PortError {
    const most = Math.ceil(this.#maxPackBytes / 1024 / 1024)
    return new PortError(
      502,
      `The repository ${withoutUserinfo(url)} sends more than ${most} MiB to tell which files have changed. Let its server allow filters (uploadpack.allowFilter).`,
    )
  }

  async #makeRoom(folder: string): Promise<void> {
    if ((await packBytes(folder)) > this.#maxPackBytes)
      await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await utimes(folder, new Date(), new Date())
    const others = await this.#idleMirrors()
    await this.#remove(
      others.toSorted((one, other) => other.usedMs - one.usedMs).slice(mostMirrors - 1),
    )
  }

  async #idleMirrors(): Promise<Mirror[]> {
    const names = (await readdir(this.#folder).catch(() => [])).filter(
      (name) => !this.#running.has(name),
    )
    const found = names.map(async (name) => {
      const stats = await stat(join(this.#folder, name)).catch(() => undefined)
      return stats === undefined ? [] : [{ name, usedMs: stats.mtimeMs }]
    })
    return (await Promise.all(found)).flat()
  }

  /** Only while nothing runs in them. */
  async #remove(mirrors: readonly Mirror[]): Promise<void> {
    for (const { name } of mirrors)
      if (!this.#running.has(name))
        await rm(join(this.#folder, name), { recursive: true, force: true })
  }
}

interface Mirror {
  readonly name: string
  readonly usedMs: number
}

/** Commits that are fetched from a server that gives only what its refs name, as over SSH. */
const fallbackDepth = 100

async function fetchBoth(
  git: (...args: string[]) => Promise<Buffer>,
  url: string,
  { ref, before, after }: MirrorPush,
): Promise<void> {
  const fetch = (depth: number, ...names: string[]) => {
    const options = [
      '--quiet',
      '--depth',
      String(depth),
      '--no-tags',
      '--filter=blob:none',
      '--no-write-fetch-head',
    ]
    return git('fetch', ...options, '--end-of-options', url, ...names)
  }
  try {
    await fetch(1, before, after)
  } catch (error) {
    if (!(error instanceof ProgramError) || !/unadvertised object|not our ref/.test(error.errors))
      throw error
    await fetch(fallbackDepth, ref)
  }
}

async function packBytes(folder: string): Promise<number> {
  const packs = join(folder, 'objects', 'pack')
  const names = await readdir(packs).catch(() => [])
  // A running fetch renames and removes files.
  const sizeOf = (name: string) =>
    stat(join(packs, name)).then(
      ({ size }) => size,
      () => 0,
    )
  const sizes = await Promise.all(names.map(sizeOf))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** @throws {PortError} 400 */
export function checkRef(text: string | undefined): string {
  if (text?.startsWith('refs/') && isRevision(text)) return text
  throw new PortError(400, `"${text ?? ''}" is no whole name of a branch or tag.`)
}

const commitPattern = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** @throws {PortError} 400 */
export function checkCommit(text: string | undefined): string {
  if (text !== undefined && commitPattern.test(text)) return text
  throw new PortError(400, `"${text ?? ''}" is no whole name of a commit.`)
}
