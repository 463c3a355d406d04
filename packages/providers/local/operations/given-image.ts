/** The image that a server group or job is to have: of this machine, or of a registry. */
import { basename } from 'node:path'
import { definedOf } from '@fairlead/base/json/values.ts'
import { ImageFile } from '@fairlead/ports/image-file.ts'
import type { ImageStore, StoredImage } from '../../images/image-store.ts'
import { type ContainerPlan, isContainerImage } from '../containers.ts'
import {
  loadDatabaseImage,
  parseDatabaseImage,
  problemOfDatabase,
} from '../databases/database-images.ts'
import type { LocalGroup } from '../desired.ts'
import { findImage } from '../local-images.ts'
import type { ProgramImage } from '../program.ts'
import type { OperationParts, RunningOperation, TargetPlace } from './parts.ts'

export interface GivenImage extends Pick<StoredImage, 'id' | 'name' | 'version' | 'digest'> {
  readonly program: ProgramImage
  readonly stored: StoredImage | undefined
  /** Id of what was pulled for it. */
  readonly pulledId?: string
}

interface ImageUse {
  readonly place: TargetPlace
  /** For containers whose image does not set it. */
  readonly usually?: Pick<ContainerPlan, 'network'>
  /** Wins over what the image says. */
  readonly given?: Pick<ContainerPlan, 'network' | 'port'> | undefined
  readonly cloned?: LocalGroup
  /** Has the image, if the account of the place does not. */
  readonly imageAccount?: string
}

/**
 * As the account of the server group or job has it, also for a clone from another account. A tag is resolved here, once.
 *
 * @throws {Error} that says what to do
 */
export async function loadImage(
  id: string,
  { place, usually, given, cloned, imageAccount }: ImageUse,
  running: RunningOperation,
): Promise<GivenImage> {
  const database = parseDatabaseImage(id)
  const stored =
    database === undefined
      ? findImageAt(id, place, running.images, imageAccount)
      : await running.run.releaseWhile(() =>
          loadDatabaseImage(database, place.account.name, running),
        )
  if (stored !== undefined && stored.program.container === undefined) return { ...stored, stored }
  if (stored === undefined && !isContainerImage(id))
    throw new Error(describeMissingImage(id, place, running.images))
  const program = stored?.program ?? ImageFile.parse({ container: { image: id } })
  const file = { image: id, ...usually, ...program.container, ...definedOf({ ...given }) }
  const { containers, run } = running
  const kept =
    cloned?.image.id === id && cloned.account === place.account.name
      ? cloned.program.container
      : undefined
  const { container, digest, pulledId } = await run.releaseWhile(() =>
    containers.resolve(
      place.account.name,
      { ...file, ...definedOf({ image: kept?.reference }) },
      { signal: run.signal, folder: stored && running.images.folderOf(stored) },
    ),
  )
  run.note(`The image ${file.image} is ${container.reference}.`)
  const name = basename(id).split(/[:@]/)[0] ?? id
  return {
    ...(stored ?? { id, name, version: digest, digest }),
    stored,
    program: { ...program, resolved: { ...container, image: file.image } },
    pulledId,
  }
}

export function problemOfImage(
  id: string,
  place: TargetPlace,
  { containers, images }: OperationParts,
  imageAccount?: string,
): string | undefined {
  const database = parseDatabaseImage(id)
  if (database !== undefined)
    return database.container === undefined
      ? problemOfDatabase(database)
      : containers.problemOf(place.account.name)
  const image = findImageAt(id, place, images, imageAccount)
  if (image === undefined && !isContainerImage(id)) return describeMissingImage(id, place, images)
  const isContainer = image === undefined || image.program.container !== undefined
  const problem = isContainer ? containers.problemOf(place.account.name) : undefined
  return problem && `imageId: "${id}" is the image of a container. ${problem}`
}

/** Image of the account, else of the one that is named. @throws {Error} when their contents differ */
function findImageAt(
  id: string,
  { account, region }: TargetPlace,
  images: ImageStore,
  imageAccount = account.name,
): StoredImage | undefined {
  const own = findImage(images, id, account.name)
  const given = findImage(images, id, imageAccount)
  if (own !== undefined && given !== undefined && own.digest !== given.digest) {
    throw new Error(
      `imageId: "${id}" of ${account.name} has another content than that of ${imageAccount}: give the new one another version.`,
    )
  }
  const image = own ?? given
  return image?.regions?.includes(region.name) === false ? undefined : image
}

function describeMissingImage(
  id: string,
  { account, region }: TargetPlace,
  images: ImageStore,
): string {
  const hint =
    images.named(id).length > 0
      ? 'Another account has it: promote it from there, or name that account in "imageAccount".'
      : 'An image of a registry is named in full, such as docker.io/library/nginx:1.27.'
  return `imageId: the image "${id}" does not exist for the account ${account.name} in ${region.name}. ${hint}`
}

/** The account has the image from now on; what was pulled is removed after its last use. */
export function noteImage(
  { stored, pulledId: imageId, program }: GivenImage,
  account: string,
  { desired, images }: OperationParts,
): void {
  if (stored !== undefined) images.share(stored, account)
  if (imageId !== undefined)
    desired.put('pulls', { account, region: '', name: program.resolved?.reference ?? '', imageId })
}
