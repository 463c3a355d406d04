/** Objects of an account as lists show them, by namespace. */
import type { OwnHit, OwnResource } from '../../infrastructure/model.ts'
import type { Kind } from '../kinds.ts'
import { type KubeObject, ownerOf } from '../objects.ts'
import type { KubernetesAccountSettings } from '../settings.ts'
import {
  isIgnored,
  type KeptObject,
  type ObjectKind,
  type Sharing,
  toKeptObject,
} from './kept-object.ts'
import { type NamespaceOptions, NamespaceReads } from './namespace-reads.ts'
import { toHit, toRawResource } from './views.ts'

interface AccountObjectsOptions extends NamespaceOptions {
  readonly settings: KubernetesAccountSettings
  readonly sharing: Sharing
}

export class AccountObjects {
  readonly #options: AccountObjectsOptions
  readonly #namespaces = new Map<string, NamespaceReads>()

  constructor(options: AccountObjectsOptions) {
    this.#options = options
  }

  /** @returns what is kept of an object; undefined where lists omit it */
  put(object: KubeObject, kind: ObjectKind): KeptObject | undefined {
    const { settings, sharing } = this.#options
    const { namespace = '' } = object.metadata
    if (settings.omitNamespaces.includes(namespace) || isIgnored(object)) return undefined
    if (settings.onlySpinnakerManaged && ownerOf(object) === undefined) return undefined
    const reads = this.#namespaces.getOrInsertComputed(
      namespace,
      () => new NamespaceReads(this.#options),
    )
    return reads.objects.put(toKeptObject(object, kind, sharing))
  }

  remove({ kind, namespace, name }: Pick<KeptObject, 'kind' | 'namespace' | 'name'>): void {
    const reads = this.#namespaces.get(namespace)
    reads?.objects.remove(kind, name)
    if (reads?.objects.isEmpty === true) this.#namespaces.delete(namespace)
  }

  removeAll(kind: Kind): void {
    for (const reads of this.#namespaces.values()) {
      for (const object of reads.objects.all())
        if (object.kind.name === kind.name) this.remove(object)
    }
  }

  get namespaces(): MapIterator<NamespaceReads> {
    return this.#namespaces.values()
  }

  namespace(name: string): NamespaceReads | undefined {
    return this.#namespaces.get(name)
  }

  hits(fits: (object: KeptObject) => boolean): OwnHit[] {
    return this.#select(fits, (object) => toHit(object, this.#options.account))
  }

  rawResources(fits: (object: KeptObject) => boolean): OwnResource[] {
    return this.#select(fits, (object) => toRawResource(object, this.#options.account))
  }

  #select<T>(fits: (object: KeptObject) => boolean, toResult: (object: KeptObject) => T): T[] {
    const results: T[] = []
    for (const namespace of this.#namespaces.values()) {
      for (const kept of namespace.objects.all()) {
        const object = namespace.objects.owned(kept)
        if (fits(object)) results.push(toResult(object))
      }
    }
    return results
  }
}
