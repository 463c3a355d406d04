/** Working directories of instances: filled from a folder, measured, removed. */
import { chmodSync, constants, existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { cp, lchown, lstat, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Program } from './protocol.ts'

/**
 * Creates the working directory in one step: a crash leaves none or the whole one. The copy shares its blocks with the content where
 * the file system can.
 *
 * @throws as the file system does; ENOENT when there is no such content
 */
export async function fillWorkspace(folder: string, { content, user }: Pick<Program, 'content' | 'user'>): Promise<void> {
  const fresh = `${folder}.new`
  await removeFolder(fresh)
  if (content === undefined) await mkdir(fresh, { mode: 0o700 })
  else {
    await cp(content, fresh, { recursive: true, mode: constants.COPYFILE_FICLONE, verbatimSymlinks: true })
    chmodSync(fresh, statSync(fresh).mode | 0o700)
  }
  if (user !== undefined) await giveTo(fresh, user)
  closeWayTo(folder)
  await removeFolder(folder)
  await hidePackagesAbove(folder)
  await rename(fresh, folder)
}

/** A data directory in a clone or project lies below its package.json, whose `type` would decide how Node reads the program's files. */
async function hidePackagesAbove(folder: string): Promise<void> {
  await writeFile(join(dirname(folder), 'package.json'), '{}\n', { mode: 0o644 })
}

/** Folders come after what they hold: a user who owned one sooner could put a link to a file of others into the way. */
async function giveTo(path: string, user: { readonly uid: number; readonly gid: number }): Promise<void> {
  if ((await lstat(path)).isDirectory()) for (const name of await readdir(path)) await giveTo(join(path, name), user)
  await lchown(path, user.uid, user.gid)
}

/** Lets other users pass through a folder and those above it, up to `top`; they still cannot list them. */
export function openWayTo(folder: string, top: string): void {
  const { mode } = statSync(folder)
  if ((mode & 0o011) !== 0o011) chmodSync(folder, mode | 0o011)
  if (folder !== top) openWayTo(dirname(folder), top)
}

/** Other programs of the same user can no longer reach the folder by its path, and so not disturb its removal. */
export function closeWayTo(folder: string): void {
  if (existsSync(folder)) chmodSync(dirname(folder), 0o700)
}

/** Bytes on disk of everything in a folder, links not followed. Ends early once there are more than `enough`. */
export async function measureFolder(folder: string, enough: number): Promise<number> {
  const seen = new Set<number>()
  const waiting = [folder]
  let bytes = 0
  for (let path = waiting.pop(); path !== undefined && bytes <= enough; path = waiting.pop()) {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const child = join(path, entry.name)
      if (entry.isDirectory()) waiting.push(child)
      const found = await lstat(child).catch(() => undefined)
      if (found === undefined || (found.nlink > 1 && seen.has(found.ino))) continue
      if (found.nlink > 1) seen.add(found.ino)
      bytes += found.blocks * 512
    }
  }
  return bytes
}

/** Removes a folder with everything in it, also where a program has taken away the rights to do so. */
export async function removeFolder(folder: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 }
  await rm(folder, options).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error
    openForRemoval(folder)
    await rm(folder, options)
  })
}

function openForRemoval(folder: string): void {
  if (!lstatSync(folder).isDirectory()) return
  chmodSync(folder, 0o700)
  for (const name of readdirSync(folder)) openForRemoval(join(folder, name))
}
