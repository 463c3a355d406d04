/** Files of a folder that are sent: what Git knows and does not ignore, or what `.gitignore` does not name. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join, posix, sep } from 'node:path'
import { promisify } from 'node:util'
import { isSent } from '@fairlead/model/app-file/sent-files.ts'
import { misuse } from '../failure.ts'

export interface FolderFile {
  /** Separated by `/`. */
  readonly path: string
  readonly mode: number
  /** Bytes. */
  readonly size: number
  readonly sha256: string
}

interface FolderLink {
  readonly path: string
  readonly target: string
}

export interface ListedFolder {
  readonly files: readonly FolderFile[]
  readonly links: readonly FolderLink[]
}

interface Commit {
  readonly sha: string
  /** Something in the folder is not committed. */
  readonly isDirty: boolean
  readonly details: {
    /** Its first line. */
    readonly message: string
    readonly author: string
    readonly email: string
    readonly timestamp: string
    /** Undefined: none is checked out, or another revision is meant. */
    readonly branch: string | undefined
  }
}

type Ignores = (path: string) => boolean
type IsWanted = (path: string) => boolean

const maxFolderBytes = 512 * 1024 * 1024
const maxFiles = 100_000
const mebibyte = 1024 * 1024
const hashedAtATime = 8
const execute = promisify(execFile)

/** @throws {Failure} with 3 for links that leave the folder, and beyond the bounds */
export async function listFolder(folder: string): Promise<ListedFolder> {
  const own = await readIgnores(join(folder, '.fairleadignore'))
  const isWanted = (path: string) => isSent(path) && own?.(path) !== true
  const listed = (await listByGit(folder, isWanted)) ?? (await listAll(folder))
  const paths = [...new Set(listed)].filter(isWanted).sort()
  if (paths.length > maxFiles)
    throw misuse(
      `The folder has ${paths.length} files; at most ${maxFiles} are sent.`,
      'Name what is not needed in .fairleadignore.',
    )
  const files: { path: string; stats: Stats }[] = []
  const links: FolderLink[] = []
  for (const path of paths) {
    // Git knows files that were deleted.
    const stats = await lstat(join(folder, path)).catch(() => undefined)
    if (stats?.isFile() === true) files.push({ path, stats })
    if (stats?.isSymbolicLink() === true)
      links.push({ path, target: checkLink(path, await readlink(join(folder, path))) })
  }
  checkSize(files)
  return { files: await hashAll(folder, files), links }
}

/** Undefined: the folder is in no repository, or the repository has no commit. */
export async function findCommit(folder: string, revision = 'HEAD'): Promise<Commit | undefined> {
  try {
    const format = ['--no-patch', '--format=%H%n%an%n%ae%n%cI%n%s']
    const shown = await git(folder, ['show', ...format, `${revision}^{commit}`])
    const [sha = '', author = '', email = '', timestamp = '', message = ''] = shown.split('\n')
    const branch = revision === 'HEAD' ? await git(folder, ['branch', '--show-current']) : ''
    const isDirty =
      revision === 'HEAD' && (await git(folder, ['status', '--porcelain', '--', '.'])).trim() !== ''
    return {
      sha,
      isDirty,
      details: { message, author, email, timestamp, branch: branch.trim() || undefined },
    }
  } catch {
    return undefined
  }
}

async function git(folder: string, args: readonly string[]): Promise<string> {
  const options = { cwd: folder, maxBuffer: 256 * mebibyte }
  return (await execute('git', [...args], options)).stdout
}

/** Undefined: there is no Git, or no repository. Of repositories in it, too: submodules, and others that are not ignored. */
async function listByGit(folder: string, isWanted: IsWanted): Promise<string[] | undefined> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const printed = await git(folder, args).catch(() => undefined)
  const listed = printed?.split('\0').filter((path) => path !== '')
  return (
    listed && (await Promise.all(listed.map((path) => withInner(folder, path, isWanted)))).flat()
  )
}

async function withInner(folder: string, listed: string, isWanted: IsWanted): Promise<string[]> {
  const path = listed.replace(/\/$/, '')
  const stats = await lstat(join(folder, path)).catch(() => undefined)
  if (stats?.isDirectory() !== true || !isWanted(path) || !isWanted(`${path}/`)) return [listed]
  const inner = (await readdir(join(folder, path))).includes('.git')
    ? await listByGit(join(folder, path), (each) => isWanted(`${path}/${each}`))
    : undefined
  if (inner !== undefined) return inner.map((each) => `${path}/${each}`)
  throw misuse(
    `${path} is a submodule of Git without its files.`,
    `Get them with: git submodule update --init. Or name ${path} in .fairleadignore.`,
  )
}

/** Commits of submodules by their paths. */
export async function submodulesOf(folder: string, revision: string): Promise<[string, string][]> {
  const printed = await git(folder, ['ls-tree', '-r', '-z', revision, '.']).catch(() => '')
  return printed.split('\0').flatMap((line) => {
    const [, commit, path] = /^160000 commit (\w+)\t(.*)$/s.exec(line) ?? []
    return commit === undefined || path === undefined ? [] : [[path, commit]]
  })
}

async function listAll(folder: string): Promise<string[]> {
  const found: string[] = []
  const walk = async (below: string, ignores: readonly Ignores[]): Promise<void> => {
    const own = await readIgnores(join(folder, below, '.gitignore'))
    const prefix = below === '' ? '' : `${below}/`
    const here: Ignores | undefined = own && ((path) => own(path.slice(prefix.length)))
    const all = here === undefined ? ignores : [...ignores, here]
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      const path = prefix + entry.name
      const asked = entry.isDirectory() ? `${path}/` : path
      if (!isSent(path) || all.some((ignored) => ignored(asked))) continue
      if (entry.isDirectory()) await walk(path, all)
      else found.push(path)
    }
  }
  await walk('', [])
  return found
}

async function readIgnores(file: string): Promise<Ignores | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const { default: ignore } = await import('ignore')
  const rules = ignore().add(text)
  return (path) => rules.ignores(path)
}

function checkLink(path: string, given: string): string {
  const target = posix.normalize(given.split(sep).join('/'))
  const end = posix.join(posix.dirname(path), target)
  if (!posix.isAbsolute(target) && end !== '..' && !end.startsWith('../')) return target
  throw misuse(
    `${path} is a link to ${given}, which is not in the folder.`,
    'Replace it by a file, or name it in .fairleadignore.',
  )
}

function checkSize(files: readonly { path: string; stats: Stats }[]): void {
  const bytes = files.reduce((sum, { stats }) => sum + stats.size, 0)
  if (bytes <= maxFolderBytes) return
  const largest = files.toSorted((one, other) => other.stats.size - one.stats.size).slice(0, 5)
  const named = largest.map(
    ({ path, stats }) => `${path} (${Math.ceil(stats.size / mebibyte)} MiB)`,
  )
  throw misuse(
    `The folder has ${Math.ceil(bytes / mebibyte)} MiB; at most ${maxFolderBytes / mebibyte} MiB are sent. Its largest files are ${named.join(', ')}.`,
    'Name what is not needed in .fairleadignore.',
  )
}

async function hashAll(
  folder: string,
  files: readonly { path: string; stats: Stats }[],
): Promise<FolderFile[]> {
  const hashed: FolderFile[] = []
  for (let at = 0; at < files.length; at += hashedAtATime) {
    const part = files.slice(at, at + hashedAtATime).map(async ({ path, stats }) => ({
      path,
      mode: stats.mode & 0o777,
      size: stats.size,
      sha256: await hashOf(join(folder, path)),
    }))
    hashed.push(...(await Promise.all(part)))
  }
  return hashed
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer)
  return hash.digest('hex')
}
