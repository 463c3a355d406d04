/** The content of a bake's sources as far as it decides whether an earlier bake did the same. */
import { createHash, randomUUID } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { type FileUser, listTree } from '@fairlead/base/storage/directory-trees.ts'
import type { Source } from './plan.ts'

/** Files beyond these do not count. */
const maxEntries = 100_000

/**
 * Changes with the names, sizes and times of files. What cannot be read is like nothing else, and the bake reports it.
 *
 * @param user In whose name directories are read; undefined: that of this process
 */
export async function fingerprintOf(source: Source, user: FileUser | undefined): Promise<unknown> {
  if (source.kind === 'git') return source
  try {
    return {
      ...source,
      state: source.kind === 'archive' ? await fileState(source.path) : await directoryState(source.path, user),
    }
  } catch {
    return { ...source, state: randomUUID() }
  }
}

async function fileState(path: string): Promise<string> {
  const { mode, size, mtimeMs } = await lstat(path)
  return `${mode} ${size} ${mtimeMs}`
}

async function directoryState(path: string, user: FileUser | undefined): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of listTree(path, user, maxEntries)) hash.update(piece)
  return hash.digest('hex')
}
