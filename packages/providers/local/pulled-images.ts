/** Images of containers that Fairlead has pulled: removed once no server group, instance or job uses them. */

import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { RetainedKind } from '@fairlead/ports/retained-kind.ts'
import type { Containers } from './containers.ts'
import { type Desired, type LocalPull, placeKey } from './desired.ts'
import { removeImage, usersOf } from './local-images.ts'
import type { OperationParts } from './operations/parts.ts'

const dayMs = 24 * 60 * 60_000

export function oldImages({
  images,
  desired,
  context,
}: Pick<OperationParts, 'images' | 'desired' | 'context'>): RetainedKind {
  return {
    kind: 'images',
    async sweep({ turn, isMentioned }, rule) {
      const { days } = rule ?? {}
      if (rule === undefined || days === undefined) return 0
      const before = context.now() - days * dayMs
      const byName = Map.groupBy(images.all(), ({ name }) => name).values()
      const old = byName.flatMap((newest) =>
        newest.slice(rule.kept).filter(({ createdMs }) => createdMs < before),
      )
      let count = 0
      for (const image of old) {
        if (
          usersOf(image, desired).length > 0 ||
          isMentioned(image.id) ||
          isMentioned(image.digest)
        )
          continue
        removeImage(image, images, desired)
        count += 1
        await turn()
      }
      return count
    },
  }
}

interface PulledImagesOptions {
  readonly desired: Desired
  readonly containers: Pick<Containers, 'removeImage' | 'areHeld'>
  readonly log: BackendContext['log']
}

/** Pause before images are removed after all, once the runtime could not be asked. */
const retryMs = 60_000

export class PulledImages {
  readonly #options: PulledImagesOptions
  /** Each is tried once: what else uses it is not Fairlead's. */
  readonly #tried = new Set<string>()
  #running: Promise<void> | undefined

  constructor(options: PulledImagesOptions) {
    this.#options = options
  }

  /** @param change As of the reconciler */
  prune(change: (work: () => void) => void): void {
    const { desired, log } = this.#options
    const unused = this.#findUnused([...desired.all('pulls')]).filter(
      (pull) => !this.#tried.has(placeKey(pull)),
    )
    if (unused.length === 0 || this.#running !== undefined) return
    this.#running = this.#removeAll(unused)
      .then((gone) => {
        this.#running = undefined
        const stillUnused = new Set(this.#findUnused(gone))
        if (stillUnused.size > 0)
          change(() => stillUnused.forEach((pull) => void desired.remove('pulls', pull)))
      })
      .catch((err: unknown) => {
        log.warn(
          { err },
          'images of containers cannot be removed; another attempt follows in a minute',
        )
        setTimeout(() => {
          this.#running = undefined
        }, retryMs).unref()
      })
  }

  #findUnused(pulls: readonly LocalPull[]): LocalPull[] {
    const { desired } = this.#options
    if (pulls.length === 0) return []
    const jobs = [...desired.all('jobs')].filter(({ end }) => end === undefined)
    const users = [...desired.all('groups'), ...desired.all('instances'), ...jobs]
    const used = new Set(
      users.map(({ account, program }) => `${account} ${program.container?.reference}`),
    )
    const isUsed = ({ account, name }: LocalPull) => used.has(`${account} ${name}`)
    for (const pull of pulls.filter(isUsed)) this.#tried.delete(placeKey(pull))
    return pulls.filter((pull) => !isUsed(pull))
  }

  async #removeAll(pulls: readonly LocalPull[]): Promise<LocalPull[]> {
    const { containers } = this.#options
    const gone: LocalPull[] = []
    for (const pull of pulls) {
      // It may be used again by now.
      if (containers.areHeld || this.#findUnused([pull]).length === 0) continue
      const isGone = await containers.removeImage(pull.account, pull.imageId)
      this.#tried.add(placeKey(pull))
      if (isGone) gone.push(pull)
    }
    return gone
  }
}
