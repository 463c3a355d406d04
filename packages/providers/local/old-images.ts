/** Images that are old and many: those that run, wait or are named in a definition stay. */
import type { RetainedKind } from '@fairlead/ports/retained-kind.ts'
import { removeImage, usersOf } from './local-images.ts'
import type { OperationParts } from './operations/parts.ts'

const dayMs = 24 * 60 * 60_000

export function oldImages({ images, desired, context }: Pick<OperationParts, 'images' | 'desired' | 'context'>): RetainedKind {
  return {
    kind: 'images',
    async sweep({ turn, isMentioned }, rule) {
      const { days } = rule ?? {}
      if (rule === undefined || days === undefined) return 0
      const before = context.now() - days * dayMs
      const byName = Map.groupBy(images.all(), ({ name }) => name).values()
      const old = byName.flatMap((newest) => newest.slice(rule.kept).filter(({ createdMs }) => createdMs < before))
      let count = 0
      for (const image of old) {
        if (usersOf(image, desired).length > 0 || isMentioned(image.id) || isMentioned(image.digest)) continue
        removeImage(image, images, desired)
        count += 1
        await turn()
      }
      return count
    },
  }
}
