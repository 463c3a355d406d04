/** Files of builds on disk: their logs, and their archived files as one tar archive each. */

import { createReadStream, createWriteStream, existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { PortError } from '@fairlead/base/port-error.ts'
import { packTree } from '@fairlead/base/storage/directory-trees.ts'
import { readEnd } from '@fairlead/base/storage/read-end.ts'
import type { ArchivedFile } from './build-store.ts'
import { archiveFolder } from './plan.ts'

interface ArchiveBounds {
  readonly maxFiles: number
  readonly maxFileBytes: number
}

/** Reads a part of the log of a runner. */
type ReadLogPart = (
  offset: number,
) => Promise<{ output: string; offset: number; nextOffset: number; endOffset: number } | undefined>

export class BuildFiles {
  readonly #folder: string

  /** @param folder Only this process may read it */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** What the runner starts with. */
  contentOf(id: string): string {
    return join(this.#folder, id, 'content')
  }

  /** For files that Git needs while it fetches. */
  gitHomeOf(id: string): string {
    return join(this.#folder, id, 'git')
  }

  /** Ids of builds that have files. */
  ids(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : []
  }

  async removeContent(id: string): Promise<void> {
    await rm(this.contentOf(id), { recursive: true, force: true })
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.#folder, id), { recursive: true, force: true })
  }

  bytesOf(id: string): number {
    return [this.#log(id), this.#archive(id)].reduce(
      (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
      0,
    )
  }

  /**
   * Copies the newest bytes of the log of a runner part by part, and adds the last line.
   *
   * @throws {Error} when a part is missing
   */
  async keepLog(
    id: string,
    read: ReadLogPart,
    { maxBytes, lastLine }: { maxBytes: number; lastLine: string },
  ): Promise<void> {
    await mkdir(join(this.#folder, id), { recursive: true, mode: 0o700 })
    const fresh = `${this.#log(id)}.new`
    const file = await open(fresh, 'w', 0o600)
    try {
      let part = await read(0)
      if (part !== undefined && part.endOffset > Math.max(maxBytes, part.nextOffset)) {
        part = await read(part.endOffset - maxBytes)
      }
      if (part !== undefined && part.offset > 0) {
        await file.writeFile(
          `(The first ${part.offset} bytes are dropped: see builds.local.log-size.)\n`,
        )
      }
      while (part !== undefined) {
        await file.writeFile(part.output)
        const { output, nextOffset, endOffset } = part
        if (output === '' || nextOffset >= endOffset) break
        part = await read(nextOffset)
        if (part === undefined)
          throw new Error(`the log ends at byte ${nextOffset} of ${endOffset}`)
      }
      await file.writeFile(lastLine)
    } finally {
      await file.close()
    }
    await rename(fresh, this.#log(id))
  }

  /** The end of the log of an ended build; undefined: there is none any more. */
  logOf(id: string, maxBytes: number): string | undefined {
    const file = this.#log(id)
    return existsSync(file) ? readEnd(file, maxBytes) : undefined
  }

  /**
   * Takes the archived files of a runner over, as an archive that is read in the name of its user: its processes may still change it.
   *
   * @param work Folder of the runner
   * @throws {PortError} 413 beyond the bounds
   */
  async keepFiles(
    id: string,
    work: string,
    { maxFiles, maxFileBytes }: ArchiveBounds,
  ): Promise<ArchivedFile[]> {
    await mkdir(join(this.#folder, id), { recursive: true, mode: 0o700 })
    const fresh = `${this.#archive(id)}.new`
    const bounds = new SizeLimit(tarBytesOf(maxFiles, maxFileBytes))
    try {
      await pipeline(
        packTree(work, archiveFolder),
        bounds,
        createWriteStream(fresh, { mode: 0o600 }),
      )
      const files = await listFiles(fresh, maxFiles)
      if (files.length > 0) await rename(fresh, this.#archive(id))
      return files
    } finally {
      await rm(fresh, { force: true })
    }
  }

  /** Content of an archived file; undefined: there is no such file any more, or it is larger. */
  async readFile(id: string, path: string, maxBytes: number): Promise<Buffer | undefined> {
    const archive = this.#archive(id)
    if (!existsSync(archive)) return undefined
    let found: Buffer | undefined
    await eachFile(archive, (file) => {
      if (file.path !== path || file.size > maxBytes) return file.skip()
      file.read((content) => {
        found = content
      })
    })
    return found
  }

  #log(id: string): string {
    return join(this.#folder, id, 'log')
  }

  #archive(id: string): string {
    return join(this.#folder, id, 'files.tar')
  }
}

/** Each entry has a header, and is filled up to whole blocks; long names have entries of their own. */
function tarBytesOf(files: number, bytes: number): number {
  return bytes + files * 8192 + 1024 * 1024
}

class SizeLimit extends Transform {
  #left: number

  constructor(maxBytes: number) {
    super()
    this.#left = maxBytes
  }

  override _transform(
    piece: Buffer,
    _encoding: BufferEncoding,
    done: (error: Error | null, piece?: Buffer) => void,
  ): void {
    this.#left -= piece.length
    if (this.#left < 0)
      done(
        new PortError(
          413,
          'The archived files are larger than a build may have (builds.local.archive-size). Archive less, or raise the setting.',
        ),
      )
    else done(null, piece)
  }
}

async function listFiles(archive: string, maxFiles: number): Promise<ArchivedFile[]> {
  const files: ArchivedFile[] = []
  await eachFile(archive, ({ path, size, skip }) => {
    if (files.length >= maxFiles)
      throw new PortError(
        413,
        `More than ${maxFiles} files are archived (builds.local.archive-files). Archive fewer, or raise the setting.`,
      )
    files.push({ path, bytes: size })
    skip()
  })
  return files.sort((one, other) => (one.path < other.path ? -1 : 1))
}

interface TarFile {
  /** Path below the folder of the runner. */
  readonly path: string
  readonly size: number
  readonly skip: () => void
  readonly read: (done: (content: Buffer) => void) => void
}

async function eachFile(archive: string, visit: (file: TarFile) => void): Promise<void> {
  const { Parser } = await import('tar')
  let fault: unknown
  const parser = new Parser({
    onReadEntry(entry) {
      const skip = () => entry.resume()
      if (entry.type !== 'File' && entry.type !== 'OldFile') return skip()
      const read: TarFile['read'] = (done) => {
        const pieces: Buffer[] = []
        entry.on('data', (piece: Buffer) => pieces.push(piece))
        entry.on('end', () => done(Buffer.concat(pieces)))
      }
      try {
        visit({ path: entry.path.replace(/^(?:\.\/)+/, ''), size: entry.size ?? 0, skip, read })
      } catch (error) {
        fault ??= error
        skip()
      }
    },
  })
  parser.on('error', (error: unknown) => {
    fault ??= error
  })
  for await (const piece of createReadStream(archive)) {
    if (fault !== undefined) throw fault
    parser.write(piece as Buffer)
  }
  parser.end()
  if (fault !== undefined) throw fault
}
