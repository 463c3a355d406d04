/** Watch of one kind in an account: found by discovery, opened for each namespace, until it is closed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import type { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { ApiResource, ClusterApi } from '../api/cluster-api.ts'
import type { ObjectWatch } from '../api/object-watch.ts'
import { type Kind, kindOfManifest, parseKind, printKind } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'
import type { ListUpdates, ReadsUnderWay } from '../parts.ts'
import type { Absence } from './presence.ts'

interface KindWatchesOptions extends Omit<KindWatchOptions, 'kind' | 'open'> {
  readonly kinds: () => readonly Kind[]
  readonly open: (
    kind: Kind,
    ...place: Parameters<KindWatchOptions['open']>
  ) => ReturnType<KindWatchOptions['open']>
  /** What was watched is not known any longer. */
  readonly dropped: (kind: Kind) => void
  readonly underWay: ReadsUnderWay
  /** Resolves with the promise, or once the API server is found to be away. */
  readonly soon: (loaded: Promise<void>) => Promise<void>
}

const unusedMs = 3_600_000

export class KindWatches implements ListUpdates {
  readonly #options: KindWatchesOptions
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

  need(isWanted: (kind: Kind) => boolean): void {
    const { kinds, now, underWay, soon } = this.#options
    const nowMs = now()
    for (const kind of kinds()) {
      if (!isWanted(kind)) continue
      const watch = this.#watch(kind)
      watch.usedMs = nowMs
      // An account that does not answer holds up the first read only.
      if (watch.isLoading && this.absence === undefined)
        underWay.miss(watch.loaded, () => soon(watch.loaded))
    }
  }

  #watch(kind: Kind): KindWatch {
    const known = this.#open.get(kind.name)
    if (known !== undefined && !known.isOutdated) return known
    known?.close()
    const { open, ...options } = this.#options
    const watch = new KindWatch({
      ...options,
      kind,
      open: (resource, namespace) => open(kind, resource, namespace),
    })
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
      if (absence !== undefined && (first === undefined || absence.sinceMs < first.sinceMs))
        first = absence
    }
    return first
  }

  closeUnused(): void {
    const nowMs = this.#options.now()
    for (const [name, watch] of this.#open)
      if (nowMs - watch.usedMs > unusedMs) this.#close(name, watch)
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

/** The part of an `ObjectWatch` that does not depend on its entries. */
type ResourceWatch = Pick<
  ObjectWatch<unknown>,
  'state' | 'sinceMs' | 'problem' | 'loaded' | 'observe' | 'forget' | 'close'
>

interface KindWatchOptions {
  readonly kind: Kind
  readonly api: Pick<ClusterApi, 'find'>
  /** Empty: all. */
  readonly namespaces: readonly string[]
  /** Opens watches when few others are loading. */
  readonly loads: ConcurrencyLimit
  readonly now: () => number
  readonly open: (resource: ApiResource, namespace: string | undefined) => Promise<ResourceWatch>
  /** Called where the API server refuses the first list. */
  readonly refused: (kind: Kind, problem: string | undefined) => void
}

/** Answers do not wait longer for the first list. */
const maxLoadMs = 10_000
/** Kinds that are not served may be later. */
const absentMs = 30_000
const pauses = { firstMs: 2000, longestMs: 60_000 }

class KindWatch {
  usedMs: number
  /** Never rejects. */
  readonly loaded: Promise<void>
  isLoading = true
  readonly #options: KindWatchOptions
  readonly #end = new AbortController()
  #watches: readonly ResourceWatch[] = []
  /** The kind could not be looked up. */
  #failure: Absence | undefined
  #isServed = true
  /** Whether there is a watch for each namespace. */
  #isByNamespace = false
  readonly #openedMs: number

  constructor(options: KindWatchOptions) {
    this.#options = options
    this.#openedMs = options.now()
    this.usedMs = this.#openedMs
    this.loaded = this.#load().finally(() => {
      this.isLoading = false
    })
  }

  /** Since when the API server has not answered. */
  get absence(): Absence | undefined {
    if (this.#failure !== undefined) return this.#failure
    if (this.#isSilent)
      return {
        sinceMs: this.#openedMs,
        reason: `the API server has not answered for ${maxLoadMs / 1000} s`,
      }
    const away = this.#watches.filter(({ state }) => state === 'away')
    if (away.length === 0 || away.length < this.#watches.length) return undefined
    const [first] = away.toSorted((one, other) => this.#sinceMs(one) - this.#sinceMs(other))
    return (
      first && {
        sinceMs: this.#sinceMs(first),
        reason: first.problem ?? 'the API server does not answer',
      }
    )
  }

  /** Answers have waited for the first list in vain. */
  get #isSilent(): boolean {
    return (
      !this.isLoading && this.#isServed && this.#watches.every(({ state }) => state === 'loading')
    )
  }

  #sinceMs({ sinceMs }: ResourceWatch): number {
    return sinceMs ?? this.#openedMs
  }

  get isCurrent(): boolean {
    return this.#watches.some(({ state }) => state === 'current')
  }

  /** It is worth to look the kind up again. */
  get isOutdated(): boolean {
    return !this.#isServed && this.#options.now() - this.#openedMs > absentMs
  }

  close(): void {
    this.#end.abort()
    for (const watch of this.#watches) watch.close()
  }

  watchOf({ metadata: { namespace = '' } }: KubeObject): ResourceWatch | undefined {
    return this.#watches[this.#isByNamespace ? this.#options.namespaces.indexOf(namespace) : 0]
  }

  /** Resolves when answers need not wait any longer; a kind that cannot be looked up is looked up again meanwhile. */
  async #load(): Promise<void> {
    const loading = this.#options.loads.run(async () => {
      if (!(await this.#attempt())) return void this.#retry()
      await Promise.all(this.#watches.map(({ loaded }) => loaded))
      const { kind, refused } = this.#options
      const found = this.#watches.find(({ state }) => state === 'forbidden')
      if (found !== undefined) refused(kind, found.problem)
    })
    await within(maxLoadMs, loading, undefined, { unref: true })
  }

  async #retry(): Promise<void> {
    const { signal } = this.#end
    for (let failures = 0; !signal.aborted; failures++) {
      await sleep(backOffMs(pauses, failures), undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted || (await this.#attempt())) return
    }
  }

  /** @returns whether the kind could be looked up */
  async #attempt(): Promise<boolean> {
    const { kind, api, namespaces, open, now } = this.#options
    try {
      const resource = await api.find(parseKind(kind.name))
      this.#isServed = resource !== undefined
      this.#isByNamespace = resource?.isNamespaced === true && namespaces.length > 0
      const places = this.#isByNamespace ? namespaces : [undefined]
      const { signal } = this.#end
      if (resource !== undefined && !signal.aborted)
        this.#watches = await Promise.all(places.map((place) => open(resource, place)))
      if (signal.aborted) this.close()
    } catch (error) {
      this.#failure ??= { sinceMs: now(), reason: (error as Error).message }
      return false
    }
    this.#failure = undefined
    return true
  }
}
