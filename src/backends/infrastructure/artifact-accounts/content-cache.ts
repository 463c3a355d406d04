/** Contents of artifacts that were fetched, by account and digest. */
import { LRUCache } from 'lru-cache'
import { checkDigest, type Digest, formatDigest } from './digests.ts'

const maxKeptBytes = 16 * 1024 * 1024
const maxEntryBytes = 4 * 1024 * 1024

export class ContentCache {
  readonly #contents = new LRUCache<string, Buffer>({
    maxSize: maxKeptBytes,
    maxEntrySize: maxEntryBytes,
    sizeCalculation: ({ length }) => Math.max(1, length),
  })

  /**
   * The content with a digest: as it is kept, or else loaded and checked.
   *
   * @param account Another account gets nothing of it
   * @param place For messages
   * @throws {BackendError} 502 when what was loaded has another digest
   */
  async fetch(account: string, digest: Digest, place: string, load: () => Promise<Buffer>): Promise<Buffer> {
    const key = JSON.stringify([account, formatDigest(digest)])
    const kept = this.#contents.get(key)
    if (kept !== undefined) return kept
    const content = checkDigest(await load(), digest, place)
    this.#contents.set(key, content)
    return content
  }
}
