/** The folder of one bake: files and unpacked archives, all of which stay within it. */
import { existsSync, lstatSync, mkdirSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { listUnpacked, unpackArchive } from '../../images/unpack.ts'
import { describeArtifact } from './request.ts'

/** All archives of a bake together; enough for a repository with charts. */
const bounds = { maxBytes: 256 * 1024 * 1024, maxEntries: 50_000 }

export class WorkFolder {
  readonly path: string
  #bytes = 0
  #entries = 0

  constructor(path: string) {
    this.path = path
  }

  static async use<T>(work: (folder: WorkFolder) => Promise<T>): Promise<T> {
    const path = await mkdtemp(join(realpathSync(tmpdir()), 'fairlead-manifest-'))
    try {
      return await work(new WorkFolder(path))
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  }

  /** @param name Path below the folder, of this program's choice @returns the same, as an argument */
  write(name: string, content: Buffer | string): string {
    const file = join(this.path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content, { mode: 0o600 })
    return `./${name}`
  }

  makeFolder(name: string): string {
    const folder = join(this.path, name)
    mkdirSync(folder, { recursive: true })
    return folder
  }

  /** @param name Of a folder that is made for it @throws {PortError} 400 for a damaged or hostile archive, 413 for a large one */
  async unpack(name: string, archive: Buffer, artifact: JsonObject): Promise<void> {
    const folder = this.makeFolder(name)
    try {
      const left = {
        maxBytes: bounds.maxBytes - this.#bytes,
        maxEntries: bounds.maxEntries - this.#entries,
      }
      await unpackArchive(slicesOf(archive), folder, left)
    } catch (error) {
      if (!(error instanceof PortError) || error.status >= 500) throw error
      const what = `The artifact ${describeArtifact(artifact)} cannot be unpacked`
      if (error.status === 413)
        throw new PortError(
          413,
          `${what}: archives have at most ${bounds.maxEntries} files and ${bounds.maxBytes} bytes.`,
        )
      throw new PortError(400, `${what}. ${error.message}`)
    }
    for (const { path } of listUnpacked(folder)) {
      this.#entries += 1
      this.#bytes += lstatSync(join(folder, path)).size
    }
  }

  /**
   * A place that a request names in a folder of this one.
   *
   * @returns the path below this folder, as an argument
   * @throws {PortError} 400 when it does not exist, or leads out of the folder
   */
  resolve(name: string, path: string, field: string): string {
    const root = join(this.path, name)
    const place = join(root, path)
    const isOutside = isAbsolute(path) || path.includes('\0') || !isWithin(place, root)
    if (isOutside || (existsSync(place) && !isWithin(realpathSync(place), root)))
      throw new PortError(400, `${field} must be a path inside the artifact, and is "${path}".`)
    if (!existsSync(place))
      throw new PortError(400, `The artifact has no ${path}, which ${field} names.`)
    return `./${relative(this.path, place)}`
  }

  isFolder(path: string): boolean {
    return statSync(join(this.path, path), { throwIfNoEntry: false })?.isDirectory() === true
  }

  has(path: string): boolean {
    return existsSync(join(this.path, path))
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep)
}

async function* slicesOf(bytes: Buffer): AsyncIterable<Uint8Array> {
  const size = 64 * 1024
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export function isArchive(content: Buffer): boolean {
  const isGzip = content[0] === 0x1f && content[1] === 0x8b
  return isGzip || content.subarray(257, 262).toString('latin1') === 'ustar'
}
