/** Filtered lists, kept as long as both the list and the rights are the same objects. */
import type { PermissionView } from '../../permissions/permissions.ts'

export class KeptLists {
  readonly #lists = new WeakMap<object, WeakMap<PermissionView, unknown>>()

  /** @param list Frozen; other answers are filtered each time. */
  of(list: unknown, view: PermissionView | undefined, filter: () => unknown): unknown {
    if (view === undefined || typeof list !== 'object' || list === null || !Object.isFrozen(list)) return filter()
    const byView = this.#lists.getOrInsertComputed(list, () => new WeakMap())
    return byView.getOrInsertComputed(view, () => Object.freeze(filter()))
  }
}
