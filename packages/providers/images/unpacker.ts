/**
 * The unpacker: a process of its own that unpacks the archive on its standard input into its working directory, and prints what it
 * found there, or why it refuses the archive.
 */
import { PortError } from '@fairlead/base/port-error.ts'
import { toStorageError } from '@fairlead/ports/storage-error.ts'
import { measureImage } from './measure-image.ts'
import { unpackArchive } from './unpack.ts'
import type { UnpackOrder, UnpackReport } from './unpack-beside.ts'

const folder = process.cwd()

async function unpack({ bounds, imageFile }: UnpackOrder): Promise<UnpackReport> {
  await unpackArchive(process.stdin, folder, bounds)
  if (imageFile !== undefined) {
    // Uploads, which are most, need none of its schemas.
    const { completeImageFile } = await import('@fairlead/ports/image-file.ts')
    completeImageFile(folder, imageFile)
  }
  return { kind: 'stored', content: await measureImage(folder) }
}

function toRefusal(error: unknown): UnpackReport {
  const known = toStorageError(error as Error)
  return {
    kind: 'refused',
    status: known instanceof PortError ? known.status : 500,
    message: known.message,
  }
}

const report = await unpack(JSON.parse(process.argv[2] ?? '') as UnpackOrder).catch(toRefusal)
process.stdout.write(JSON.stringify(report), () => process.exit(0))
