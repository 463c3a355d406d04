/** The files of a Deck plug-in in its archive, within bounds. */
import type { UnzipFileInfo } from 'fflate'

/** All files together. */
const maxBytes = 8 * 1024 * 1024
const maxArchiveBytes = 32 * 1024 * 1024
const maxFiles = 500
/** Within a bundle for several services. */
const deckArchive = 'deck.zip'

/**
 * A release is an archive of Deck's files, or one that holds an archive for each service. Only files outside of folders have an
 * address, so no other is unpacked.
 *
 * @throws {Error} the archive is damaged, too large, or not for Deck
 */
export async function readBundle(archive: Uint8Array): Promise<ReadonlyMap<string, Buffer>> {
  const { unzipSync } = await import('fflate')
  const inner = unzipSync(archive, {
    filter: ({ name, originalSize }) => name === deckArchive && originalSize <= maxArchiveBytes,
  })
  const files = unzipSync(inner[deckArchive] ?? archive, { filter: createFilter() })
  return new Map(Object.entries(files).map(([name, bytes]) => [name, Buffer.from(bytes)]))
}

function createFilter(): (file: UnzipFileInfo) => boolean {
  let bytes = 0
  let count = 0
  return ({ name, originalSize }) => {
    if (name.includes('/') || name.includes('\\') || name.endsWith('.zip')) return false
    bytes += originalSize
    count++
    if (bytes > maxBytes || count > maxFiles) throw new Error(`it has more than ${maxBytes} bytes or ${maxFiles} files`)
    return true
  }
}
