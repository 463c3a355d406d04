/** upsertImageTags and deleteImage. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { accountOf } from '@fairlead/ports/cloud-values.ts'
import type { StoredImage } from '../../images/image-store.ts'
import { findImage, imageOwnersOf, removeImage } from '../local-images.ts'
import {
  defineOperation,
  type FieldsOf,
  type LocalOperations,
  type LocalSubmission,
  type OperationParts,
  optionalTextPart,
  textMap,
  textsField,
} from './parts.ts'

const names = {
  imageNames: textsField,
  amiName: optionalTextPart,
  imageName: optionalTextPart,
  imageId: optionalTextPart,
}

const upsertImageTags = defineOperation({
  fields: { ...names, tags: textMap },
  accounts: (submission) => ownersOfEach(namesOf(submission.fields), submission),
  check: ({ fields, description, images }) => {
    const given = namesOf(fields)
    return [
      given.length === 0 && 'imageNames: it is missing or empty.',
      given.map(
        (name) =>
          find(name, description, images) === undefined &&
          `imageNames: the image "${name}" does not exist.`,
      ),
    ]
  },
  run: ({ fields, description, images, run, change }) => {
    change(() => {
      for (const name of namesOf(fields)) {
        const image = find(name, description, images)
        if (image !== undefined) images.setTags(image, fields.tags ?? {})
        run.note(
          image === undefined
            ? `The image ${name} does not exist any more.`
            : `Tagged ${image.id}.`,
        )
      }
    })
  },
})

const deleteImage = defineOperation({
  fields: { imageId: optionalTextPart },
  accounts: (submission) => ownersOfEach(namesOf(submission.fields), submission),
  check: ({ fields }) => [fields.imageId === undefined && 'imageId: it is missing.'],
  run: ({ fields: { imageId = '' }, description, images, desired, run }) => {
    const image = find(imageId, description, images)
    if (image === undefined)
      return run.note(`The image ${imageId} does not exist: nothing is to be done.`)
    removeImage(image, images, desired)
    run.note(`Deleted the image ${image.id}.`)
  },
})

function find(
  name: string,
  description: JsonObject,
  images: OperationParts['images'],
): StoredImage | undefined {
  const account = accountOf(description)
  return account === undefined ? undefined : findImage(images, name, account)
}

function ownersOfEach(
  names: readonly string[],
  { description, images, settings }: LocalSubmission,
): string[] {
  return names.flatMap((name) => {
    const image = find(name, description, images)
    return image === undefined ? [] : imageOwnersOf(image, settings)
  })
}

function namesOf({
  imageNames,
  imageName,
  amiName,
  imageId,
}: Partial<FieldsOf<typeof names>>): string[] {
  return imageNames ?? [imageName ?? amiName ?? imageId].filter((name) => name !== undefined)
}

export const localImageOperations: LocalOperations = {
  upsertImageTags,
  deleteImage,
}
