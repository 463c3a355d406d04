/** Folders that bakes or builds keep from one to the next, each for one user of this machine. */
import { randomUUID } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type FileUser, measureTree, openWayTo, removeTree } from './directory-trees.ts'

const discardedMark = 'discarded-'

export interface CacheFoldersOptions {
  readonly dataDir: string
  /** Below the data directory, or a folder in it. */
  readonly folderName: string
  /** Limit for one cache; 0: there are none. */
  readonly maxBytes: number
  /** User of an account; undefined: that of this process. */
  readonly userOf: (account: string) => FileUser | undefined
  /** Whether a bake or build that uses the cache runs. */
  readonly isUsed: (name: string) => boolean
}

export class CacheFolders {
  readonly #options: CacheFoldersOptions
  readonly #folder: string

  constructor(options: CacheFoldersOptions) {
    this.#options = options
    this.#folder = join(options.dataDir, options.folderName)
  }

  /** Creates the cache where there is none, for the user of the account. @returns its folder; undefined: there are no caches */
  open(name: string, account: string): string | undefined {
    const { dataDir, maxBytes, userOf } = this.#options
    if (maxBytes === 0) return undefined
    const folder = this.#folderOf(name)
    const user = userOf(account)
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    if (user !== undefined) openWayTo(this.#folder, dataDir)
    const owner = statSync(folder, { throwIfNoEntry: false })?.uid
    // The account has been given another user, who could not use what is there.
    if (owner !== undefined && owner !== (user?.uid ?? process.getuid?.())) this.#discard(folder)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (user !== undefined) chownSync(folder, user.uid, user.gid)
    return folder
  }

  /** Removes a cache that is too large, unless another one uses it; that one measures it at its end. */
  async trim(name: string): Promise<void> {
    const folder = this.#folderOf(name)
    if (!existsSync(folder)) return
    const isTooLarge = (await measureTree(folder)).bytes > this.#options.maxBytes
    if (isTooLarge && !this.#options.isUsed(name)) this.#discard(folder)
    for (const each of readdirSync(this.#folder)) {
      if (each.startsWith(discardedMark)) await removeTree(join(this.#folder, each))
    }
  }

  #folderOf(name: string): string {
    return join(this.#folder, name)
  }

  /** Takes effect at once; its files are removed later. */
  #discard(folder: string): void {
    renameSync(folder, join(this.#folder, `${discardedMark}${randomUUID()}`))
  }
}
