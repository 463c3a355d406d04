/** Packages of npm, pip, uv and Go that an account keeps between its bakes. */
import { CacheFolders, type CacheFoldersOptions } from '@fairlead/base/storage/cache-folders.ts'
import type { BakeTarget } from './request.ts'

interface BakeCachesOptions extends Pick<CacheFoldersOptions, 'dataDir' | 'maxBytes' | 'userOf'> {
  readonly accounts: readonly string[]
  readonly isUsed: (account: string) => boolean
}

/**
 * What one bake leaves in a cache, later ones trust. So an account shares its cache with no other one, and an image for several
 * accounts is baked without: users who may WRITE only one of them could change what the others get.
 *
 * @see docs/decisions/bakery.md#caches
 */
export class BakeCaches {
  readonly #folders: CacheFolders
  readonly #accounts: readonly string[]

  constructor({ accounts, isUsed, ...options }: BakeCachesOptions) {
    const isFolderUsed = (folder: string) =>
      accounts.some((account) => folder === folderOf(account) && isUsed(account))
    this.#folders = new CacheFolders({
      ...options,
      folderName: 'bake-caches',
      isUsed: isFolderUsed,
    })
    this.#accounts = accounts
  }

  open({ account, accounts = this.#accounts }: BakeTarget): string | undefined {
    return accounts.length === 1 ? this.#folders.open(folderOf(account), account) : undefined
  }

  /** Removes the cache of an account if it is too large, unless another bake uses it. */
  trim({ account }: Pick<BakeTarget, 'account'>): Promise<void> {
    return this.#folders.trim(folderOf(account))
  }
}

function folderOf(account: string): string {
  return `account-${encodeURIComponent(account)}`
}
