/** Makes an image of a folder that a builder has filled. */

import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { packTree } from '@fairlead/base/storage/directory-trees.ts'
import type { BuiltFolder, ImageDescription } from '@fairlead/ports/machine.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { ImageStore, StoredImage } from '../images/image-store.ts'

/**
 * As an archive that is read in the name of the builder's user: its processes may still change it.
 *
 * @throws {PortError} as `ImageStore.addArchive`; 400 also when there is no such folder any more
 */
export async function adoptFolder(
  images: ImageStore,
  { work, name, what }: BuiltFolder,
  { description, imageFile }: { readonly description: ImageDescription; readonly imageFile?: string | undefined },
): Promise<StoredImage> {
  const found = lstatSync(join(work, name), { throwIfNoEntry: false })
  if (found === undefined)
    throw new PortError(400, `The directory ${name} of the ${what} is gone, by its steps or a crash. Start it again.`)
  if (!found.isDirectory()) throw new PortError(400, `The steps of the ${what} have replaced ${name} by a link or file.`)
  return images.addArchive(packTree(work, name), description, imageFile)
}
