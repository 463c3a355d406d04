/** Lists of entries that were written as JSON before. */
import { createHash, hash } from 'node:crypto'
import { formatJson } from '../../json/json.ts'

/** JSON of an entry of a list. */
export interface WrittenEntry {
  readonly json: string
  readonly digest: Buffer
}

export function toWrittenEntry(value: unknown): WrittenEntry {
  const json = formatJson(value)
  return { json, digest: hash('sha1', json, 'buffer') }
}

/** A list whose entries are JSON already: its version is known without joining them. */
export class WrittenList {
  readonly #entries: readonly WrittenEntry[]

  constructor(entries: readonly WrittenEntry[]) {
    this.#entries = entries
  }

  get version(): string {
    const sum = createHash('sha1')
    for (const { digest } of this.#entries) sum.update(digest)
    return sum.digest('base64url')
  }

  get json(): string {
    return `[${this.#entries.map(({ json }) => json).join(',')}]`
  }
}
