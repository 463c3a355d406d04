/** Size and digest of an unpacked image. */
import { createHash } from 'node:crypto'
import { createReadStream, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { listUnpacked } from './unpack.ts'

export interface ImageContent {
  /** `sha256:` and the hash of the tree. */
  readonly digest: string
  readonly size: number
  readonly files: number
}

/** The same tree has the same digest, however it was packed: paths, kinds, the right to execute, content and links count. */
export async function measureImage(folder: string): Promise<ImageContent> {
  const hash = createHash('sha256')
  const entries = listUnpacked(folder)
  entries.sort((one, other) => (one.path < other.path ? -1 : 1))
  let size = 0
  for (const { entry, path } of entries) {
    const place = join(folder, path)
    if (entry.isSymbolicLink()) hash.update(`link ${JSON.stringify([path, readlinkSync(place)])}\n`)
    else if (entry.isDirectory()) hash.update(`directory ${JSON.stringify(path)}\n`)
    else {
      const { mode, size: bytes } = statSync(place)
      size += bytes
      hash.update(`file ${JSON.stringify([path, (mode & 0o100) !== 0, await hashFile(place)])}\n`)
    }
  }
  return { digest: `sha256:${hash.digest('hex')}`, size, files: entries.length }
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}
