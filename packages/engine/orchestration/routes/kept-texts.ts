/** JSON of executions that lists show again and again: most have ended, and are written once. */
import { LRUCache } from 'lru-cache'

/** Some dozen polled lists. A longer record is not kept. */
const maxCharacters = 4 * 1024 * 1024
const maxLength = 128 * 1024

export class KeptTexts {
  readonly #texts = new LRUCache<string, { readonly version: string; readonly json: string }>({
    maxSize: maxCharacters,
    maxEntrySize: maxLength,
    sizeCalculation: ({ json }) => json.length,
  })

  /**
   * @param key Names the record and its form
   * @param version Another one after each change of the record
   * @param write Undefined: there is no such record
   */
  get(key: string, version: string, write: () => string | undefined): string | undefined {
    const known = this.#texts.get(key)
    if (known?.version === version) return known.json
    const json = write()
    if (json === undefined) this.#texts.delete(key)
    else this.#texts.set(key, { version, json })
    return json
  }
}
