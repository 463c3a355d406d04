/**
 * Directory trees that programs of users fill: copied, packed, measured and removed by tools of the system, in processes of their own.
 * So no number of files stops this process, and no link that a program puts into the way leads a user with more rights astray.
 */
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, type Stats, statSync } from 'node:fs'
import { chmod, lstat, rmdir, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

export interface FileUser {
  readonly uid: number
  readonly gid: number
}

/** User and group id of a user of this machine. @throws {Error} when there is none */
export function lookUpUser(user: string): FileUser {
  try {
    const ask = (flag: string) =>
      Number(execFileSync('id', [flag, '--', user], { encoding: 'utf8', stdio: 'pipe' }).trim())
    return { uid: ask('-u'), gid: ask('-g') }
  } catch (cause) {
    throw new Error(`this machine has no user "${user}"`, { cause })
  }
}

interface ToolOptions {
  /** Its name must be safe from the user: he may change what is in it, not what it is in. */
  readonly cwd: string
  /** Undefined: the user of this process. */
  readonly user?: FileUser
  readonly timeoutMs?: number
}

interface Tool {
  readonly stdout: Readable
  /** Resolves when it has ended well, and everything it printed was read. */
  readonly ended: Promise<void>
  /** Kills the shell with what it has started. */
  readonly kill: () => void
}

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const maxErrorLength = 500
/** A program of the same user could stop a tool that works in its name. */
const longestToolMs = 600_000
/** A program that still runs may add files while others are removed. */
const removals = 5
const removalPauseMs = 200

/**
 * Copies a tree that users cannot change to a place that no user can reach yet. The copy shares its blocks with the original where the
 * file system and `cp` can. Links stay links; special rights and owners are not kept. No other user gets past its root.
 *
 * @param user Owner of the copy; undefined: the user of this process
 * @throws as the file system does; ENOENT when there is no such tree
 */
export async function copyTree(
  from: string,
  to: string,
  user: FileUser | undefined,
): Promise<void> {
  await lstat(from)
  const script =
    'umask 022; cp -R -P "$1" "$2" && chmod 700 "$2" && if [ -n "$3" ]; then chown -R -h "$3" "$2"; fi'
  await runTool(script, [from, to, user === undefined ? '' : `${user.uid}:${user.gid}`], {
    cwd: '/',
  })
}

interface NewFolders {
  readonly user: FileUser | undefined
  /** Mode of the last folder; missing ones above it get `700`. */
  readonly mode: '700' | '777'
}

/** Creates directories where they are missing, in the name of a user. @throws as the system does */
export async function makeFolders(
  folders: readonly string[],
  { user, mode }: NewFolders,
): Promise<void> {
  await runTool('umask 077; mode=$1; shift; mkdir -p -m "$mode" -- "$@"', [mode, ...folders], {
    cwd: '/',
    user,
  })
}

const copies = 3

/**
 * Copies the directory `from` in a folder of a user to `to`, with owners, rights and times, and removes all but the newest copies beside it.
 * The copy shares its blocks with the original where the file system and `cp` can.
 *
 * @param folder Nothing of it is touched but in the name of its owner
 * @param to Such as `backups/NAME`; later names sort after earlier ones
 * @throws {Error} when files change so often that no copy is complete, or cannot be read
 */
export async function keepCopy(
  folder: string,
  from: string,
  to: string,
  kept: number,
): Promise<void> {
  const script =
    'umask 077; mkdir -p "${2%/*}" && cd "${2%/*}" && rm -rf .new && cp -a "../$1" .new && rm -rf "${2##*/}" && mv .new "${2##*/}" && ' +
    'ls -r | tail -n "+$3" | while IFS= read -r old; do chmod -R u+rwX "$old"; rm -rf "$old"; done'
  const options = { cwd: folder, user: ownerOf(await lstat(folder)) }
  for (let attempt = 1; ; attempt += 1) {
    try {
      await runTool(script, [from, to, String(kept + 1)], options)
      return
    } catch (error) {
      // A file that a program removes meanwhile fails the copy.
      if (attempt === copies) throw error
    }
  }
}

/** Where it is afterwards cannot change any more. Without -P, the shell would enter it from the root, through folders that may be closed. */
const enterFolder =
  'above=$(pwd -P); cd -P "./$1" && [ "$(pwd -P)" = "${above%/}/$1" ] || { echo "$1 is no folder, but a link or a file" >&2; exit 1; }; '

/**
 * Archives a directory as tar, in the name of the user who owns the directory above it.
 *
 * @param folder Holds the directory `name`, which the user may have replaced by something else: a link is not followed
 * @throws {Error} when something in it cannot be read
 */
export async function* packTree(folder: string, name: string): AsyncIterable<Uint8Array> {
  const tool = await startTool(`${enterFolder}exec tar -cf - .`, [name], {
    cwd: folder,
    user: ownerOf(await lstat(folder)),
  })
  try {
    yield* tool.stdout
    await tool.ended
  } finally {
    tool.kill()
  }
}

export interface TreeSize {
  /** On disk. */
  readonly bytes: number
  /** Files, directories and links; one with two names counts twice. */
  readonly entries: number
}

/**
 * Size of everything in a directory, itself included, links not followed.
 *
 * @param owned A folder above it, whose owner may lead the way elsewhere: it is measured with that user's rights
 */
export async function measureTree(folder: string, owned?: string): Promise<TreeSize> {
  // A program may remove files meanwhile, which the tools report as an error.
  const script =
    'cd "$1" && { du -skx .; find . -xdev -print0 | tr -dc \'\\000\' | wc -c; } 2>/dev/null'
  const printed = await runTool(script, [folder], {
    cwd: '/',
    user: owned === undefined ? undefined : ownerOf(await lstat(owned)),
  })
  const [kilobytes, entries] = printed.split('\n').map((line) => Number.parseInt(line, 10))
  if (kilobytes === undefined || entries === undefined || Number.isNaN(kilobytes + entries)) {
    throw new Error(
      `The size of ${folder} cannot be measured: "du -skx" and "wc -c" printed "${printed.trim()}".`,
    )
  }
  return { bytes: kilobytes * 1024, entries }
}

/**
 * Removes whatever is at a path, in the name of its owner, also where a program has taken away the rights to do so.
 *
 * @param path In a directory that only the user of this process can change
 */
export async function removeTree(path: string): Promise<void> {
  const found = await lstat(path).catch(passOverAbsent)
  if (found === undefined) return
  if (!found.isDirectory()) return unlink(path).catch(passOverAbsent)
  const remove = 'find . -xdev -mindepth 1 -delete'
  for (let attempt = 1; ; attempt += 1) {
    try {
      await chmod(path, 0o700)
      await runTool(`${remove} 2>/dev/null || { chmod -R u+rwX .; ${remove}; }`, [], {
        cwd: path,
        user: ownerOf(found),
      })
      return await rmdir(path)
    } catch (error) {
      // Another process may remove the same.
      if ((await lstat(path).catch(passOverAbsent)) === undefined) return
      if (attempt === removals) throw error
    }
    await sleep(removalPauseMs)
  }
}

const readTimeoutMs = 10_000
const listTimeoutMs = 30_000

/**
 * Text of a file in a directory of programs, read in the name of the directory's owner; so it may be what a program has put there.
 *
 * @param path Within the directory
 * @returns undefined unless there is a regular file of at most `maxBytes`
 */
export async function readAsOwner(
  folder: string,
  path: string,
  maxBytes: number,
): Promise<string | undefined> {
  const user = ownerOf(await lstat(folder))
  const args = [`./${path}`, String(maxBytes + 1)]
  const options = { cwd: folder, user, timeoutMs: readTimeoutMs }
  const found = await runTool('[ -f "$1" ] && exec head -c "$2" "$1"', args, options).catch(
    () => undefined,
  )
  return found === undefined || Buffer.byteLength(found) > maxBytes ? undefined : found
}

/**
 * What a directory holds, as lines of paths, kinds, sizes and times, without the `.git` at its root; beyond `maxLines` it is cut off.
 * Links are not followed, and what the user may not read is passed over.
 *
 * @throws {Error} when there is no such directory, or it takes too long
 */
export async function* listTree(
  folder: string,
  user: FileUser | undefined,
  maxLines: number,
): AsyncIterable<Uint8Array> {
  const find = 'find . -path ./.git -prune -o'
  const script = `cd "$1" && { ${find} -type d -print; ${find} ! -type d -exec ls -lnd --full-time {} +; } 2>/dev/null | head -n "$2"`
  const tool = await startTool(script, [folder, String(maxLines)], {
    cwd: '/',
    user,
    timeoutMs: listTimeoutMs,
  })
  yield* tool.stdout
  await tool.ended
}

/** Undefined: no other user. */
function ownerOf({ uid, gid }: Stats): FileUser | undefined {
  return process.getuid?.() === 0 && uid !== 0 ? { uid, gid } : undefined
}

function passOverAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

/** @returns what it has printed @throws {Error} with its first words when it fails */
async function runTool(
  script: string,
  args: readonly string[],
  options: ToolOptions,
): Promise<string> {
  const { stdout, ended } = await startTool(script, args, options)
  const [printed] = await Promise.all([text(stdout), ended])
  return printed
}

/** @throws as the system does, such as EAGAIN when there are too many processes */
async function startTool(
  script: string,
  args: readonly string[],
  { cwd, user, timeoutMs = longestToolMs }: ToolOptions,
): Promise<Tool> {
  const { PATH = defaultPath } = process.env
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...args], {
    cwd,
    env: { PATH, LC_ALL: 'C', COPYFILE_DISABLE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...user,
  })
  await once(child, 'spawn')
  const kill = () => {
    const { pid, exitCode, signalCode } = child
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL')
  }
  const timer = setTimeout(kill, timeoutMs)
  child.once('close', () => clearTimeout(timer))
  const ended = endOf(child)
  // Its output may not be read to its end, and then its end does not matter.
  ended.catch(() => {})
  return { stdout: child.stdout, ended, kill }
}

/** Codes of errors that tools have only words for. */
const faultCodes: Readonly<Record<string, string>> = {
  'No space left on device': 'ENOSPC',
  'Disk quota exceeded': 'EDQUOT',
}

function endOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let words = ''
  child.stderr.on('data', (piece: Buffer) => {
    if (words.length < maxErrorLength) words += piece.toString()
  })
  child.once('error', reject)
  child.once('close', (code, signal) => {
    if (code === 0) return resolve()
    const [fault] = Object.entries(faultCodes).find(([said]) => words.includes(said)) ?? []
    const message =
      words.trim().slice(0, maxErrorLength) || `a tool ended with ${signal ?? `exit code ${code}`}`
    reject(Object.assign(new Error(message), fault !== undefined && { code: faultCodes[fault] }))
  })
  return promise
}

/** Lets other users pass through a folder and those above it, up to `top`; they still cannot list them. */
export function openWayTo(folder: string, top: string): void {
  const { mode } = statSync(folder)
  if ((mode & 0o011) !== 0o011) chmodSync(folder, mode | 0o011)
  if (folder !== top) openWayTo(dirname(folder), top)
}
