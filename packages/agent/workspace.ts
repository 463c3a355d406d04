/** Working directories of instances: filled from a folder, opened to their users, removed. */
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, lchownSync, mkdirSync } from 'node:fs'
import { lchown, mkdir, readdir, rename, rmdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from '@fairlead/base/net/agent-protocol.ts'
import {
  copyTree,
  makeFolders,
  openWayTo,
  removeTree,
} from '@fairlead/base/storage/directory-trees.ts'

const longestRemovalMs = 10_000
const removalPauseMs = 50

/**
 * Creates the working directory in one step: a crash leaves none or the whole one.
 *
 * @throws as the file system does; ENOENT when there is no such content
 */
export async function fillWorkspace(
  folder: string,
  { content, user }: Pick<Program, 'content' | 'user'>,
): Promise<void> {
  const parent = dirname(folder)
  // Other programs of the same user can no longer reach the folder by its path, and so not disturb its removal.
  if (existsSync(parent)) chmodSync(parent, 0o700)
  const unfinished = `${basename(folder)}.new-`
  for (const name of await readdir(parent))
    if (name.startsWith(unfinished)) await removeTree(join(parent, name))
  // A name of its own: a copy that an agent before this one has begun may still go on.
  const fresh = join(parent, `${unfinished}${randomUUID()}`)
  if (content !== undefined) await copyTree(content, fresh, user)
  else {
    await mkdir(fresh, { mode: 0o700 })
    if (user !== undefined) await lchown(fresh, user.uid, user.gid)
  }
  await removeTree(folder)
  // A data directory in a clone or project lies below its package.json, whose `type` would decide how Node reads the program's files.
  await writeFile(join(parent, 'package.json'), '{}\n', { mode: 0o644 })
  await rename(fresh, folder)
}

/** @param top As of `openWayTo` @throws as the file system does */
export async function openVolumes(
  { volumes, user, container }: Pick<Program, 'volumes' | 'user' | 'container'>,
  top: string,
): Promise<void> {
  if (volumes === undefined) return
  const { root, folders } = volumes
  mkdirSync(root, { recursive: true, mode: 0o700 })
  if (user !== undefined) {
    openWayTo(dirname(root), top)
    lchownSync(root, user.uid, user.gid)
  }
  // The user in a container may be any; on this machine, no other user gets past the root.
  await makeFolders(folders, { user, mode: container === undefined ? '700' : '777' })
}

/** Removes the folder of an instance: its working directory in the name of the user who owns that. */
export async function removeInstanceFolder(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  chmodSync(folder, 0o700)
  for (const endMs = performance.now() + longestRemovalMs; ; await sleep(removalPauseMs)) {
    for (const name of await readdir(folder)) await removeTree(join(folder, name))
    try {
      return await rmdir(folder)
    } catch (error) {
      // The pump of its console may still write the last lines.
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || performance.now() > endMs)
        throw error
    }
  }
}
