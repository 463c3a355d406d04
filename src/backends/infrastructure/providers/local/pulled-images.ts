/** Images of containers that Fairlead has pulled: removed once no server group, instance or job uses them. */
import type { BackendContext } from '../../../backend.ts'
import type { Containers } from './containers.ts'
import { type Desired, type LocalPull, placeKey } from './desired.ts'

interface PulledImagesOptions {
  readonly desired: Desired
  readonly containers: Pick<Containers, 'removeImage'>
  readonly log: BackendContext['log']
}

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
    const unused = this.#findUnused()
    if (unused.length === 0 || this.#running !== undefined) return
    this.#running = this.#removeAll(unused)
      .then((gone) => {
        this.#running = undefined
        if (gone.length > 0) change(() => gone.forEach((pull) => void desired.remove('pulls', pull)))
      })
      .catch((err: unknown) => log.warn({ err }, 'images of containers cannot be removed'))
  }

  #findUnused(): LocalPull[] {
    const { desired } = this.#options
    const pulls = [...desired.all('pulls')]
    if (pulls.length === 0) return []
    const jobs = [...desired.all('jobs')].filter(({ end }) => end === undefined)
    const users = [...desired.all('groups'), ...desired.all('instances'), ...jobs]
    const used = new Set(users.map(({ account, program }) => `${account} ${program.container?.reference}`))
    const isUsed = ({ account, name }: LocalPull) => used.has(`${account} ${name}`)
    for (const pull of pulls.filter(isUsed)) this.#tried.delete(placeKey(pull))
    return pulls.filter((pull) => !isUsed(pull) && !this.#tried.has(placeKey(pull)))
  }

  async #removeAll(pulls: readonly LocalPull[]): Promise<LocalPull[]> {
    const { containers } = this.#options
    const gone: LocalPull[] = []
    for (const pull of pulls) {
      this.#tried.add(placeKey(pull))
      if (await containers.removeImage(pull.account, pull.imageId)) gone.push(pull)
    }
    return gone
  }
}
