/** Single files of zip archives. */
import { unzipSync } from 'fflate'
import { BackendError } from '../../backend.ts'

const maxEntryBytes = 1024 * 1024
/** Each name is looked at. */
const maxEntries = 100_000

/**
 * The text of a file in an archive, by its path; else of the first file in any folder with that name; undefined: there is none.
 *
 * @throws {BackendError} 502 when the archive is damaged, 413 when the file is too large
 */
export function readZipEntry(archive: Buffer, name: string): string | undefined {
  const found = findEntry(archive, name)
  if (found === undefined) return undefined
  const content = open(archive, (path) => path === found)[found]
  return content === undefined ? undefined : Buffer.from(content).toString('utf8')
}

function findEntry(archive: Buffer, name: string): string | undefined {
  const paths: string[] = []
  open(archive, (path) => {
    if (paths.push(path) > maxEntries) throw new BackendError(413, `The archive has more than ${maxEntries} files.`)
    return false
  })
  return paths.find((path) => path === name) ?? paths.find((path) => path.endsWith(`/${name}`))
}

/** The declared size bounds what is unpacked: the content is written into a buffer of that size. */
function open(archive: Buffer, isWanted: (path: string) => boolean): Record<string, Uint8Array> {
  try {
    return unzipSync(archive, {
      filter({ name, originalSize }) {
        if (!isWanted(name)) return false
        if (originalSize > maxEntryBytes)
          throw new BackendError(413, `The file ${name} of the archive is larger than ${maxEntryBytes} bytes.`)
        return true
      },
    })
  } catch (error) {
    if (error instanceof BackendError) throw error
    throw new BackendError(502, 'The archive of the build cannot be read: it is damaged, or no zip archive.')
  }
}
