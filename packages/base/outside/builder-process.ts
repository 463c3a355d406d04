/** Parts that the processes of bakes and builds share: programs, checkouts, and copies within their working directory. */
import { execFile, type SpawnOptions, spawn } from 'node:child_process'
import { constants, existsSync, mkdirSync, realpathSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { fetchCommit, gitEnvironment } from './git-repository.ts'

/** A step that failed; the message is the last line of the log. */
export class BuilderError extends Error {}

/** By it the agent finds every process of a builder. */
const markVariable = 'FAIRLEAD_PROCESS'
/** What may be fetched from; others, such as `ext`, run programs that the address names. */
const gitProtocols = 'https:http:ssh:git:file'

/** The working directory of a job. */
export function workFolderOf(dataDir: string, id: string): string {
  return join(dataDir, 'instances', id, 'work')
}

/** Nothing of Fairlead's own environment, and a home of its own below the working directory. */
export function baseEnvironment(work: string): Record<string, string> {
  const {
    PATH = '/usr/local/bin:/usr/bin:/bin',
    LANG = 'C.UTF-8',
    [markVariable]: mark = '',
  } = process.env
  return { PATH, LANG, HOME: join(work, 'home'), TMPDIR: join(work, 'tmp'), [markVariable]: mark }
}

/** Go, pip and uv follow `XDG_CACHE_HOME`; npm, and modules of Go, have variables of their own. */
export function cacheEnvironment(cache: string | undefined): Record<string, string> {
  if (cache === undefined) return {}
  return {
    XDG_CACHE_HOME: cache,
    npm_config_cache: join(cache, 'npm'),
    GOMODCACHE: join(cache, 'go-modules'),
  }
}

interface CheckoutOptions {
  /** Address, or path, of the repository. */
  readonly url: string
  /** Branch, tag or commit; undefined: what the repository has as its default. */
  readonly revision: string | undefined
  /** The working directory of the builder. */
  readonly work: string
  /** Where the files go. */
  readonly folder: string
  /** What Git gets besides its own. */
  readonly environment?: Readonly<Record<string, string>>
}

/** @returns the commit @throws {BuilderError} */
export async function checkOut({
  url,
  revision,
  work,
  folder,
  environment,
}: CheckoutOptions): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const env = {
    ...baseEnvironment(work),
    ...environment,
    ...gitEnvironment,
    GIT_ALLOW_PROTOCOL: gitProtocols,
  }
  const git = (...args: string[]) => run(['git', ...args], { cwd: folder, env })
  await git('init', '--quiet', '.')
  const target = await fetchCommit(git, { url, revision })
  await git('-c', 'advice.detachedHead=false', 'checkout', '--quiet', '--detach', target)
  const head = await promisify(execFile)('git', ['rev-parse', '--verify', 'HEAD'], {
    cwd: folder,
    env,
  })
  return head.stdout.trim()
}

/** Without what belongs to Git itself. */
export async function copyCheckout(from: string, to: string): Promise<void> {
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (path) => relative(from, path).split(sep)[0] !== '.git',
  })
}

/** Also where a link of the source leads out of it. @throws {BuilderError} */
export function resolveWithin(folder: string, path: string): string {
  const place = resolve(folder, path)
  if (!existsSync(place)) throw new BuilderError(`The source has no ${path}.`)
  if (!isWithin(realpathSync(place), realpathSync(folder)))
    throw new BuilderError(`${path} leads out of the source.`)
  return place
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

type BuilderRunOptions = Pick<SpawnOptions, 'stdio'> & {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** @throws {BuilderError} unless it ends with 0 */
export async function run(
  [name = '', ...args]: readonly string[],
  options: BuilderRunOptions,
): Promise<void> {
  const { promise, resolve: ended, reject } = Promise.withResolvers<string | undefined>()
  const child = spawn(name, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options })
  child.once('error', ({ code, message }: NodeJS.ErrnoException) =>
    reject(new BuilderError(describeStart(name, code, message))),
  )
  child.once('exit', (code, signal) =>
    ended(code === 0 ? undefined : signal === null ? `exit code ${code}` : signal),
  )
  const failure = await promise
  if (failure !== undefined)
    throw new BuilderError(`"${[name, ...args].join(' ')}" failed with ${failure}.`)
}

export function describeStart(name: string, code: string | undefined, message: string): string {
  if (code !== 'ENOENT') return `"${name}" cannot be started: ${message}.`
  if (name === 'git')
    return 'Git is not installed on this machine. Install it, or bake from a directory or a package.'
  return `The program "${name}" was not found. Install it, or correct the step.`
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
