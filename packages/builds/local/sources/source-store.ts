/**
 * Uploaded folders, each as a manifest and contents by digest. Every application has contents of its own: a digest gives access to nothing
 * that another application has uploaded.
 */
import { createHash, randomUUID } from 'node:crypto'
import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import {
  chmod,
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import { isSent } from '@fairlead/model/app-file/sent-files.ts'
import { toStorageError } from '@fairlead/ports/storage-error.ts'
import type { ReadEntry } from 'tar'
import {
  isExecutable,
  type Manifest,
  parseManifest,
  type SourceBounds,
  type SourceFile,
  sourceIdOf,
} from './manifest.ts'

export interface SourceState {
  readonly source: string
  readonly complete: boolean
  /** Digests of what has to be sent. */
  readonly missing: readonly string[]
}

interface SourceStoreOptions {
  /** Only this process may read it. */
  readonly folder: string
  readonly bounds: SourceBounds
  /** Complete sources of an application that are kept. */
  readonly kept: number
  readonly now: () => number
  /** Whether a build needs the source. */
  readonly isUsed: (application: string, source: string) => boolean
}

const idPattern = /^[0-9a-f]{32}$/
/** Uploads that were begun and not ended. */
const keptPartialMs = 24 * 60 * 60_000
const workedAtATime = 64
const unfinishedPrefix = '.new-'
/** Header, padding and long names of an entry. */
const entryOverhead = 4096

export class SourceStore {
  readonly #options: SourceStoreOptions
  /** One change of an application's sources at a time: nothing is swept that was just counted on. */
  readonly #lines = new Map<string, ConcurrencyLimit>()

  constructor(options: SourceStoreOptions) {
    this.#options = options
  }

  /** Notes what a folder consists of. @throws {PortError} 400, 413, 507 */
  async begin(application: string, text: string): Promise<SourceState> {
    const manifest = parseManifest(text, this.#options.bounds)
    const id = sourceIdOf(manifest)
    return this.#inTurn(application, async () => {
      await mkdir(this.#contents(application), { recursive: true, mode: 0o700 })
      await mkdir(dirname(this.#manifest(application, id)), { recursive: true, mode: 0o700 })
      const file = this.#manifest(application, id)
      await writeFile(`${file}.new`, JSON.stringify(manifest), { mode: 0o600 })
      await rename(`${file}.new`, file)
      const state = await this.#stateOf(application, id, manifest)
      if (state.complete) await this.#sweep(application)
      return state
    })
  }

  /**
   * Takes what is missing, as a tar archive, compressed with gzip or not; names of its entries do not matter, their digests do.
   *
   * @throws {PortError} 400 for an archive that is damaged or holds something else; 404, 413, 507
   */
  async receive(
    application: string,
    id: string,
    archive: AsyncIterable<Uint8Array>,
  ): Promise<SourceState> {
    const manifest = await this.#require(application, id)
    const missing = await this.#missingOf(application, manifest)
    const wanted = new Map(missing.map((file) => [file.sha256, file.size]))
    const bytes = missing.reduce((sum, { size }) => sum + size + entryOverhead, entryOverhead)
    const receiver = new ContentReceiver(wanted, this.#contents(application))
    try {
      await readArchive(archive, bytes * 2, receiver)
    } catch (error) {
      throw toStorageError(error as Error)
    }
    return this.#inTurn(application, async () => {
      const state = await this.#stateOf(application, id, manifest)
      if (state.complete) await this.#sweep(application)
      return state
    })
  }

  /** The files of an archive as a source, such as a revision of a repository has them. @returns its id @throws {PortError} 400, 413, 507 */
  async keepArchive(application: string, archive: Buffer): Promise<string> {
    const manifest = await listArchive(archive)
    const { source, complete } = await this.begin(application, JSON.stringify(manifest))
    if (!complete) await this.#receiveAll(application, source, archive)
    return source
  }

  async #receiveAll(application: string, id: string, archive: Buffer): Promise<void> {
    const missing = await this.#missingOf(application, await this.#require(application, id))
    const wanted = new Map(missing.map((file) => [file.sha256, file.size]))
    const receiver = new ContentReceiver(wanted, this.#contents(application), { skipsOthers: true })
    try {
      await readArchive(piecesOf(archive), Number.POSITIVE_INFINITY, receiver)
    } catch (error) {
      throw toStorageError(error as Error)
    }
  }

  /** @throws {PortError} 404 */
  async state(application: string, id: string): Promise<SourceState> {
    return this.#stateOf(application, id, await this.#require(application, id))
  }

  /** A file of a complete source; undefined: it has none, or a larger one. @throws {PortError} 404, 409 */
  async file(
    application: string,
    id: string,
    { path, maxBytes }: { readonly path: string; readonly maxBytes: number },
  ): Promise<Buffer | undefined> {
    const manifest = await this.#require(application, id)
    const found = manifest.files.find((file) => file.path === path)
    if (found === undefined || found.size > maxBytes) return undefined
    return readFile(this.#content(application, found.sha256))
  }

  /** @throws {PortError} 404, 409 while something of it is missing */
  async manifest(application: string, id: string): Promise<Manifest> {
    const manifest = await this.#require(application, id)
    const missing = await this.#missingOf(application, manifest)
    if (missing.length > 0)
      throw new PortError(
        409,
        `The source ${id} of ${application} is not complete: ${missing.length} files are missing. Upload it again.`,
      )
    return manifest
  }

  /**
   * Builds the folder of a complete source; what changes a file of it may change the store, so it has to be copied.
   *
   * @param folder Does not exist
   * @throws {PortError} 404, 409
   */
  async materialize(application: string, id: string, folder: string): Promise<void> {
    const { files, links } = await this.manifest(application, id)
    const now = new Date(this.#options.now())
    await utimes(this.#manifest(application, id), now, now)
    const folders = new Set([...files, ...links].map(({ path }) => dirname(path)))
    await mkdir(folder, { recursive: true, mode: 0o755 })
    for (const each of folders) await mkdir(join(folder, each), { recursive: true, mode: 0o755 })
    await inParts(files, async (file) => {
      const [content, place] = [this.#content(application, file.sha256), join(folder, file.path)]
      if (!isExecutable(file)) return link(content, place)
      await copyFile(content, place)
      await chmod(place, 0o755)
    })
    for (const { path, target } of links) await symlink(target, join(folder, path))
  }

  /** Removes sources of applications that are gone, a day after the last upload: one may be created after its upload. */
  async removeOthers(exists: (application: string) => boolean): Promise<void> {
    const { folder, now } = this.#options
    for (const name of await readdir(folder).catch(() => [])) {
      const application = decodeURIComponent(name)
      await this.#inTurn(application, async () => {
        const { mtimeMs } = await stat(dirname(this.#manifest(application, '')))
        if (!exists(application) && now() - mtimeMs > keptPartialMs)
          await rm(join(folder, name), { recursive: true, force: true })
      })
    }
  }

  #inTurn<T>(application: string, work: () => Promise<T>): Promise<T> {
    const key = foldName(application)
    return this.#lines
      .getOrInsertComputed(key, () => new ConcurrencyLimit(1))
      .run(async () => {
        try {
          return await work()
        } catch (error) {
          throw toStorageError(error as Error)
        }
      })
  }

  async #stateOf(application: string, id: string, manifest: Manifest): Promise<SourceState> {
    const missing = await this.#missingOf(application, manifest)
    return {
      source: id,
      complete: missing.length === 0,
      missing: missing.map(({ sha256 }) => sha256),
    }
  }

  /** Each content once. The size is compared: after a power failure, a file may be shorter than it was. */
  async #missingOf(application: string, { files }: Manifest): Promise<SourceFile[]> {
    const distinct = [...new Map(files.map((file) => [file.sha256, file])).values()]
    const isMissing = new Set<string>()
    await inParts(distinct, async ({ sha256, size }) => {
      const found = await stat(this.#content(application, sha256)).catch(() => undefined)
      if (found?.size !== size) isMissing.add(sha256)
    })
    return distinct.filter(({ sha256 }) => isMissing.has(sha256))
  }

  async #require(application: string, id: string): Promise<Manifest> {
    const file = this.#manifest(application, id)
    const text = idPattern.test(id)
      ? await readFile(file, 'utf8').catch(() => undefined)
      : undefined
    if (text === undefined)
      throw new PortError(
        404,
        `The application ${application} has no source "${id}". Upload the folder again.`,
      )
    return JSON.parse(text) as Manifest
  }

  /** Removes sources beyond those that are kept, and contents that none of them has. */
  async #sweep(application: string): Promise<void> {
    const { kept, now, isUsed } = this.#options
    const folder = dirname(this.#manifest(application, ''))
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
    if (names.length <= kept) return
    const all = await Promise.all(
      names.map(async (name) => {
        const manifest = JSON.parse(await readFile(join(folder, name), 'utf8')) as Manifest
        const { mtimeMs } = await stat(join(folder, name))
        const isComplete = (await this.#missingOf(application, manifest)).length === 0
        return { id: name.replace(/\.json$/, ''), manifest, mtimeMs, isComplete }
      }),
    )
    const newest = all.toSorted((one, other) => other.mtimeMs - one.mtimeMs)
    const complete = newest.filter(({ isComplete }) => isComplete).slice(0, kept)
    const stays = newest.filter(
      (each) =>
        complete.includes(each) ||
        isUsed(application, each.id) ||
        (!each.isComplete && now() - each.mtimeMs < keptPartialMs),
    )
    if (stays.length === all.length) return
    const digests = new Set(
      stays.flatMap(({ manifest }) => manifest.files.map((file) => file.sha256)),
    )
    for (const each of all)
      if (!stays.includes(each)) await rm(this.#manifest(application, each.id), { force: true })
    const contents = this.#contents(application)
    for (const name of await readdir(contents)) {
      // Another upload may write it now.
      const isBeingWritten =
        name.startsWith(unfinishedPrefix) &&
        now() - (await stat(join(contents, name)).catch(() => ({ mtimeMs: 0 }))).mtimeMs <
          keptPartialMs
      if (!digests.has(name) && !isBeingWritten) await rm(join(contents, name), { force: true })
    }
  }

  #folderOf(application: string): string {
    return join(this.#options.folder, encodeURIComponent(foldName(application)))
  }

  #contents(application: string): string {
    return join(this.#folderOf(application), 'contents')
  }

  #content(application: string, digest: string): string {
    return join(this.#contents(application), digest)
  }

  #manifest(application: string, id: string): string {
    return join(this.#folderOf(application), 'manifests', `${id}.json`)
  }
}

async function inParts<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += workedAtATime)
    await Promise.all(all.slice(at, at + workedAtATime).map(work))
}

/** Writes files of an archive as they come, and keeps those whose digest is wanted. */
class ContentReceiver {
  readonly #wanted: ReadonlyMap<string, number>
  readonly #folder: string
  readonly #skipsOthers: boolean
  #current: { file: number; place: string; hash: ReturnType<typeof createHash> } | undefined
  fault: Error | undefined

  constructor(
    wanted: ReadonlyMap<string, number>,
    folder: string,
    { skipsOthers = false }: { readonly skipsOthers?: boolean } = {},
  ) {
    this.#skipsOthers = skipsOthers
    this.#wanted = wanted
    this.#folder = folder
  }

  take(entry: ReadEntry): void {
    if (this.fault !== undefined || !/File$/.test(entry.type)) return void entry.resume()
    this.#attempt(() => {
      const place = join(this.#folder, `${unfinishedPrefix}${randomUUID()}`)
      this.#current = { file: openSync(place, 'wx', 0o644), place, hash: createHash('sha256') }
    })
    entry.on('data', (piece) => this.#attempt(() => this.#append(piece)))
    entry.on('end', () => this.#attempt(() => this.#keep(entry.path)))
  }

  /** What is not complete is removed. */
  close(): void {
    const current = this.#current
    this.#current = undefined
    if (current === undefined) return
    closeSync(current.file)
    rmSync(current.place, { force: true })
  }

  #append(piece: Uint8Array): void {
    if (this.#current === undefined) return
    this.#current.hash.update(piece)
    for (let at = 0; at < piece.length; ) at += writeSync(this.#current.file, piece, at)
  }

  #keep(path: string): void {
    if (this.#current === undefined) return
    const { hash, place } = this.#current
    const digest = hash.digest('hex')
    const size = this.#wanted.get(digest)
    if (size === undefined && this.#skipsOthers) {
      this.close()
      return
    }
    if (size === undefined || statSync(place).size !== size)
      throw new PortError(
        400,
        `The entry ${JSON.stringify(path)} of the archive is not missing: nothing in the list of files has its digest, or the server has it. Read the folder again; a file may have changed meanwhile.`,
      )
    closeSync(this.#current.file)
    this.#current = undefined
    renameSync(place, join(this.#folder, digest))
  }

  #attempt(work: () => void): void {
    if (this.fault !== undefined) return
    try {
      work()
    } catch (error) {
      this.fault = error as Error
      this.close()
    }
  }
}

interface EntryReceiver {
  readonly fault: Error | undefined
  take(entry: ReadEntry): void
  close(): void
}

/** Lists files and links. Of what `fairlead deploy` never sends, nothing is listed. */
class ManifestReader implements EntryReceiver {
  readonly fault = undefined
  readonly files: SourceFile[] = []
  readonly links: Manifest['links'] = []

  take(entry: ReadEntry): void {
    const { path, type, mode = 0o644, size } = entry
    if (!isSent(path) || !/File$|^SymbolicLink$/.test(type)) return void entry.resume()
    if (type === 'SymbolicLink') {
      this.links.push({ path, target: String(entry.linkpath) })
      return void entry.resume()
    }
    const hash = createHash('sha256')
    entry.on('data', (piece) => hash.update(piece))
    entry.on('end', () => this.files.push({ path, mode, size, sha256: hash.digest('hex') }))
  }

  close(): void {}
}

async function listArchive(archive: Buffer): Promise<Manifest> {
  const reader = new ManifestReader()
  await readArchive(piecesOf(archive), Number.POSITIVE_INFINITY, reader)
  return { files: reader.files, links: reader.links }
}

async function* piecesOf(archive: Buffer): AsyncIterable<Uint8Array> {
  yield archive
}

async function readArchive(
  archive: AsyncIterable<Uint8Array>,
  maxBytes: number,
  receiver: EntryReceiver,
): Promise<void> {
  const { Parser } = await import('tar')
  const parser = new Parser({ strict: true, onReadEntry: (entry) => receiver.take(entry) })
  let damage: Error | undefined
  let isOver = false
  parser.on('error', (error: Error) => {
    damage ??= error
  })
  parser.on('eof', () => {
    isOver = true
  })
  try {
    let bytes = 0
    for await (const piece of unzipped(archive)) {
      bytes += piece.length
      if (bytes > maxBytes)
        throw new PortError(413, 'The archive has more than what is missing. Send only that.')
      if (damage === undefined && receiver.fault === undefined && !isOver)
        parser.write(Buffer.from(piece))
    }
    parser.end()
  } catch (error) {
    damage ??= error as Error
  } finally {
    receiver.close()
  }
  const fault = receiver.fault ?? damage
  if (fault === undefined) return
  if (fault instanceof PortError || typeof (fault as NodeJS.ErrnoException).syscall === 'string')
    throw fault
  throw new PortError(400, `The archive cannot be read: ${fault.message}`)
}

/** In a stream of its own: the library would unzip a whole piece at once, before anything counts it. */
async function* unzipped(archive: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const source = archive[Symbol.asyncIterator]()
  const first = await source.next()
  if (first.done === true) return
  async function* all(): AsyncIterable<Uint8Array> {
    yield first.value as Uint8Array
    yield* { [Symbol.asyncIterator]: () => source }
  }
  const [one, two] = first.value
  if (one !== 0x1f || (two !== undefined && two !== 0x8b)) return yield* all()
  const gunzip = createGunzip()
  pipeline(Readable.from(all(), { objectMode: false }), gunzip, () => {})
  yield* gunzip
}
