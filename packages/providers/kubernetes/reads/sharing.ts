/** Equal parts of many objects, such as the labels of pods of one owner, kept once. */
import { LRUCache } from 'lru-cache'

const maxParts = 5000

export class Sharing {
  readonly #parts = new LRUCache<string, object>({ max: maxParts })

  /** The first of equal values. */
  share<T extends object>(value: T): T {
    const key = JSON.stringify(value)
    const known = this.#parts.get(key)
    if (known !== undefined) return known as T
    this.#parts.set(key, value)
    return value
  }
}
