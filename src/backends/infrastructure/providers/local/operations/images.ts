/** upsertImageTags and deleteImage. */
import { z } from 'zod'
import { type JsonObject, textsOf } from '../../../../../json/values.ts'
import type { StoredImage } from '../../../../images/image-store.ts'
import { accountOf, type OperationTypes } from '../../../operation-type.ts'
import { findImage, ownersOf, removeImage } from '../local-images.ts'
import { commitChange, defineOperation, type OperationParts, optionalTextPart, textMap, textsField } from './parts.ts'

const Names = z.looseObject({
  imageNames: textsField,
  amiName: optionalTextPart,
  imageName: optionalTextPart,
  imageId: optionalTextPart,
})

export function localImageOperations(parts: OperationParts): OperationTypes {
  const { images, desired, settings } = parts

  /** The image as the account in the description has it. */
  const find = (name: string, description: JsonObject): StoredImage | undefined => {
    const account = accountOf(description)
    return account === undefined ? undefined : findImage(images, name, account)
  }
  const ownersOfEach = (names: readonly string[], description: JsonObject): string[] =>
    names.flatMap((name) => {
      const image = find(name, description)
      return image === undefined ? [] : ownersOf(image, settings)
    })

  const upsertImageTags = defineOperation({
    fields: Names.extend({ tags: textMap }),
    accounts: (description) => ownersOfEach(namesOf(Names.safeParse(description).data ?? {}), description),
    check: (fields, description) => {
      const names = namesOf(fields)
      if (names.length === 0) return ['imageNames: it is missing or empty.']
      return names
        .filter((name) => find(name, description) === undefined)
        .map((name) => `imageNames: the image "${name}" does not exist.`)
    },
    run: (fields, run, description) => {
      commitChange(parts, run, () => {
        for (const name of namesOf(fields)) {
          const image = find(name, description)
          if (image !== undefined) images.setTags(image, fields.tags ?? {})
          run.note(image === undefined ? `The image ${name} does not exist any more.` : `Tagged ${image.id}.`)
        }
      })
    },
  })

  const deleteImage = defineOperation({
    fields: z.looseObject({ imageId: optionalTextPart }),
    accounts: (description) => ownersOfEach(textsOf([description['imageId']]), description),
    check: ({ imageId }) => (imageId === undefined ? ['imageId: it is missing.'] : []),
    run: ({ imageId = '' }, run, description) => {
      const image = find(imageId, description)
      if (image === undefined) return run.note(`The image ${imageId} does not exist: nothing is to be done.`)
      removeImage(image, images, desired)
      run.note(`Deleted the image ${image.id}.`)
    },
  })

  return { upsertImageTags, deleteImage }
}

function namesOf({ imageNames, imageName, amiName, imageId }: Partial<z.output<typeof Names>>): string[] {
  return imageNames ?? [imageName ?? amiName ?? imageId].filter((name) => name !== undefined)
}
