/** Whom a path of this machine depends on, where Fairlead runs as root. */
import { lstat, readlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

export interface FileOwner {
  readonly uid: number
  readonly gid: number
}

/** As many as Linux follows. */
const maxLinks = 40

/**
 * The first user but root who owns a folder, a link or a file on the way: they decide what is read there, and may lead it elsewhere.
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
    if (found.uid !== 0) return { uid: found.uid, gid: found.gid }
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
