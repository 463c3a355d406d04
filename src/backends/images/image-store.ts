/** Images: unpacked programs in folders named by their content, found by name and version. */
import { createHash, type Hash, randomUUID } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { pipeline } from 'node:stream/promises'
import { formatJson, parseJson } from '../../json/json.ts'
import type { JsonObject } from '../../json/values.ts'
import { closeToOthers } from '../../storage/private-files.ts'
import { BackendError } from '../backend.ts'
import { type ImageFile, loadImageFile } from './image-file.ts'
import { checkLinks, listTree, type UnpackBounds, unpackArchive } from './unpack.ts'

export const imageMigrations = [
  `CREATE TABLE infrastructure_images (
     name TEXT NOT NULL,
     version TEXT NOT NULL,
     digest TEXT NOT NULL,
     created_ms INTEGER NOT NULL,
     document TEXT NOT NULL,
     PRIMARY KEY (name, version)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX infrastructure_images_by_digest ON infrastructure_images (digest);`,
] as const

/** What a user says about an image. */
export interface ImageDescription {
  readonly name: string
  readonly version: string
  /** Facts about its making, such as `commit`, `branch` or `buildInfoUrl`. */
  readonly labels: Readonly<Record<string, string>>
  /** Changeable marks, such as `stage`. */
  readonly tags: Readonly<Record<string, string>>
  /** Who made it of what, such as `{kind: 'upload', user}`. */
  readonly origin: JsonObject
  /** Accounts and regions that have it; undefined: all. */
  readonly accounts?: readonly string[] | undefined
  readonly regions?: readonly string[] | undefined
}

export interface StoredImage extends ImageDescription {
  /** `NAME:VERSION`. */
  readonly id: string
  /** `sha256:` and the hash of its tree. */
  readonly digest: string
  /** Bytes of its files. */
  readonly size: number
  readonly files: number
  /** Milliseconds since the epoch. */
  readonly createdMs: number
  readonly program: ImageFile
}

export interface ImageStoreOptions {
  readonly db: DatabaseSync
  /** The data directory; images lie in `images` below it. */
  readonly dataDir: string
  readonly now: () => number
  readonly bounds: UnpackBounds
  /** Another store of the same directory may be filling folders. */
  readonly keepsUnfinished?: boolean
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const versionPattern = /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,127}$/

export interface ImageStore {
  /** Newest first. */
  all(): StoredImage[]
  get(id: string): StoredImage | undefined
  /** The folder with the content, to be read only. */
  folderOf(image: Pick<StoredImage, 'digest'>): string
  /**
   * Stores an archive, tar or tar.gz, as it arrives.
   *
   * @param digest `sha256:` and the expected hash of the archive's bytes; undefined: not checked
   * @throws {BackendError} 400 for what is wrong with it; 409 when the version has another content; 413 beyond the bounds
   */
  addArchive(archive: AsyncIterable<Uint8Array>, description: ImageDescription, digest?: string): Promise<StoredImage>
  /** Stores a folder that is filled by `fill`, such as a bake. @throws as `addArchive` */
  addFolder(fill: (folder: string) => Promise<void>, description: ImageDescription): Promise<StoredImage>
  /** @returns the image with its new tags */
  setTags(id: string, tags: Readonly<Record<string, string>>): StoredImage | undefined
  /** The caller has checked that nothing uses it. */
  remove(id: string): void
}

/** `shop:1.0.0` → name and version; undefined when it is no image id. */
export function parseImageId(id: string): { name: string; version: string } | undefined {
  const mark = id.lastIndexOf(':')
  const [name, version] = [id.slice(0, mark), id.slice(mark + 1)]
  return mark > 0 && namePattern.test(name) && versionPattern.test(version) ? { name, version } : undefined
}

export function openImageStore({ db, dataDir, now, bounds, keepsUnfinished }: ImageStoreOptions): ImageStore {
  const root = join(dataDir, 'images')
  mkdirSync(root, { recursive: true, mode: 0o700 })
  closeToOthers(root)
  const statements = {
    all: db.prepare('SELECT document FROM infrastructure_images ORDER BY created_ms DESC, name, version DESC'),
    get: db.prepare('SELECT document FROM infrastructure_images WHERE name = ? AND version = ?'),
    put: db.prepare('INSERT OR REPLACE INTO infrastructure_images VALUES (?, ?, ?, ?, ?)'),
    remove: db.prepare('DELETE FROM infrastructure_images WHERE name = ? AND version = ?'),
    ofDigest: db.prepare('SELECT 1 FROM infrastructure_images WHERE digest = ? LIMIT 1'),
  }

  if (!keepsUnfinished) clearLeftovers(root, (digest) => statements.ofDigest.get(digest) !== undefined)

  const folderOf: ImageStore['folderOf'] = ({ digest }) => join(root, digest.replace('sha256:', ''))

  const get: ImageStore['get'] = (id) => {
    const parsed = parseImageId(id)
    const row = parsed && statements.get.get(parsed.name, parsed.version)
    return row === undefined ? undefined : (parseJson(String(row['document'])) as StoredImage)
  }

  function put(image: StoredImage): StoredImage {
    statements.put.run(image.name, image.version, image.digest, image.createdMs, formatJson(image))
    return image
  }

  /** Moves a finished folder to its place. */
  async function adopt(folder: string, description: ImageDescription): Promise<StoredImage> {
    checkLinks(folder)
    const tree = await measureTree(folder, bounds)
    const program = loadImageFile(folder)
    const id = `${description.name}:${description.version}`
    const before = get(id)
    if (before !== undefined && before.digest !== tree.digest) {
      throw new BackendError(409, `The image ${id} exists with another content. Give the new one another version.`)
    }
    if (!existsSync(folderOf(tree))) renameSync(folder, folderOf(tree))
    return before ?? put({ ...description, id, ...tree, createdMs: now(), program })
  }

  async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const folder = join(root, `.new-${randomUUID()}`)
    mkdirSync(folder, { mode: 0o755 })
    try {
      return await work(folder)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  return {
    all: () => statements.all.all().map((row) => parseJson(String(row['document'])) as StoredImage),
    get,
    folderOf,
    async addArchive(archive, description, digest) {
      checkNames(description)
      return withFolder(async (folder) => {
        const hash = createHash('sha256')
        await unpackArchive(hashed(archive, hash), folder, bounds)
        const found = `sha256:${hash.digest('hex')}`
        if (digest !== undefined && digest !== found) {
          throw new BackendError(400, `The archive was damaged on its way: its digest is ${found}, and ${digest} was announced.`)
        }
        return adopt(folder, description)
      })
    },
    async addFolder(fill, description) {
      checkNames(description)
      return withFolder(async (folder) => {
        await fill(folder)
        return adopt(folder, description)
      })
    },
    setTags(id, tags) {
      const image = get(id)
      return image && put({ ...image, tags: { ...image.tags, ...tags } })
    },
    remove(id) {
      const image = get(id)
      if (image === undefined) return
      statements.remove.run(image.name, image.version)
      if (statements.ofDigest.get(image.digest) === undefined) rmSync(folderOf(image), { recursive: true, force: true })
    },
  }
}

/** @throws {BackendError} 400 */
function checkNames({ name, version }: ImageDescription): void {
  if (!namePattern.test(name)) {
    throw new BackendError(400, `"${name}" is no name of an image: write letters, digits, ".", "_" and "-", at most 128.`)
  }
  if (!versionPattern.test(version)) {
    throw new BackendError(
      400,
      `"${version}" is no version of an image: write letters, digits, ".", "_", "+" and "-", at most 128.`,
    )
  }
}

const contentPattern = /^[0-9a-f]{64}$/

/** A process that ended while it stored or removed an image left its folder, perhaps with a part of the content. */
function clearLeftovers(root: string, isUsed: (digest: string) => boolean): void {
  for (const name of readdirSync(root)) {
    const isLeft = name.startsWith('.new-') || (contentPattern.test(name) && !isUsed(`sha256:${name}`))
    if (isLeft) rmSync(join(root, name), { recursive: true, force: true })
  }
}

async function* hashed(archive: AsyncIterable<Uint8Array>, hash: Hash): AsyncIterable<Uint8Array> {
  for await (const chunk of archive) {
    hash.update(chunk)
    yield chunk
  }
}

/** The same tree has the same digest, however it was packed: paths, kinds, the right to execute, content and links count. */
async function measureTree(folder: string, bounds: UnpackBounds): Promise<{ digest: string; size: number; files: number }> {
  const hash = createHash('sha256')
  const entries = listTree(folder)
  if (entries.length > bounds.maxEntries) {
    throw new BackendError(413, `The image has more than ${bounds.maxEntries} entries. Raise local.images.max-files.`)
  }
  entries.sort((one, other) => (one.path < other.path ? -1 : 1))
  let size = 0
  for (const { entry, path } of entries) {
    const place = join(folder, path)
    if (entry.isSymbolicLink()) hash.update(`link ${JSON.stringify([path, readlinkSync(place)])}\n`)
    else if (entry.isDirectory()) hash.update(`directory ${JSON.stringify(path)}\n`)
    else if (entry.isFile()) {
      const { bytes, digest } = await hashFile(place)
      size += bytes
      hash.update(`file ${JSON.stringify([path, (statSync(place).mode & 0o100) !== 0, digest])}\n`)
    } else throw new BackendError(400, `The image cannot hold ${JSON.stringify(path)}: it is no file, directory or link.`)
    if (size > bounds.maxBytes) {
      throw new BackendError(413, `The image has more than ${bounds.maxBytes} bytes. Raise local.images.max-size.`)
    }
  }
  return { digest: `sha256:${hash.digest('hex')}`, size, files: entries.length }
}

async function hashFile(path: string): Promise<{ bytes: number; digest: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(createReadStream(path), async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) {
      bytes += chunk.length
      hash.update(chunk)
    }
  })
  return { bytes, digest: hash.digest('hex') }
}
