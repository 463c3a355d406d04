/** Lists of the definition store, kept with their validators: clients poll them, and definitions are large and seldom change. */

import type { CallService } from '@fairlead/ports/service-call.ts'
import { LRUCache } from 'lru-cache'
import { type JsonObject, objectsOf } from '../json/values.ts'

interface StoredListsOptions<T> {
  /** What is kept of a definition. */
  readonly toEntry: (stored: JsonObject) => T
  /** After so much time without a read a list is forgotten; absent: the list that was read longest ago goes first. */
  readonly keptMs?: number
}

const maxKept = 1000

export class StoredLists<T> {
  readonly #options: StoredListsOptions<T>
  readonly #kept: LRUCache<string, { readonly tag: string; readonly list: readonly T[] }>

  constructor(options: StoredListsOptions<T>) {
    this.#options = options
    const { keptMs } = options
    this.#kept = new LRUCache({
      max: maxKept,
      ...(keptMs !== undefined && { ttl: keptMs, ttlAutopurge: true, updateAgeOnGet: true }),
    })
  }

  /**
   * @param caller For whom it is read; absent: the service itself
   * @throws {Error} when the definition store does not answer, or refuses the caller
   */
  async load(
    call: CallService,
    path: string,
    caller?: { readonly user: string | undefined; readonly identity: Record<string, string> },
  ): Promise<readonly T[]> {
    const key = `${caller?.user} ${path}`
    const before = this.#kept.get(key)
    const headers = { ...caller?.identity, ...(before !== undefined && { 'if-none-match': before.tag }) }
    const answer = await call('front50', { method: 'GET', path, headers })
    if (answer.status === 304 && before !== undefined) return before.list
    this.#kept.delete(key)
    if (answer.status === 404) return []
    if (answer.status !== 200) throw new Error(`The definition store answered ${answer.status}.`)
    const list = objectsOf(answer.body).map(this.#options.toEntry)
    if (answer.tag !== undefined) this.#kept.set(key, { tag: answer.tag, list })
    return list
  }
}
