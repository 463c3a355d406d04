/** Puts what a backup holds into an empty data directory. */
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { join, posix } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { checkLinks, isInside, makeLinks } from '@fairlead/providers/images/unpack.ts'
import { type ReadEntry, UnpackSync } from 'tar'
import { contentsOf, type Description, descriptionName, workFolderPrefix } from './contents.ts'

/**
 * Nothing is in its place before all of it was read and every database examined.
 *
 * @param dataDir Locked by this process, and without data
 * @throws {Error} when it is no backup, a damaged one, or one of a newer version; the directory is as it was then
 */
export async function restoreBackup(
  archive: AsyncIterable<Uint8Array>,
  dataDir: string,
): Promise<Description> {
  const work = mkdtempSync(join(dataDir, workFolderPrefix))
  try {
    await unpack(archive, work)
    const description = readDescription(join(work, descriptionName))
    const { databases, others } = contentsOf(work, undefined)
    for (const name of databases) examine(join(work, name), name)
    for (const name of [...databases, ...others]) renameSync(join(work, name), join(dataDir, name))
    return description
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function unpack(archive: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  const { bavail, bsize } = statfsSync(folder)
  const guard = new EntryGuard(bavail * bsize)
  const filter = (path: string, entry: unknown) => guard.admits(path, entry as ReadEntry)
  try {
    const unpack = new UnpackSync({
      cwd: folder,
      strict: true,
      preserveOwner: process.getuid?.() === 0,
      filter,
    })
    const faults: Error[] = []
    unpack.on('error', (error: Error) => void faults.push(error))
    for await (const chunk of archive) {
      unpack.write(Buffer.from(chunk))
      guard.checkRefusal()
      if (faults[0] !== undefined) throw faults[0]
    }
    unpack.end()
    if (faults[0] !== undefined) throw faults[0]
    guard.checkRefusal()
    makeLinks(folder, guard.links)
    const images = join(folder, imagesName)
    for (const name of existsSync(images) ? readdirSync(images) : []) checkLinks(join(images, name))
  } catch (cause) {
    guard.checkRefusal()
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== undefined && !code.startsWith('TAR_') && !code.startsWith('Z_')) throw cause
    throw new Error(`The backup is damaged, or no backup: ${message}. Take another one.`, { cause })
  }
}

const imagesName = 'images'
const folderTypes: ReadonlySet<string> = new Set(['Directory', 'GNUDumpDir'])
const fileTypes: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile'])

/** Checks the entries of an archive that may be from a stranger. Only images have links, which stay within their image. */
class EntryGuard {
  readonly #freeBytes: number
  /** Symbolic ones, which are made when nothing can be written through them any more. */
  readonly links = new Map<string, string>()
  readonly #names = new Map<string, string>()
  #bytes = 0
  #refusal: Error | undefined

  constructor(freeBytes: number) {
    this.#freeBytes = freeBytes
  }

  admits(path: string, entry: ReadEntry): boolean {
    if (this.#refusal !== undefined) return false
    const reason = this.#reasonAgainst(path, entry)
    if (reason === undefined && entry.type === 'SymbolicLink') {
      this.links.set(posix.normalize(path), entry.linkpath ?? '')
      return false
    }
    if (reason === undefined) return true
    const text = `The backup is refused: the entry ${JSON.stringify(path.slice(0, 200))} ${reason}. Nothing is restored.`
    this.#refusal = new Error(`${text} Take a backup that "fairlead backup" has written.`)
    return false
  }

  checkRefusal(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }

  #reasonAgainst(path: string, entry: ReadEntry): string | undefined {
    const { type, linkpath = '', size } = entry
    const name = posix.normalize(path).replace(/\/$/, '')
    if (!isInside(path) || name === '.') return 'lies outside of the data directory'
    if (this.#names.has(name)) return 'is there twice'
    const above = this.#folderThatIsNone(name)
    if (above !== undefined) return `lies below "${above}", which is no folder`
    const isLink = type === 'SymbolicLink' || type === 'Link'
    if (isLink && !this.#isOfImage(name, type, linkpath))
      return `is a link, to "${linkpath.slice(0, 200)}"`
    if (!isLink && !fileTypes.has(type) && !folderTypes.has(type))
      return `is a ${type}, neither a file nor a folder`
    this.#names.set(name, type)
    this.#bytes += size
    if (this.#bytes > this.#freeBytes)
      return `is too large: ${this.#freeBytes} bytes are free in the data directory`
    // No set-user-ID and the like.
    if (entry.mode !== undefined) entry.mode &= 0o777
    return undefined
  }

  /** Hard links have a path in the archive as their target; where symbolic ones end is checked when all of them are there. */
  #isOfImage(name: string, type: string, linkpath: string): boolean {
    const [folder, image, ...rest] = name.split('/')
    if (folder !== imagesName || rest.length === 0 || posix.isAbsolute(linkpath)) return false
    const target = posix.normalize(linkpath)
    if (type === 'SymbolicLink') return true
    return (
      target.startsWith(`${imagesName}/${image}/`) && fileTypes.has(this.#names.get(target) ?? '')
    )
  }

  #folderThatIsNone(name: string): string | undefined {
    const parts = name.split('/')
    const folders = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
    return folders.find(
      (folder) => this.#names.has(folder) && !folderTypes.has(this.#names.get(folder) ?? ''),
    )
  }
}

function readDescription(file: string): Description {
  let description: Partial<Description>
  try {
    description = JSON.parse(readFileSync(file, 'utf8')) as Partial<Description>
  } catch (cause) {
    throw new Error(
      `This is no backup of Fairlead: it has no ${descriptionName}. Name a file that "fairlead backup" has written.`,
      {
        cause,
      },
    )
  }
  if (description.format === 1) return description as Description
  throw new Error(
    `The backup was written by a newer version, ${description.version}. Install that version, or take another backup.`,
  )
}

function examine(file: string, name: string): void {
  const db = new DatabaseSync(file)
  try {
    const [found] = db.prepare('PRAGMA quick_check(1)').all()
    if (found?.['quick_check'] === 'ok') return
    throw new Error(String(found?.['quick_check']))
  } catch (cause) {
    throw new Error(
      `The backup is damaged: ${name}: ${(cause as Error).message}. Take another one.`,
      { cause },
    )
  } finally {
    db.close()
  }
}
