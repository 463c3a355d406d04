/** Documents that never change, and are sent again and again: their JSON, validators and compressed bytes. */
import { createHash, hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip as gzipCallback } from 'node:zlib'
import { formatJson } from '@fairlead/base/json/json.ts'
import { LRUCache } from 'lru-cache'

const gzip = promisify(gzipCallback)

export interface Sendable {
  readonly size: number
  bytes(): Buffer
  gzipped(): Promise<Buffer>
}

const entries = new WeakMap<object, WrittenEntry>()
const documents = new WeakMap<object, KeptDocument>()

/** Undefined for a value that may change: those that never do are frozen, and so is what they hold. */
export function keptDocumentOf(value: unknown): KeptDocument | undefined {
  if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return undefined
  return documents.getOrInsertComputed(value, () => new KeptDocument(value))
}

class KeptDocument implements Sendable {
  readonly #value: object
  readonly tag: string
  readonly size: number

  constructor(value: object) {
    this.#value = value
    // A list of one object is another document than the object.
    const sum = createHash('sha1').update(Array.isArray(value) ? '[' : '')
    let size = 2
    for (const { text, digest } of this.#written()) {
      sum.update(digest)
      size += text.length + 1
    }
    this.size = size
    this.tag = `W/"${sum.digest('base64url')}"`
  }

  bytes(): Buffer {
    return latestBytes.memo(this.tag, { context: () => this.#join() })
  }

  #join(): Buffer {
    const texts = this.#written().map(({ text }) => text)
    return Buffer.from(Array.isArray(this.#value) ? `[${texts.join(',')}]` : texts.join(''))
  }

  gzipped(): Promise<Buffer> {
    return gzippedByTag.forceFetch(this.tag, { context: () => this.#join() })
  }

  #written(): WrittenEntry[] {
    return Array.isArray(this.#value) ? this.#value.map(writeEntry) : [write(this.#value)]
  }
}

function writeEntry(entry: unknown): WrittenEntry {
  return typeof entry === 'object' && entry !== null
    ? entries.getOrInsertComputed(entry, write)
    : write(entry)
}

type WrittenEntry = Readonly<ReturnType<typeof write>>

function write(value: unknown) {
  const text = formatJson(value)
  return { text, digest: hash('sha1', text, 'buffer') }
}

/** Few clients read without compression, but then again and again; megabytes are not kept longer than that takes. */
const latestBytes = new LRUCache<string, Buffer, () => Buffer>({
  max: 1,
  ttl: 5000,
  ttlAutopurge: true,
  maxEntrySize: 16 * 1024 * 1024,
  sizeCalculation: ({ length }) => length,
  memoMethod: (_tag, _known, { context: join }) => join(),
})

/** Bytes of all together; a list of 10,000 applications has a few hundred kilobytes. */
const maxGzippedBytes = 16 * 1024 * 1024
const gzippedByTag = new LRUCache<string, Buffer, () => Buffer>({
  maxSize: maxGzippedBytes,
  sizeCalculation: ({ length }) => length,
  fetchMethod: (_tag, _known, { context: join }) => gzip(join()),
  // One that is evicted while it is packed is sent nevertheless.
  ignoreFetchAbort: true,
})
