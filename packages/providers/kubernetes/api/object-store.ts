/** The objects of one resource by name, as lists, events and own operations report them. */
import type { KubeObject } from '../objects.ts'

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

export class ObjectStore<Entry> {
  readonly #toEntry: (object: KubeObject) => Entry | undefined
  readonly #onGone: (entry: Entry) => void
  readonly #slots = new Map<string, Slot<Entry>>()
  readonly #gone = new Set<string>()
  #round = 0

  /** @param onGone Called for each entry that is there no more */
  constructor(toEntry: (object: KubeObject) => Entry | undefined, onGone: (entry: Entry) => void = () => {}) {
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

  /** Another object of that name stays. */
  delete(object: KubeObject): boolean {
    const { namespace = '', name, uid } = object.metadata
    const key = `${namespace}/${name}`
    const known = this.#slots.get(key)
    if (known === undefined || (uid !== undefined && known.uid !== undefined && known.uid !== uid)) return false
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

  /** What is set from now on belongs to a new list. */
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
