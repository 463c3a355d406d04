/** Kept objects of one namespace, and how they relate: relations never leave a namespace. */
import { isDeepStrictEqual } from 'node:util'
import { maxControllers } from '../controllers.ts'
import { formatFullName, type Kind } from '../kinds.ts'
import {
  type KeptObject,
  type KeptPod,
  type KeptWorkload,
  type Role,
  roleOf,
} from './kept-object.ts'
import { OwnedObjects } from './owned-objects.ts'
import { type Relations, relate } from './selectors.ts'
import { fullNameOf } from './views.ts'

type OfRole<R extends Role> = Extract<KeptObject, { readonly role: R }>

export class NamespaceObjects {
  version = 0
  readonly pods = new OwnedObjects<KeptPod>()
  readonly workloads = new OwnedObjects<KeptWorkload>()
  readonly #objects = new Map<Role, Map<string, KeptObject>>()
  readonly #controllers = new Map<string, KeptObject>()
  readonly #owned = new WeakMap<KeptObject, KeptObject>()
  #relations: Relations | undefined

  get isEmpty(): boolean {
    return this.#objects.values().every(({ size }) => size === 0)
  }

  *all(): Iterable<KeptObject> {
    for (const objects of this.#objects.values()) yield* objects.values()
  }

  ofRole<R extends Role>(role: R): ReadonlyMap<string, OfRole<R>> {
    return this.#mapOf(role) as Map<string, OfRole<R>>
  }

  #mapOf(role: Role): Map<string, KeptObject> {
    return this.#objects.getOrInsertComputed(role, () => new Map())
  }

  ownerOf({ owner }: KeptPod): KeptWorkload | undefined {
    const found = owner && this.#controllers.get(owner.uid)
    return found?.role === 'workload' ? found : undefined
  }

  /** Adds the applications of its controllers, as far as known: the same object until these change. */
  owned<T extends KeptObject>(object: T): T {
    const claims = new Set<string>()
    let found: KeptObject | undefined = object
    for (let step = 0; step <= maxControllers && found !== undefined; step++) {
      if (found.moniker.app !== null) claims.add(found.moniker.app)
      found = found.owner && this.#controllers.get(found.owner.uid)
    }
    const [app = null, ...coOwners] = claims
    if (app === object.moniker.app && coOwners.length === 0) return object
    const known = this.#owned.get(object)
    if (known?.moniker.app === app && isDeepStrictEqual(known.coOwners, coOwners)) return known as T
    const owned = { ...object, moniker: { ...object.moniker, app }, coOwners }
    this.#owned.set(object, owned)
    return owned
  }

  get relations(): Relations {
    this.#relations ??= relate(this.ofRole('service').values(), this.ofRole('workload').values())
    return this.#relations
  }

  /** @returns the object that is kept: the one from before where answers show no change */
  put(object: KeptObject): KeptObject {
    const objects = this.#mapOf(object.role)
    const name = fullNameOf(object)
    const before = objects.get(name)
    if (before !== undefined && isSame(before, object)) return before
    if (before !== undefined) this.#unrelate(before)
    objects.set(name, object)
    if (object.role === 'pod') this.pods.put(object)
    else this.#controllers.set(object.uid, object)
    if (object.role === 'workload') this.workloads.put(object)
    this.#noteChange(object)
    return object
  }

  /** @param bareName Without the kind */
  remove(kind: Kind, bareName: string): void {
    const objects = this.#mapOf(roleOf(kind))
    const name = formatFullName(kind, bareName)
    const known = objects.get(name)
    if (known === undefined) return
    objects.delete(name)
    this.#unrelate(known)
    this.#noteChange(known)
  }

  #unrelate(object: KeptObject): void {
    if (object.role === 'pod') this.pods.remove(object)
    else this.#controllers.delete(object.uid)
    if (object.role === 'workload') this.workloads.remove(object)
  }

  #noteChange({ role }: KeptObject): void {
    this.version++
    if (role === 'service' || role === 'workload') this.#relations = undefined
  }
}

/** Equal parts are the same objects: see `Sharing`. */
function isSame(one: KeptObject, other: KeptObject): boolean {
  const keys = Object.keys(one) as (keyof KeptObject)[]
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key])
}
