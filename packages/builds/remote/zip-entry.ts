/** Single files of zip archives. */

import { type ZipEntry, zipEntries } from '@fairlead/base/storage/zip.ts'
import { PortError } from '@fairlead/ports/port-error.ts'

const maxEntryBytes = 1024 * 1024

/**
 * The text of a file in an archive, by its path; else of the first file in any folder with that name; undefined: there is none.
 *
 * @throws {PortError} 502 when the archive is damaged, 413 when the file is too large
 */
export async function readZipEntry(archive: Buffer, name: string): Promise<string | undefined> {
  try {
    const entry = findEntry(archive, name)
    const content = await entry?.unpack(maxEntryBytes)
    if (entry === undefined || content !== undefined) return content?.toString('utf8')
    throw new PortError(413, `The file ${entry.name} of the archive is larger than ${maxEntryBytes} bytes.`)
  } catch (error) {
    if (error instanceof PortError) throw error
    throw new PortError(502, 'The archive of the build cannot be read: it is damaged, or no zip archive.')
  }
}

function findEntry(archive: Buffer, name: string): ZipEntry | undefined {
  let found: ZipEntry | undefined
  for (const entry of zipEntries(archive)) {
    if (entry.name === name) return entry
    if (entry.name.endsWith(`/${name}`)) found ??= entry
  }
  return found
}
