/** upsertImageTags and deleteImage. */
import { z } from 'zod'
import type { OperationTypes } from '../../operation-type.ts'
import { imageNameOf, removeImage } from '../local-images.ts'
import { commitChange, defineOperation, type OperationParts, optionalText, textMap, texts } from './parts.ts'

export function imageOperations(parts: OperationParts): OperationTypes {
  const { images, desired } = parts

  const idOf = (name: string): string | undefined =>
    images.get(name)?.id ?? images.all().find((image) => imageNameOf(image) === name)?.id

  const upsertImageTags = defineOperation({
    fields: z.looseObject({
      imageNames: texts,
      amiName: optionalText,
      imageName: optionalText,
      imageId: optionalText,
      tags: textMap,
    }),
    resources: () => [],
    check: (fields) => {
      const names = namesOf(fields)
      if (names.length === 0) return ['imageNames: it is missing or empty.']
      return names.filter((name) => idOf(name) === undefined).map((name) => `imageNames: the image "${name}" does not exist.`)
    },
    run: (fields, run) => {
      commitChange(parts, run, () => {
        for (const name of namesOf(fields)) {
          const image = images.setTags(idOf(name) ?? '', fields.tags ?? {})
          run.note(image === undefined ? `The image ${name} does not exist any more.` : `Tagged ${image.id}.`)
        }
      })
    },
  })

  const deleteImage = defineOperation({
    fields: z.looseObject({ imageId: optionalText }),
    resources: () => [],
    check: ({ imageId }) => (imageId === undefined ? ['imageId: it is missing.'] : []),
    run: ({ imageId = '' }, run) => {
      const id = idOf(imageId)
      if (id === undefined) return run.note(`The image ${imageId} does not exist: nothing is to be done.`)
      removeImage(id, images, desired)
      run.note(`Deleted the image ${id}.`)
    },
  })

  return { upsertImageTags, deleteImage }
}

function namesOf(fields: {
  imageNames?: string[] | undefined
  amiName?: string | undefined
  imageName?: string | undefined
  imageId?: string | undefined
}): string[] {
  return fields.imageNames ?? [fields.imageName ?? fields.amiName ?? fields.imageId].filter((name) => name !== undefined)
}
