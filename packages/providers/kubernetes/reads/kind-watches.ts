/** Watches of an account: opened for the first read that needs them, closed when no read has needed them for an hour. */
import type { Kind } from '../kinds.ts'
import { kindOfManifest, printKind } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'
import type { ListUpdates } from '../parts.ts'
import { type Absence, KindWatch, type KindWatchOptions, type ResourceWatch } from './kind-watch.ts'
import type { ReadsUnderWay } from './reads-under-way.ts'

interface KindWatchesOptions extends Omit<KindWatchOptions, 'kind' | 'open'> {
  readonly kinds: () => readonly Kind[]
  readonly open: (kind: Kind, ...place: Parameters<KindWatchOptions['open']>) => ReturnType<KindWatchOptions['open']>
  /** What was watched is not known any longer. */
  readonly dropped: (kind: Kind) => void
  readonly underWay: ReadsUnderWay
}

const unusedMs = 3_600_000

export class KindWatches implements ListUpdates {
  readonly #options: KindWatchesOptions
  /** By name of the kind. */
  readonly #open = new Map<string, KindWatch>()

  constructor(options: KindWatchesOptions) {
    this.#options = options
  }

  get isInUse(): boolean {
    return this.#open.size > 0
  }

  isOpen({ name }: Kind): boolean {
    return this.#open.has(name)
  }

  /** A read needs these kinds: they are watched from now on. */
  need(isWanted: (kind: Kind) => boolean): void {
    const { kinds, now, underWay } = this.#options
    const nowMs = now()
    for (const kind of kinds()) {
      if (!isWanted(kind)) continue
      const watch = this.#watch(kind)
      watch.usedMs = nowMs
      // An account that does not answer holds up the first read only.
      if (watch.isLoading && this.absence === undefined) underWay.miss(watch.loaded)
    }
  }

  #watch(kind: Kind): KindWatch {
    const known = this.#open.get(kind.name)
    if (known !== undefined && !known.isOutdated) return known
    known?.close()
    const { open, ...options } = this.#options
    const watch = new KindWatch({ ...options, kind, open: (resource, namespace) => open(kind, resource, namespace) })
    this.#open.set(kind.name, watch)
    return watch
  }

  observe(object: KubeObject): void {
    this.#watchOf(object)?.observe(object)
  }

  forget(object: KubeObject): void {
    this.#watchOf(object)?.forget(object)
  }

  #watchOf(object: KubeObject): ResourceWatch | undefined {
    return this.#open.get(printKind(kindOfManifest(object)))?.watchOf(object)
  }

  /** Since when nothing has been answered; undefined while anything is, or nothing is asked. */
  get absence(): Absence | undefined {
    let first: Absence | undefined
    for (const watch of this.#open.values()) {
      if (watch.isCurrent) return undefined
      const { absence } = watch
      if (absence !== undefined && (first === undefined || absence.sinceMs < first.sinceMs)) first = absence
    }
    return first
  }

  closeUnused(): void {
    const nowMs = this.#options.now()
    for (const [name, watch] of this.#open) if (nowMs - watch.usedMs > unusedMs) this.#close(name, watch)
  }

  close(): void {
    for (const [name, watch] of this.#open) this.#close(name, watch)
  }

  #close(name: string, watch: KindWatch): void {
    watch.close()
    this.#open.delete(name)
    const kind = this.#options.kinds().find((each) => each.name === name)
    if (kind !== undefined) this.#options.dropped(kind)
  }
}
