/** Packages of npm, pip, uv and Go that an account keeps between its bakes. */
import { randomUUID } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openWayTo } from '../../../../../agent/workspace.ts'
import { measureTree, removeTree } from '../../../../../storage/directory-trees.ts'
import type { AccountUsers } from '../users.ts'
import type { BakeTarget } from './request.ts'

const folderName = 'bake-caches'
const discardedMark = 'discarded-'

export interface BakeCachesOptions {
  readonly dataDir: string
  /** Limit for one account; 0: there are no caches. */
  readonly maxBytes: number
  readonly users: AccountUsers
  readonly accounts: readonly string[]
  /** Whether a bake of the account runs. */
  readonly isUsed: (account: string) => boolean
}

/**
 * What one bake leaves in a cache, later ones trust. So an account shares its cache with no other one, and an image for several
 * accounts is baked without: users who may WRITE only one of them could change what the others get.
 *
 * @see docs/decisions/bakery.md#caches
 */
export class BakeCaches {
  readonly #options: BakeCachesOptions
  readonly #folder: string

  constructor(options: BakeCachesOptions) {
    this.#options = options
    this.#folder = join(options.dataDir, folderName)
  }

  /** Creates the cache where there is none. @returns its folder; undefined if the bake has no cache */
  open({ account, accounts = this.#options.accounts }: BakeTarget): string | undefined {
    const { dataDir, maxBytes, users } = this.#options
    if (maxBytes === 0 || accounts.length !== 1) return undefined
    const folder = this.#folderOf(account)
    const user = users.of(account)
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    if (user !== undefined) openWayTo(this.#folder, dataDir)
    const owner = statSync(folder, { throwIfNoEntry: false })?.uid
    // The account has been given another user, who could not use what is there.
    if (owner !== undefined && owner !== (user?.uid ?? process.getuid?.())) this.#discard(folder)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (user !== undefined) chownSync(folder, user.uid, user.gid)
    return folder
  }

  /** Removes the cache of an account if it is too large, unless another bake uses it; that one measures it at its end. */
  async trim({ account }: Pick<BakeTarget, 'account'>): Promise<void> {
    const folder = this.#folderOf(account)
    if (!existsSync(folder)) return
    const isTooLarge = (await measureTree(folder)).bytes > this.#options.maxBytes
    if (isTooLarge && !this.#options.isUsed(account)) this.#discard(folder)
    for (const name of readdirSync(this.#folder)) {
      if (name.startsWith(discardedMark)) await removeTree(join(this.#folder, name))
    }
  }

  #folderOf(account: string): string {
    return join(this.#folder, `account-${encodeURIComponent(account)}`)
  }

  /** At once; its files are removed after the bake. */
  #discard(folder: string): void {
    renameSync(folder, join(this.#folder, `${discardedMark}${randomUUID()}`))
  }
}
