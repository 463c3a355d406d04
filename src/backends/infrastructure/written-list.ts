/** Answers that are JSON already, with their versions. */
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

/** An object that has members already, with a list of entries as its last one. */
export function toWrittenObject(object: WrittenEntry, member: string, entries: readonly WrittenEntry[]): WrittenEntry {
  const json = `${object.json.slice(0, -1)},${JSON.stringify(member)}:[${entries.map((entry) => entry.json).join(',')}]}`
  return { json, digest: digestOf([object, ...entries]) }
}

function digestOf(entries: readonly WrittenEntry[]): Buffer {
  const sum = createHash('sha1')
  for (const { digest } of entries) sum.update(digest)
  return sum.digest()
}

/** An answer as JSON, and a text that differs with it. */
export abstract class Written {
  abstract get version(): string
  abstract get json(): string
}

export class WrittenValue extends Written {
  readonly #entry: WrittenEntry

  constructor(value: unknown) {
    super()
    this.#entry = toWrittenEntry(value)
  }

  get version(): string {
    return this.#entry.digest.toString('base64url')
  }

  get json(): string {
    return this.#entry.json
  }
}

/** A list whose entries are JSON already: its version is known without joining them. */
export class WrittenList extends Written {
  readonly #entries: readonly WrittenEntry[]

  constructor(entries: readonly WrittenEntry[]) {
    super()
    this.#entries = entries
  }

  get version(): string {
    return digestOf(this.#entries).toString('base64url')
  }

  get json(): string {
    return `[${this.#entries.map(({ json }) => json).join(',')}]`
  }
}
