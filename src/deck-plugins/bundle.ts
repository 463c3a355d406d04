/** The files of a Deck plug-in in its archive, within bounds. */
import { promisify } from 'node:util'
import { inflateRaw as inflateRawCallback } from 'node:zlib'

const inflateRaw = promisify(inflateRawCallback)

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
  const inner = await unpack(archive, (name) => name === deckArchive, maxArchiveBytes)
  return unpack(inner.get(deckArchive) ?? archive, (name) => !/[/\\]|\.zip$/.test(name), maxBytes)
}

interface Entry {
  readonly name: string
  /** As the format numbers it: 0 is none, 8 is deflate. */
  readonly compression: number
  readonly packed: Buffer
}

/** What an archive says about the sizes of its files may be wrong: each is inflated aside, within what is left of the bound. */
async function unpack(
  archive: Uint8Array,
  isWanted: (name: string) => boolean,
  most: number,
): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>()
  let left = most
  for (const { name, compression, packed } of entriesOf(archive)) {
    if (!isWanted(name)) continue
    if (files.size === maxFiles) throw new Error(`it has more than ${maxFiles} files`)
    const bytes = compression === 0 ? packed : await inflate(packed, left)
    if (bytes === undefined || bytes.length > left) throw new Error(`it has more than ${most} bytes`)
    left -= bytes.length
    files.set(name, bytes)
  }
  return files
}

/** @returns undefined beyond the bound @throws {Error} the bytes are damaged */
async function inflate(packed: Buffer, most: number): Promise<Buffer | undefined> {
  try {
    return await inflateRaw(packed, { maxOutputLength: most + 1 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw error
  }
}

/**
 * By the directory at the end. Libraries for archives inflate as much as there is, whatever size is asked for.
 *
 * @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT sections 4.3.7, 4.3.12 and 4.3.16
 */
function* entriesOf(bytes: Uint8Array): Generator<Entry, void> {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = archive.lastIndexOf('PK\x05\x06', archive.length, 'latin1')
  if (end === -1 || end + 22 > archive.length) throw new Error('it is no archive of the form ZIP')
  let at = archive.readUInt32LE(end + 16)
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    if (archive.toString('latin1', at, at + 4) !== 'PK\x01\x02') throw new Error('its directory is damaged')
    const nameEnd = at + 46 + archive.readUInt16LE(at + 28)
    const local = archive.readUInt32LE(at + 42)
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
    const packed = archive.subarray(start, start + archive.readUInt32LE(at + 20))
    yield { name: archive.toString('utf8', at + 46, nameEnd), compression: archive.readUInt16LE(at + 10), packed }
    at = nameEnd + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
}
