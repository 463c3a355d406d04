/** Unpacks archives of strangers: nothing leaves the folder, and size and number are bounded. */
import { once } from 'node:events'
import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { isAbsolute, join, normalize, sep } from 'node:path'
import { Unpack } from 'tar'
import { BackendError } from '../backend.ts'

export interface UnpackBounds {
  /** Of all files together. */
  readonly maxBytes: number
  readonly maxEntries: number
}

const kinds: ReadonlySet<string> = new Set([
  'File',
  'OldFile',
  'ContiguousFile',
  'Directory',
  'GNUDumpDir',
  'SymbolicLink',
  'Link',
])

/**
 * Unpacks a tar archive, compressed with gzip or not. Owners and special modes are not kept.
 *
 * @param folder Empty; after an error its content is undefined.
 * @throws {BackendError} 400 for an archive that is damaged or hostile; 413 beyond the bounds
 */
export async function unpackArchive(archive: AsyncIterable<Uint8Array>, folder: string, bounds: UnpackBounds): Promise<void> {
  const guard = new EntryGuard(bounds)
  const unpack = new Unpack({
    cwd: folder,
    strict: true,
    preserveOwner: false,
    noMtime: true,
    filter: (path, entry) => guard.admits(path, entry as Entry),
  })
  const ended = Promise.withResolvers<void>()
  unpack.once('close', () => ended.resolve())
  unpack.on('error', (error: Error) => ended.reject(error))
  ended.promise.catch(() => {})
  try {
    await feed(unpack, guard.watched(archive), ended.promise)
  } catch (error) {
    if (error instanceof BackendError) throw error
    const { message } = error as Error
    throw new BackendError(400, `The archive cannot be unpacked: ${message}. Send a tar archive, compressed with gzip or not.`)
  }
  guard.checkRefusal()
  if (guard.entries === 0) throw new BackendError(400, 'The archive is empty, or no tar archive.')
  checkLinks(folder)
}

/** Always ends the archive, also an incomplete one, so that its last file is closed. */
async function feed(unpack: Unpack, archive: AsyncIterable<Uint8Array>, ended: Promise<void>): Promise<void> {
  try {
    for await (const chunk of archive) {
      if (!unpack.write(Buffer.from(chunk))) await Promise.race([once(unpack, 'drain'), ended])
    }
  } finally {
    unpack.end()
  }
  await ended
}

interface Entry {
  type: string
  size: number
  mode?: number
  linkpath?: string
}

/** Judges each entry by its header, before anything of it is written. */
class EntryGuard {
  readonly #bounds: UnpackBounds
  readonly #files = new Set<string>()
  #bytes = 0
  #refusal: BackendError | undefined
  entries = 0

  constructor(bounds: UnpackBounds) {
    this.#bounds = bounds
  }

  /** After the first refusal nothing is written; the library calls this where an exception would be lost. */
  admits(path: string, entry: Entry): boolean {
    try {
      if (this.#refusal === undefined) this.#check(path, entry)
    } catch (error) {
      this.#refusal = error as BackendError
    }
    return this.#refusal === undefined
  }

  #check(path: string, entry: Entry): void {
    const { type, size, linkpath = '' } = entry
    this.entries++
    this.#bytes += size
    if (this.entries > this.#bounds.maxEntries) throw tooLarge(`more than ${this.#bounds.maxEntries} entries`)
    if (this.#bytes > this.#bounds.maxBytes) throw tooLarge(`more than ${this.#bounds.maxBytes} bytes unpacked`)
    if (!kinds.has(type)) throw hostile(path, `is a ${type}; only files, directories and links may be in an image`)
    if (!isInside(path)) throw hostile(path, 'lies outside of the image')
    if (type === 'Link' && !this.#files.has(normalize(linkpath)))
      throw hostile(path, `is a link to ${linkpath}, which is no file of it`)
    if (type === 'SymbolicLink' && isAbsolute(linkpath)) throw hostile(path, `is a link to the absolute path ${linkpath}`)
    if (type.endsWith('File')) this.#files.add(normalize(path))
    // No set-user-ID and the like, and always removable by its owner.
    entry.mode = type === 'Directory' || type === 'GNUDumpDir' || ((entry.mode ?? 0) & 0o100) !== 0 ? 0o755 : 0o644
  }

  /** An archive that is refused, or larger than all that may be in it, is not read to its end. */
  async *watched(archive: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const most = this.#bounds.maxBytes + this.#bounds.maxEntries * 2048
    let bytes = 0
    for await (const chunk of archive) {
      bytes += chunk.length
      if (bytes > most) throw tooLarge(`more than ${most} bytes`)
      yield chunk
      this.checkRefusal()
    }
  }

  /** Some entries come out of buffers only when the archive has ended. @throws {BackendError} */
  checkRefusal(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }
}

function isInside(path: string): boolean {
  return !isAbsolute(path) && !path.includes('\0') && !path.split(/[/\\]/).includes('..')
}

function tooLarge(what: string): BackendError {
  return new BackendError(
    413,
    `The archive has ${what}. Make it smaller, or raise local.images.max-size or local.images.max-files.`,
  )
}

function hostile(path: string, why: string): BackendError {
  return new BackendError(400, `The archive is refused: ${JSON.stringify(path)} ${why}.`)
}

/** A link may lead through others, so that only the finished tree shows where it ends. @throws {BackendError} 400 */
export function checkLinks(folder: string): void {
  const root = realpathSync(folder)
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!lstatSync(join(folder, path)).isSymbolicLink()) continue
    const end = resolveLink(join(folder, path))
    if (end !== root && end?.startsWith(root + sep) !== true)
      throw hostile(path, 'is a link that leads out of the image, or nowhere')
  }
}

function resolveLink(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
