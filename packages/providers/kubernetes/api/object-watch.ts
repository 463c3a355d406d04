/** The objects of one resource, kept current in memory by a list and a watch. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import type { KubeObject } from '../objects.ts'
import type { ApiError } from './api-error.ts'
import { retryAfterMs, toFault } from './faults.ts'
import type { ObjectPage } from './lists.ts'
import { Contact } from './recovery.ts'
import {
  type ObjectWatchOptions,
  usualTimings,
  type WatchState,
  type WatchTimings,
} from './watch-options.ts'
import type { WatchListener } from './watch-stream.ts'

interface Slot<Entry> {
  entry: Entry
  uid: string | undefined
  /** NaN where versions are no numbers: what comes later is newer then. */
  version: number
  /** The list that it was seen in, or after. */
  round: number
}

/** Objects of which this process knows that they are gone; their ids never come back. */
const maxGone = 2000

class ObjectStore<Entry> {
  readonly #toEntry: (object: KubeObject) => Entry | undefined
  readonly #onGone: (entry: Entry) => void
  readonly #slots = new Map<string, Slot<Entry>>()
  readonly #gone = new Set<string>()
  #round = 0

  /** @param onGone Called for each entry that is there no more */
  constructor(
    toEntry: (object: KubeObject) => Entry | undefined,
    onGone: (entry: Entry) => void = () => {},
  ) {
    this.#toEntry = toEntry
    this.#onGone = onGone
  }

  get size(): number {
    return this.#slots.size
  }

  *entries(): IterableIterator<Entry> {
    for (const { entry } of this.#slots.values()) yield entry
  }

  get(namespace: string, name: string): Entry | undefined {
    return this.#slots.get(`${namespace}/${name}`)?.entry
  }

  /** A newer version that is known already stays. @returns whether something has changed */
  set(object: KubeObject): boolean {
    const { namespace = '', name, uid, resourceVersion } = object.metadata
    if (uid !== undefined && this.#gone.has(uid)) return false
    const key = `${namespace}/${name}`
    const version = Number(resourceVersion)
    const known = this.#slots.get(key)
    if (known !== undefined) {
      known.round = this.#round
      if (known.version > version) return false
    }
    const entry = this.#toEntry(object)
    if (entry === undefined) return this.#remove(key)
    if (known === undefined) this.#slots.set(key, { entry, uid, version, round: this.#round })
    else Object.assign(known, { entry, uid, version })
    return true
  }

  delete(object: KubeObject): boolean {
    const { namespace = '', name, uid } = object.metadata
    const key = `${namespace}/${name}`
    const known = this.#slots.get(key)
    if (known === undefined || (uid !== undefined && known.uid !== undefined && known.uid !== uid))
      return false
    return this.#remove(key)
  }

  /** No list or event that is older brings the object back. */
  forget(object: KubeObject): boolean {
    const { uid } = object.metadata
    if (uid !== undefined) {
      this.#gone.add(uid)
      if (this.#gone.size > maxGone) this.#gone.delete(this.#gone.values().next().value ?? '')
    }
    return this.delete(object)
  }

  beginList(): void {
    this.#round++
  }

  /** Removes what the list does not have, except what is newer than it. */
  endList(resourceVersion: string | undefined): void {
    const version = Number(resourceVersion)
    for (const [key, slot] of this.#slots) {
      if (slot.round !== this.#round && !(slot.version > version)) this.#remove(key)
    }
  }

  clear(): void {
    for (const key of this.#slots.keys()) this.#remove(key)
  }

  #remove(key: string): boolean {
    const slot = this.#slots.get(key)
    if (slot === undefined) return false
    this.#slots.delete(key)
    this.#onGone(slot.entry)
    return true
  }
}

/** A watch that ends sooner was not meant to begin. */
const shortestMs = 1000

export function openObjectWatch<Entry>(options: ObjectWatchOptions<Entry>): ObjectWatch<Entry> {
  const watch = new ObjectWatch(options)
  watch.start()
  return watch
}

export class ObjectWatch<Entry> {
  readonly #options: ObjectWatchOptions<Entry>
  readonly #timings: WatchTimings
  readonly #store: ObjectStore<Entry>
  readonly #closing = new AbortController()
  readonly #loaded = Promise.withResolvers<void>()
  #state: WatchState = 'loading'
  #problem: string | undefined
  #currentAtMs: number | undefined
  /** Where the next watch begins; undefined: after a list. */
  #version: string | undefined
  #failures = 0
  #refusals = 0
  /** Since the connection was lost, until it watches again. */
  #isRecovering = false
  #openedAtMs: number | undefined

  constructor(options: ObjectWatchOptions<Entry>) {
    this.#options = options
    this.#timings = { ...usualTimings, ...options.timings }
    this.#store = new ObjectStore((object) => this.#toEntry(object), options.onGone)
  }

  start(): void {
    void this.#run()
  }

  get state(): WatchState {
    return this.#state
  }

  /** Why it is not current. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** When it was current last, in milliseconds since the epoch; undefined: never. */
  get sinceMs(): number | undefined {
    return this.#state === 'current' ? this.#options.source.now() : this.#currentAtMs
  }

  /** Resolves once the first list is there or has failed. */
  get loaded(): Promise<void> {
    return this.#loaded.promise
  }

  get size(): number {
    return this.#store.size
  }

  entries(): IterableIterator<Entry> {
    return this.#store.entries()
  }

  /** @param namespace Empty for cluster-wide objects */
  get(namespace: string, name: string): Entry | undefined {
    return this.#store.get(namespace, name)
  }

  observe(object: KubeObject): void {
    if (this.#store.set(object)) this.#options.onChange?.()
  }

  forget(object: KubeObject): void {
    if (this.#store.forget(object)) this.#options.onChange?.()
  }

  close(): void {
    this.#closing.abort()
    this.#loaded.resolve()
  }

  get #signal(): AbortSignal {
    return this.#closing.signal
  }

  async #run(): Promise<void> {
    const { recovery } = this.#options.source
    recovery.watches++
    while (!this.#signal.aborted) {
      const isScout = await recovery.enter(this.#signal)
      const contact = new Contact(recovery, isScout)
      const pauseMs = this.#signal.aborted ? 0 : await this.#stay(contact)
      contact.failed()
      if (pauseMs > 0)
        await sleep(pauseMs, undefined, { signal: this.#signal, ref: false }).catch(() => {})
    }
    recovery.watches--
  }

  /** Lists if necessary, and watches until that ends. @returns the pause until the next attempt */
  async #stay(contact: Contact): Promise<number> {
    this.#openedAtMs = undefined
    try {
      if (this.#isRecovering && this.#options.source.recovery.isExpired) this.#version = undefined
      if (this.#version === undefined) {
        await this.#list()
        contact.reached(false)
      }
      await this.#follow(contact)
      return this.#openMs() < shortestMs ? this.#nextPauseMs() : 0
    } catch (error) {
      return this.#signal.aborted ? 0 : this.#classify(toFault(error, 0), contact)
    }
  }

  async #list(): Promise<void> {
    const { source, resource, namespace, metadataOnly } = this.#options
    await this.#takeTurn()
    let version: string | undefined
    const query = {
      namespace,
      signal: this.#signal,
      ...(metadataOnly !== undefined && { metadataOnly }),
    }
    const take = ({ objects, isFirst, resourceVersion }: ObjectPage) => {
      if (isFirst) this.#store.beginList()
      for (const object of objects) this.#store.set(object)
      version = resourceVersion ?? version
    }
    await source.recovery.lists.run(() => source.pages(resource, query, take))
    this.#store.endList(version)
    this.#version = version ?? '0'
    this.#refusals = 0
    this.#become('current')
    this.#options.onChange?.()
  }

  async #follow(contact: Contact): Promise<void> {
    const { source, resource, namespace, metadataOnly, onChange } = this.#options
    const { openSeconds, expiryMs } = this.#timings
    await this.#takeTurn()
    const query = {
      resource,
      namespace,
      resourceVersion: this.#version ?? '0',
      timeoutSeconds: Math.ceil(openSeconds * (1 + Math.random())),
      ...(metadataOnly !== undefined && { metadataOnly }),
    }
    const listener: WatchListener = {
      opened: () => {
        this.#openedAtMs = performance.now()
        this.#isRecovering = false
        this.#refusals = 0
        contact.reachedSoon(expiryMs)
        this.#become('current')
      },
      changed: (type, object) => {
        if (type === 'set' ? this.#store.set(object) : this.#store.delete(object)) onChange?.()
      },
      reached: (version) => {
        this.#version = version
      },
    }
    await source.watch(query, listener, this.#signal)
  }

  /** One strange object must not end the watch of all others. */
  #toEntry(object: KubeObject): Entry | undefined {
    try {
      return this.#options.toEntry(object)
    } catch (err) {
      const { kind, metadata } = object
      const { namespace = '', name } = metadata
      this.#options.source.logger?.warn(
        { err, kind, namespace, name },
        'a Kubernetes object is left out, because it cannot be read',
      )
      return undefined
    }
  }

  async #takeTurn(): Promise<void> {
    if (this.#isRecovering) await this.#options.source.recovery.turn(this.#signal)
    this.#signal.throwIfAborted()
  }

  /** @returns the pause until the next attempt */
  #classify(fault: ApiError, contact: Contact): number {
    const { status } = fault
    if (status === 403 || status === 404) return this.#refused(fault, contact)
    // After an event ERROR, too: the same version would lead to the same event.
    if (
      this.#openedAtMs !== undefined ? status > 0 : status > 401 && status < 500 && status !== 429
    )
      this.#version = undefined
    if (status === 410) {
      contact.reached(true)
      return this.#nextPauseMs()
    }
    this.#become('away', fault.message)
    if (status === 0 || status === 401) {
      this.#isRecovering = true
      // The others wait for the one that goes ahead, whose attempts have pauses of their own.
      return contact.lost() ? 0 : this.#nextPauseMs()
    }
    if (status === 429 || status === 503) contact.failed()
    else contact.reached(false)
    return Math.max(this.#nextPauseMs(), retryAfterMs(fault) ?? 0)
  }

  /** An API server that starts refuses what it allows later: entries stay until it refuses again. */
  #refused(fault: ApiError, contact: Contact): number {
    contact.reached(false)
    if (this.#refusals > 0) this.#store.clear()
    this.#version = undefined
    const { refusedMs } = this.#timings
    const pauseMs = refusedMs[Math.min(this.#refusals++, refusedMs.length - 1)] ?? 0
    this.#become(
      'forbidden',
      fault.status === 404
        ? `the API server does not serve ${this.#options.resource.plural}`
        : fault.message,
    )
    return pauseMs * (1 + Math.random() / 10)
  }

  #nextPauseMs(): number {
    if (this.#openMs() >= this.#timings.healthyMs) this.#failures = 0
    return backOffMs(this.#timings.backOff, this.#failures++) * (0.5 + Math.random() / 2)
  }

  #openMs(): number {
    return this.#openedAtMs === undefined ? 0 : performance.now() - this.#openedAtMs
  }

  #become(state: WatchState, problem?: string): void {
    this.#loaded.resolve()
    if (state === this.#state && problem === this.#problem) return
    const { source, resource } = this.#options
    if (this.#state === 'current') this.#currentAtMs = source.now()
    if (state !== this.#state && problem !== undefined) {
      source.logger?.warn(
        { resource: resource.plural, problem },
        'a watch of Kubernetes objects is interrupted; Fairlead tries again',
      )
    }
    this.#state = state
    this.#problem = problem
    this.#options.onChange?.()
  }
}
