/** Objects by their owner. */
import type { KeptObject } from './kept-object.ts'

export class OwnedObjects<T extends KeptObject> {
  readonly #byOwner = new Map<string, Map<string, T>>()
  /** By name; made when they are asked for. */
  readonly #sorted = new Map<string, readonly T[]>()

  put(object: T): void {
    const owner = ownerOf(object)
    this.#byOwner.getOrInsertComputed(owner, () => new Map()).set(object.name, object)
    this.#sorted.delete(owner)
  }

  remove(object: T): void {
    const owner = ownerOf(object)
    const owned = this.#byOwner.get(owner)
    owned?.delete(object.name)
    if (owned?.size === 0) this.#byOwner.delete(owner)
    this.#sorted.delete(owner)
  }

  /** Sorted by name; the same list until one of them changes. @param uid Undefined: those without owner */
  of(uid: string | undefined): readonly T[] {
    const owned = this.#byOwner.get(uid ?? '')
    if (owned === undefined) return none
    return this.#sorted.getOrInsertComputed(uid ?? '', () => [...owned.values()].sort(byName))
  }
}

const none: readonly never[] = []

function ownerOf({ owner }: KeptObject): string {
  return owner?.uid ?? ''
}

export function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0
}
