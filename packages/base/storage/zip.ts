/** Files of archives of the form ZIP, within bounds. */
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'

const inflateAside = promisify(inflateRaw)

export interface ZipEntry {
  readonly name: string
  /** @returns undefined beyond the bound, whatever size the archive names @throws {Error} the bytes are damaged */
  unpack(maxBytes: number): Promise<Buffer | undefined>
}

/**
 * By the directory at the end. Libraries for archives inflate as much as there is, whatever size is asked for.
 *
 * @throws {Error} the archive is damaged
 * @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT sections 4.3.7, 4.3.12 and 4.3.16
 */
export function* zipEntries(bytes: Uint8Array): Generator<ZipEntry, void> {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = archive.lastIndexOf('PK\x05\x06', archive.length, 'latin1')
  if (end === -1 || end + 22 > archive.length) throw new Error('it is no archive of the form ZIP')
  let at = archive.readUInt32LE(end + 16)
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    if (archive.toString('latin1', at, at + 4) !== 'PK\x01\x02')
      throw new Error('its directory is damaged')
    const nameEnd = at + 46 + archive.readUInt16LE(at + 28)
    const isPacked = archive.readUInt16LE(at + 10) !== 0
    const local = archive.readUInt32LE(at + 42)
    const size = archive.readUInt32LE(at + 20)
    const unpack = (maxBytes: number) => {
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
      return unpackWithin(archive.subarray(start, start + size), isPacked, maxBytes)
    }
    yield { name: archive.toString('utf8', at + 46, nameEnd), unpack }
    at = nameEnd + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
}

async function unpackWithin(
  content: Buffer,
  isPacked: boolean,
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (!isPacked) return content.length > maxBytes ? undefined : content
  try {
    return await inflateAside(content, { maxOutputLength: maxBytes })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw error
  }
}
