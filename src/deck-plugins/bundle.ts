/** The files of a Deck plug-in in its archive, within bounds. */
import { zipEntries } from '../storage/zip.ts'

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
  const inner = await unpack(archive, (name) => name === deckArchive, maxArchiveBytes)
  return unpack(inner.get(deckArchive) ?? archive, (name) => !/[/\\]|\.zip$/.test(name), maxBytes)
}

async function unpack(
  archive: Uint8Array,
  isWanted: (name: string) => boolean,
  most: number,
): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>()
  let left = most
  for (const entry of zipEntries(archive)) {
    if (!isWanted(entry.name)) continue
    if (files.size === maxFiles) throw new Error(`it has more than ${maxFiles} files`)
    const bytes = await entry.unpack(left)
    if (bytes === undefined) throw new Error(`it has more than ${most} bytes`)
    left -= bytes.length
    files.set(entry.name, bytes)
  }
  return files
}
