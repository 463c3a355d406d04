/** Unpacks archives of strangers: nothing leaves the folder, and size and number are bounded. */
import {
  closeSync,
  type Dirent,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, isAbsolute, join, normalize, sep } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { PortError } from '@fairlead/base/port-error.ts'
import { toStorageError } from '@fairlead/ports/storage-error.ts'
import type { ReadEntry } from 'tar'

export interface UnpackBounds {
  readonly maxBytes: number
  readonly maxEntries: number
}

/** What walks an image calls itself for each folder. */
const maxDepth = 100

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
 * @throws {PortError} 400 for an archive that is damaged or hostile; 413 beyond the bounds
 */
export async function unpackArchive(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
  bounds: UnpackBounds,
): Promise<void> {
  const { Parser } = await import('tar')
  const guard = new EntryGuard(bounds)
  const writer = new EntryWriter(folder)
  const parser = new Parser({
    strict: true,
    filter: (path, entry) => guard.admits(path, entry as ReadEntry),
    onReadEntry: (entry) => writer.write(entry),
  })
  let isOver = false
  parser.on('eof', () => {
    isOver = true
  })
  let damage: Error | undefined
  parser.on('error', (error: Error) => {
    damage ??= error
  })
  let fault: Error | undefined
  try {
    for await (const chunk of guard.watched(plainTar(archive))) {
      // What follows a fault is read and dropped: a client that is still sending would not see the answer. So is what follows the
      // end of the archive, which the library would collect, copying all of it with each piece.
      if (damage === undefined && writer.fault === undefined && !isOver)
        parser.write(Buffer.from(chunk))
    }
    // It reports an archive that is incomplete.
    parser.end()
  } catch (error) {
    fault = error as Error
  } finally {
    // The archive is incomplete.
    writer.close()
  }
  guard.checkRefusal()
  fault = writer.fault ?? damage ?? fault
  if (fault !== undefined) throw toRefusal(fault)
  if (guard.entries === 0) throw new PortError(400, 'The archive is empty, or no tar archive.')
  makeLinks(folder, guard.links)
  checkLinks(folder)
}

function toRefusal(fault: Error): Error {
  const known = toStorageError(fault)
  if (known instanceof PortError) return known
  return new PortError(
    400,
    `The archive cannot be unpacked: ${fault.message}. Send a tar archive, compressed with gzip or not.`,
  )
}

/**
 * The archive without its compression. The library would unzip in this thread whatever one piece becomes, and before anything
 * counts it.
 */
async function* plainTar(archive: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const source = archive[Symbol.asyncIterator]()
  try {
    const given = await peek(source)
    if (!hasMagic(given.start, gzipMagic)) return yield* refusingCompressed(given)
    const unzipped = createGunzip()
    // An error of one side ends the other, and arrives where the result is read.
    pipeline(Readable.from(given.all, { objectMode: false }), unzipped, () => {})
    yield* refusingCompressed(await peek(unzipped[Symbol.asyncIterator]()))
  } finally {
    // Also of an archive that is refused before its end. It may have to wait for the next piece, so the answer does not.
    source.return?.().catch(() => {})
  }
}

const gzipMagic = [0x1f, 0x8b]
const zstdMagic = [0x28, 0xb5, 0x2f, 0xfd]

/** The library recognises compression by the first bytes as well. */
async function* refusingCompressed({ start, all }: Peeked): AsyncIterable<Uint8Array> {
  if (hasMagic(start, gzipMagic) || hasMagic(start, zstdMagic)) {
    throw new PortError(
      400,
      'The archive is compressed twice, or not with gzip. Send a tar archive, compressed with gzip or not.',
    )
  }
  yield* all
}

interface Peeked {
  /** At least four bytes, if there are as many. */
  readonly start: Uint8Array
  readonly all: AsyncIterable<Uint8Array>
}

async function peek(bytes: AsyncIterator<Uint8Array>): Promise<Peeked> {
  let start = Buffer.alloc(0)
  while (start.length < zstdMagic.length) {
    const { done, value } = await bytes.next()
    if (done === true) break
    start = Buffer.concat([start, value])
  }
  async function* all(): AsyncIterable<Uint8Array> {
    if (start.length > 0) yield start
    yield* { [Symbol.asyncIterator]: () => bytes }
  }
  return { start, all: all() }
}

function hasMagic(start: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => start[index] === byte)
}

/**
 * Writes each piece before the parser takes the next, so nothing is pending when it returns. (The library's own way closes a file again
 * after a write that failed, when its number may belong to another, and takes a part for the whole where a disk is nearly full.)
 */
class EntryWriter {
  readonly #folder: string
  #file: number | undefined
  /** The first one; nothing is written after it. */
  fault: Error | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  write(entry: ReadEntry): void {
    this.#attempt(() => this.#begin(entry), entry.path)
    entry.on('data', (piece) => this.#attempt(() => this.#append(piece)))
    entry.on('end', () => this.#attempt(() => this.close()))
  }

  close(): void {
    const file = this.#file
    this.#file = undefined
    if (file !== undefined) closeSync(file)
  }

  #begin({ type, path, linkpath = '', mode }: ReadEntry): void {
    const place = join(this.#folder, path)
    const isFolder = folderTypes.has(type)
    mkdirSync(isFolder ? place : dirname(place), { recursive: true, mode: folderMode })
    if (isFolder) return
    // The last of several entries with the same path holds.
    rmSync(place, { force: true })
    if (type === 'Link') linkSync(join(this.#folder, linkpath), place)
    else this.#file = openSync(place, 'wx', mode)
  }

  #append(piece: Uint8Array): void {
    if (this.#file === undefined) return
    for (let at = 0; at < piece.length; ) at += writeSync(this.#file, piece, at)
  }

  #attempt(work: () => void, path?: string): void {
    if (this.fault !== undefined) return
    try {
      work()
    } catch (error) {
      const known = toStorageError(error as Error)
      const isPlace = path !== undefined && !(known instanceof PortError)
      this.fault = isPlace ? hostile(path, `cannot be written ${misplaced(error)}`) : known
      this.close()
    }
  }
}

const folderTypes: ReadonlySet<string> = new Set(['Directory', 'GNUDumpDir'])
const folderMode = 0o755

/** Checks each entry by its header, before anything of it is written. */
class EntryGuard {
  readonly #bounds: UnpackBounds
  readonly #files = new Map<string, number>()
  readonly #folders = new Set<string>(['.'])
  #bytes = 0
  #refusal: PortError | undefined
  entries = 0
  /** Symbolic links, which are made last: nothing is written through them, and each may lead through others. */
  readonly links = new Map<string, string>()

  constructor(bounds: UnpackBounds) {
    this.#bounds = bounds
  }

  /** Whether the library writes it: nothing after the first refusal. It calls this where an exception would be lost. */
  admits(path: string, entry: ReadEntry): boolean {
    if (this.#refusal !== undefined) return false
    try {
      this.#check(path, entry)
    } catch (error) {
      this.#refusal = error as PortError
      return false
    }
    const isLink = entry.type === 'SymbolicLink'
    const place = normalize(path).replace(/\/$/, '')
    if (isLink) this.links.set(place, entry.linkpath ?? '')
    else this.links.delete(place)
    return !isLink
  }

  #check(path: string, entry: ReadEntry): void {
    const { type, linkpath = '' } = entry
    if (normalize(path).split(sep).length > maxDepth)
      throw hostile(path.slice(0, 100), `lies more than ${maxDepth} folders deep`)
    this.entries++
    // A copy of the image has a file of its own for each name.
    this.#bytes += type === 'Link' ? (this.#files.get(normalize(linkpath)) ?? 0) : entry.size
    // Folders that no entry names are made all the same.
    for (
      let folder = dirname(normalize(path));
      !this.#folders.has(folder) && isInside(folder);
      folder = dirname(folder)
    ) {
      this.#folders.add(folder)
      this.entries++
      if (this.entries > this.#bounds.maxEntries) break
    }
    if (this.entries > this.#bounds.maxEntries)
      throw tooLarge(`more than ${this.#bounds.maxEntries} entries`)
    if (this.#bytes > this.#bounds.maxBytes)
      throw tooLarge(`more than ${this.#bounds.maxBytes} bytes unpacked`)
    if (!kinds.has(type))
      throw hostile(path, `is a ${type}; only files, directories and links may be in an image`)
    if (!isInside(path)) throw hostile(path, 'lies outside of the image')
    if (type === 'Link' && !this.#files.has(normalize(linkpath)))
      throw hostile(path, `is a link to ${linkpath}, which is no file of it`)
    if (type === 'SymbolicLink' && isAbsolute(linkpath))
      throw hostile(path, `is a link to the absolute path ${linkpath}`)
    if (type.endsWith('File')) this.#files.set(normalize(path), entry.size)
    // No set-user-ID and the like, and always removable by its owner.
    entry.mode = folderTypes.has(type) || ((entry.mode ?? 0) & 0o100) !== 0 ? folderMode : 0o644
  }

  /** An archive that is refused, or larger than all that may be in it, is not read to its end. */
  async *watched(archive: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of bounded(archive, this.#bounds)) {
      yield chunk
      this.checkRefusal()
    }
  }

  /** Some entries come out of buffers only when the archive has ended. @throws {PortError} */
  checkRefusal(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }
}

export function isInside(path: string): boolean {
  return !isAbsolute(path) && !path.includes('\0') && !path.split(/[/\\]/).includes('..')
}

/** @throws {PortError} 413 beyond what an archive of an image within the bounds can have */
export async function* bounded(
  archive: AsyncIterable<Uint8Array>,
  { maxBytes, maxEntries }: UnpackBounds,
): AsyncIterable<Uint8Array> {
  const most = maxBytes + maxEntries * 2048
  let bytes = 0
  for await (const chunk of archive) {
    bytes += chunk.length
    if (bytes > most) throw tooLarge(`more than ${most} bytes`)
    yield chunk
  }
}

function tooLarge(what: string): PortError {
  return new PortError(
    413,
    `The archive has ${what}. Make it smaller, or raise local.images.max-size or local.images.max-files.`,
  )
}

function hostile(path: string, why: string): PortError {
  return new PortError(400, `The archive is refused: ${JSON.stringify(normalize(path))} ${why}.`)
}

/** Without the place on this machine, which the error of the system names. */
function misplaced(error: unknown): string {
  return `(${(error as NodeJS.ErrnoException).code}): its place is taken, or its name wrong`
}

/** Everything below a folder, by path. Links are entries of their own and never followed, unlike by `recursive` of readdir. */
export function listUnpacked(
  folder: string,
  below = '',
): { readonly path: string; readonly entry: Dirent }[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name)
    return [{ path, entry }, ...(entry.isDirectory() ? listUnpacked(folder, path) : [])]
  })
}

/** All folders exist before the first link, so that no link is made through another one. @throws {PortError} 400 */
export function makeLinks(folder: string, links: ReadonlyMap<string, string>): void {
  const makeFolderOf = (path: string) => mkdirSync(join(folder, dirname(path)), { recursive: true })
  const makeLink = (path: string, target: string) => {
    rmSync(join(folder, path), { force: true })
    symlinkSync(target, join(folder, path))
  }
  for (const make of [makeFolderOf, makeLink]) {
    for (const [path, target] of links) {
      try {
        make(path, target)
      } catch (cause) {
        throw hostile(path, `cannot be a link to ${target} ${misplaced(cause)}`)
      }
    }
  }
}

/**
 * A link may lead through others, so that only the finished tree shows where it ends: as the system resolves it, since
 * `realpathSync` shortens `link/..` as text.
 *
 * @throws {PortError} 400
 */
export function checkLinks(folder: string): void {
  const root = realpathSync.native(folder)
  for (const { path, entry } of listUnpacked(folder)) {
    if (!entry.isSymbolicLink()) continue
    const end = resolveLink(join(folder, path))
    if (end !== root && end?.startsWith(root + sep) !== true)
      throw hostile(path, 'is a link that leads out of the image, or nowhere')
  }
}

function resolveLink(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
