/** Lists of the definition store, kept with its version: clients poll them, and definitions are large and seldom change. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { LRUCache } from 'lru-cache'
import type { StoredDefinitions, VersionedKind } from './definitions.ts'

interface StoredListsOptions<T> {
  /** What is kept of a definition. */
  readonly toEntry: (stored: JsonObject) => T
  /** After so much time without a read a list is forgotten; absent: the list that was read longest ago goes first. */
  readonly keptMs?: number
}

const maxKept = 1000

export class StoredLists<T> {
  readonly #options: StoredListsOptions<T>
  readonly #kept: LRUCache<string, { readonly version: string; readonly list: readonly T[] }>

  constructor(options: StoredListsOptions<T>) {
    this.#options = options
    const { keptMs } = options
    this.#kept = new LRUCache({
      max: maxKept,
      ...(keptMs !== undefined && { ttl: keptMs, ttlAutopurge: true, updateAgeOnGet: true }),
    })
  }

  /**
   * @param key Names the list, and for whom it is read
   * @throws {PortError} when the definition store does not answer, or refuses the caller
   */
  async load(
    definitions: Pick<StoredDefinitions, 'version'>,
    { key, kind }: { readonly key: string; readonly kind: VersionedKind },
    read: () => Promise<readonly JsonObject[]>,
  ): Promise<readonly T[]> {
    const version = definitions.version(kind)
    const before = this.#kept.get(key)
    if (before !== undefined && before.version === version) return before.list
    const list = (await read()).map(this.#options.toEntry)
    if (version === undefined) this.#kept.delete(key)
    else this.#kept.set(key, { version, list })
    return list
  }
}
