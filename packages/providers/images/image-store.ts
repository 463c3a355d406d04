/** Images: unpacked programs in folders named by their content, found by name and version. */
import { randomUUID } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { SandboxChoice } from '@fairlead/base/sandbox/settings.ts'
import { removeTree } from '@fairlead/base/storage/directory-trees.ts'
import { closeToOthers } from '@fairlead/base/storage/private-files.ts'
import type { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import {
  type ImageFile,
  imageNamePattern,
  imageVersionPattern,
  loadImageFile,
  parseImageId,
} from '@fairlead/ports/image-file.ts'
import type { ImageDescription } from '@fairlead/ports/machine.ts'
import type { ImageContent } from './measure-image.ts'
import { receiveArchive } from './receive.ts'
import type { UnpackBounds } from './unpack.ts'
import { unpackBeside } from './unpack-beside.ts'

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

export interface StoredImage extends ImageDescription, ImageContent {
  /** `NAME:VERSION`. */
  readonly id: string
  readonly createdMs: number
  readonly program: ImageFile
}

interface ImageStoreOptions {
  readonly db: DatabaseSync
  /** The data directory; images lie in `images` below it. */
  readonly dataDir: string
  readonly now: () => number
  readonly bounds: UnpackBounds
  readonly sandbox?: SandboxChoice
}

interface UploadOptions {
  /** `sha256:` and the expected hash of the archive's bytes; undefined: not checked. */
  readonly digest: string | undefined
  /** Queue in which it waits until it is unpacked. */
  readonly line: ConcurrencyLimit
}

export function isInAccount({ accounts }: Pick<StoredImage, 'accounts'>, account: string): boolean {
  return accounts === undefined || accounts.includes(account)
}

export class ImageStore {
  readonly #options: ImageStoreOptions
  readonly #root: string
  readonly #statements: Record<'all' | 'named' | 'put' | 'remove' | 'ofDigest', StatementSync>

  constructor(options: ImageStoreOptions) {
    const { db, dataDir } = options
    this.#options = options
    this.#root = join(dataDir, 'images')
    mkdirSync(this.#root, { recursive: true, mode: 0o700 })
    closeToOthers(this.#root)
    this.#statements = {
      all: db.prepare(
        'SELECT document FROM infrastructure_images ORDER BY created_ms DESC, name, version DESC',
      ),
      named: db.prepare(
        'SELECT document FROM infrastructure_images WHERE name = ? AND version = ?',
      ),
      put: db.prepare('INSERT OR REPLACE INTO infrastructure_images VALUES (?, ?, ?, ?, ?, ?)'),
      remove: db.prepare(
        'DELETE FROM infrastructure_images WHERE name = ? AND version = ? AND accounts = ?',
      ),
      ofDigest: db.prepare('SELECT 1 FROM infrastructure_images WHERE digest = ? LIMIT 1'),
    }
    this.#clearLeftovers()
  }

  /** Newest first. */
  all(): StoredImage[] {
    return this.#statements.all.all().map(toImage)
  }

  /** Each account has at most one of them. */
  named(id: string): StoredImage[] {
    const parsed = parseImageId(id)
    return parsed === undefined
      ? []
      : this.#statements.named.all(parsed.name, parsed.version).map(toImage)
  }

  get(id: string, account: string): StoredImage | undefined {
    return this.named(id).find((image) => isInAccount(image, account))
  }

  /** The folder with the content, to be read only. */
  folderOf({ digest }: Pick<StoredImage, 'digest'>): string {
    return join(this.#root, digest.replace('sha256:', ''))
  }

  /**
   * Stores an archive, tar or tar.gz, as it arrives. Files of the store are its own, also those of archives by other users.
   *
   * @throws {PortError} 400 for what is wrong with it; 409 when an account has the version with another content; 413 beyond the bounds
   */
  async addArchive(
    archive: AsyncIterable<Uint8Array>,
    description: ImageDescription,
    imageFile?: string,
  ): Promise<StoredImage> {
    checkNames(description)
    const folder = this.#unfinishedPlace()
    mkdirSync(folder, { mode: 0o755 })
    try {
      const content = await unpackBeside(
        archive,
        folder,
        { bounds: this.#options.bounds, imageFile },
        this.#options.sandbox,
      )
      return this.#adopt(folder, content, description)
    } finally {
      await removeTree(folder)
    }
  }

  /** Stores one that a client sends, once all of it is there. @throws {PortError} as `addArchive` */
  async addUpload(
    archive: AsyncIterable<Uint8Array>,
    description: ImageDescription,
    { digest, line }: UploadOptions,
  ): Promise<StoredImage> {
    checkNames(description)
    const file = `${this.#unfinishedPlace()}.tar`
    try {
      await receiveArchive(archive, file, { digest, bounds: this.#options.bounds })
      return await line.run(() => this.addArchive(createReadStream(file), description))
    } finally {
      await removeTree(file)
    }
  }

  setTags(image: StoredImage, tags: Readonly<Record<string, string>>): void {
    this.#put({ ...image, tags: { ...image.tags, ...tags } })
  }

  /** Another account has it from now on, too. */
  share(image: StoredImage, account: string): void {
    if (this.get(image.id, account) !== undefined) return
    this.#forget(image)
    this.#put({ ...image, accounts: [...(image.accounts ?? []), account] })
  }

  /** The caller has checked that nothing uses it. */
  remove(image: StoredImage): void {
    this.#forget(image)
    if (!this.#isUsed(image.digest)) this.#removeAside(this.folderOf(image))
  }

  #adopt(folder: string, content: ImageContent, description: ImageDescription): StoredImage {
    const program = loadImageFile(folder)
    const id = `${description.name}:${description.version}`
    const before = this.named(id).filter((other) => haveCommonAccount(other, description))
    if (before.some(({ digest }) => digest !== content.digest)) {
      throw new PortError(
        409,
        `The image ${id} exists with another content. Give the new one another version.`,
      )
    }
    if (!existsSync(this.folderOf(content))) renameSync(folder, this.folderOf(content))
    const missing = description.accounts?.filter(
      (account) => !before.some((other) => isInAccount(other, account)),
    )
    const known =
      missing?.length === 0 ? before[0] : before.find(({ accounts }) => accounts === undefined)
    if (known !== undefined) return known
    // One for all accounts takes the place of those of some.
    if (missing === undefined) for (const other of before) this.#forget(other)
    const image = {
      ...description,
      accounts: missing,
      id,
      ...content,
      createdMs: this.#options.now(),
      program,
    }
    this.#put(image)
    return image
  }

  #put(image: StoredImage): void {
    const { name, version, digest, createdMs } = image
    this.#statements.put.run(
      name,
      version,
      accountsKey(image),
      digest,
      createdMs,
      formatJson(image),
    )
  }

  #forget(image: StoredImage): void {
    this.#statements.remove.run(image.name, image.version, accountsKey(image))
  }

  #isUsed(digest: string): boolean {
    return this.#statements.ofDigest.get(digest) !== undefined
  }

  #unfinishedPlace(): string {
    return join(this.#root, `${unfinishedPrefix}${randomUUID()}`)
  }

  /** A process that ended while it stored or removed an image left its folder, perhaps with a part of the content. */
  #clearLeftovers(): void {
    for (const name of readdirSync(this.#root)) {
      const isLeft =
        name.startsWith(unfinishedPrefix) ||
        (contentPattern.test(name) && !this.#isUsed(`sha256:${name}`))
      if (isLeft) this.#removeAside(join(this.#root, name))
    }
  }

  /** Its place is free at once. What stays after a failure is removed at the next start. */
  #removeAside(folder: string): void {
    if (!existsSync(folder)) return
    const place = this.#unfinishedPlace()
    renameSync(folder, place)
    removeTree(place).catch(() => {})
  }
}

const contentPattern = /^[0-9a-f]{64}$/
export const unfinishedPrefix = '.new-'

function toImage(row: Record<string, unknown>): StoredImage {
  return parseJson(String(row['document'])) as StoredImage
}

function accountsKey({ accounts }: Pick<StoredImage, 'accounts'>): string {
  return accounts === undefined ? '' : JSON.stringify(accounts)
}

function haveCommonAccount(
  one: Pick<StoredImage, 'accounts'>,
  { accounts }: Pick<StoredImage, 'accounts'>,
): boolean {
  return accounts === undefined || accounts.some((account) => isInAccount(one, account))
}

/** @throws {PortError} 400 */
function checkNames({ name, version }: ImageDescription): void {
  if (!imageNamePattern.test(name)) {
    throw new PortError(
      400,
      `"${name}" is no name of an image: write letters, digits, ".", "_" and "-", at most 128.`,
    )
  }
  if (!imageVersionPattern.test(version)) {
    throw new PortError(
      400,
      `"${version}" is no version of an image: write letters, digits, ".", "_", "+" and "-", at most 128.`,
    )
  }
}
