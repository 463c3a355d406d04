/** Images: unpacked programs in folders named by their content, found by name and version. */
import { randomUUID } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { formatJson, parseJson } from '../../json/json.ts'
import type { JsonObject } from '../../json/values.ts'
import { removeTree } from '../../storage/directory-trees.ts'
import { closeToOthers } from '../../storage/private-files.ts'
import { BackendError } from '../backend.ts'
import type { WorkLine } from '../stores/in-turns.ts'
import { type ImageFile, loadImageFile } from './image-file.ts'
import type { ImageContent } from './measure-image.ts'
import { receiveArchive } from './receive.ts'
import type { UnpackBounds } from './unpack.ts'
import { type AddedFile, unpackBeside } from './unpack-beside.ts'

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
  // Accounts may have different images of one name and version.
  `ALTER TABLE infrastructure_images RENAME TO infrastructure_images_before;
   DROP INDEX infrastructure_images_by_digest;
   CREATE TABLE infrastructure_images (
     name TEXT NOT NULL,
     version TEXT NOT NULL,
     accounts TEXT NOT NULL,
     digest TEXT NOT NULL,
     created_ms INTEGER NOT NULL,
     document TEXT NOT NULL,
     PRIMARY KEY (name, version, accounts)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO infrastructure_images
     SELECT name, version, coalesce(document ->> 'accounts', ''), digest, created_ms, document FROM infrastructure_images_before;
   DROP TABLE infrastructure_images_before;
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
  /** Accounts and regions that have it; undefined: all. An account has one image of a name and version. */
  readonly accounts?: readonly string[] | undefined
  readonly regions?: readonly string[] | undefined
}

export interface StoredImage extends ImageDescription, ImageContent {
  /** `NAME:VERSION`. */
  readonly id: string
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

export interface UploadOptions {
  /** `sha256:` and the expected hash of the archive's bytes; undefined: not checked. */
  readonly digest: string | undefined
  /** In which it waits until it is unpacked. */
  readonly line: WorkLine
}

export interface ImageStore {
  /** Newest first. */
  all(): StoredImage[]
  /** Each account has at most one of them. */
  named(id: string): StoredImage[]
  get(id: string, account: string): StoredImage | undefined
  /** The folder with the content, to be read only. */
  folderOf(image: Pick<StoredImage, 'digest'>): string
  /**
   * Stores an archive, tar or tar.gz, as it arrives. Files of the store are its own, also those of archives by other users.
   *
   * @throws {BackendError} 400 for what is wrong with it; 409 when an account has the version with another content; 413 beyond the bounds
   */
  addArchive(archive: AsyncIterable<Uint8Array>, description: ImageDescription, addition?: AddedFile): Promise<StoredImage>
  /** Stores one that a client sends, once all of it is there. @throws {BackendError} as `addArchive` */
  addUpload(archive: AsyncIterable<Uint8Array>, description: ImageDescription, options: UploadOptions): Promise<StoredImage>
  /** The caller has checked that nothing uses it. */
  remove(image: StoredImage): void
  setTags(image: StoredImage, tags: Readonly<Record<string, string>>): void
}

export function isInAccount({ accounts }: Pick<StoredImage, 'accounts'>, account: string): boolean {
  return accounts === undefined || accounts.includes(account)
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
    named: db.prepare('SELECT document FROM infrastructure_images WHERE name = ? AND version = ?'),
    put: db.prepare('INSERT OR REPLACE INTO infrastructure_images VALUES (?, ?, ?, ?, ?, ?)'),
    remove: db.prepare('DELETE FROM infrastructure_images WHERE name = ? AND version = ? AND accounts = ?'),
    ofDigest: db.prepare('SELECT 1 FROM infrastructure_images WHERE digest = ? LIMIT 1'),
  }

  if (!keepsUnfinished) clearLeftovers(root, (digest) => statements.ofDigest.get(digest) !== undefined)

  const folderOf: ImageStore['folderOf'] = ({ digest }) => join(root, digest.replace('sha256:', ''))

  const toImage = (row: Record<string, unknown>) => parseJson(String(row['document'])) as StoredImage

  const named: ImageStore['named'] = (id) => {
    const parsed = parseImageId(id)
    return parsed === undefined ? [] : statements.named.all(parsed.name, parsed.version).map(toImage)
  }

  function put(image: StoredImage): StoredImage {
    statements.put.run(image.name, image.version, accountsKey(image), image.digest, image.createdMs, formatJson(image))
    return image
  }

  const forget = (image: StoredImage) => statements.remove.run(image.name, image.version, accountsKey(image))

  /** Moves a finished folder to its place. */
  function adopt(folder: string, content: ImageContent, description: ImageDescription): StoredImage {
    const program = loadImageFile(folder)
    const id = `${description.name}:${description.version}`
    const before = named(id).filter((other) => haveCommonAccount(other, description))
    if (before.some(({ digest }) => digest !== content.digest)) {
      throw new BackendError(409, `The image ${id} exists with another content. Give the new one another version.`)
    }
    if (!existsSync(folderOf(content))) renameSync(folder, folderOf(content))
    const missing = description.accounts?.filter((account) => !before.some((other) => isInAccount(other, account)))
    const known = missing?.length === 0 ? before[0] : before.find(({ accounts }) => accounts === undefined)
    if (known !== undefined) return known
    // One for all accounts takes the place of those of some.
    if (missing === undefined) for (const other of before) forget(other)
    return put({ ...description, accounts: missing, id, ...content, createdMs: now(), program })
  }

  const addArchive: ImageStore['addArchive'] = async (archive, description, addition) => {
    checkNames(description)
    const folder = join(root, `${unfinished}${randomUUID()}`)
    mkdirSync(folder, { mode: 0o755 })
    try {
      return adopt(folder, await unpackBeside(archive, folder, { bounds, addition }), description)
    } finally {
      await removeTree(folder)
    }
  }

  return {
    all: () => statements.all.all().map(toImage),
    named,
    get: (id, account) => named(id).find((image) => isInAccount(image, account)),
    folderOf,
    addArchive,
    async addUpload(archive, description, { digest, line }) {
      checkNames(description)
      const file = join(root, `${unfinished}${randomUUID()}.tar`)
      try {
        await receiveArchive(archive, file, { digest, bounds })
        return await line.run(() => addArchive(createReadStream(file), description))
      } finally {
        await removeTree(file)
      }
    },
    setTags: (image, tags) => void put({ ...image, tags: { ...image.tags, ...tags } }),
    remove(image) {
      forget(image)
      if (statements.ofDigest.get(image.digest) === undefined) removeAside(root, folderOf(image))
    },
  }
}

function accountsKey({ accounts }: Pick<StoredImage, 'accounts'>): string {
  return accounts === undefined ? '' : JSON.stringify(accounts)
}

function haveCommonAccount(one: Pick<StoredImage, 'accounts'>, { accounts }: Pick<StoredImage, 'accounts'>): boolean {
  return accounts === undefined || accounts.some((account) => isInAccount(one, account))
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
const unfinished = '.new-'

/** A process that ended while it stored or removed an image left its folder, perhaps with a part of the content. */
function clearLeftovers(root: string, isUsed: (digest: string) => boolean): void {
  for (const name of readdirSync(root)) {
    const isLeft = name.startsWith(unfinished) || (contentPattern.test(name) && !isUsed(`sha256:${name}`))
    if (isLeft) removeAside(root, join(root, name))
  }
}

/** Its place is free at once. What stays after a failure is removed at the next start. */
function removeAside(root: string, folder: string): void {
  if (!existsSync(folder)) return
  const place = join(root, `${unfinished}${randomUUID()}`)
  renameSync(folder, place)
  removeTree(place).catch(() => {})
}
