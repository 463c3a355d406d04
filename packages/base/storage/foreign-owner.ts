/** Whom a path of this machine depends on, where Fairlead runs as root. */
import type { Stats } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

export interface FileOwner {
  readonly uid: number
  readonly gid: number
}

/** Linux follows as many. */
const maxLinks = 40

const nobody = 65534

/**
 * The first user but root who owns a folder, a link or a file on the way, or the group that may write it: they decide what is read there,
 * and may lead it elsewhere.
 *
 * @returns undefined where Fairlead does not run as root, or only root decides
 */
export async function foreignOwnerOf(path: string): Promise<FileOwner | undefined> {
  if (process.geteuid?.() !== 0) return undefined
  let left = resolve(path).split('/').filter(Boolean)
  let at = '/'
  for (let links = 0; left.length > 0 && links <= maxLinks; ) {
    const [name = '', ...others] = left
    const next = join(at, name)
    const found = await lstat(next).catch(() => undefined)
    if (found === undefined) return undefined
    const owner = writerOf(found, others.length > 0)
    if (owner !== undefined) return owner
    if (found.isSymbolicLink()) {
      links++
      left = [
        ...resolve(dirname(next), await readlink(next))
          .split('/')
          .filter(Boolean),
        ...others,
      ]
      at = '/'
    } else {
      at = next
      left = others
    }
  }
  return undefined
}

/** @param isPassed In a folder with the sticky bit, others cannot replace what is root's, but add to it */
function writerOf(found: Stats, isPassed: boolean): FileOwner | undefined {
  const { uid, gid, mode } = found
  if (uid !== 0) return { uid, gid }
  if (found.isSymbolicLink() || (isPassed && (mode & 0o1000) !== 0)) return undefined
  if ((mode & 0o002) !== 0) return { uid: nobody, gid: nobody }
  return (mode & 0o020) !== 0 && gid !== 0 ? { uid: nobody, gid } : undefined
}
