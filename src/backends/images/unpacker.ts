/**
 * The unpacker: a process of its own that unpacks the archive on its standard input into its working directory, and prints what it
 * found there, or why it refuses the archive.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BackendError } from '../backend.ts'
import { toStorageError } from '../stores/storage-error.ts'
import { measureImage } from './measure-image.ts'
import { unpackArchive } from './unpack.ts'
import type { AddedFile, UnpackOrder, UnpackReport } from './unpack-beside.ts'

const folder = process.cwd()

async function unpack({ bounds, addition }: UnpackOrder): Promise<UnpackReport> {
  await unpackArchive(process.stdin, folder, bounds)
  if (addition !== undefined) addFile(addition)
  return { kind: 'stored', content: await measureImage(folder) }
}

/** Unless the image has one. */
function addFile({ name, text }: AddedFile): void {
  try {
    writeFileSync(join(folder, name), text, { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function toRefusal(error: unknown): UnpackReport {
  const known = toStorageError(error as Error)
  return { kind: 'refused', status: known instanceof BackendError ? known.status : 500, message: known.message }
}

const report = await unpack(JSON.parse(process.argv[2] ?? '') as UnpackOrder).catch(toRefusal)
process.stdout.write(JSON.stringify(report), () => process.exit(0))
