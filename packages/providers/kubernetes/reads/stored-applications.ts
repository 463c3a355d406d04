/** Names of stored applications, for lists that show no others. */

import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import type { Owned } from '../../infrastructure/model.ts'
import type { ReadsUnderWay } from '../parts.ts'

const freshMs = 30_000

export class StoredApplications {
  readonly #context: Pick<BackendContext, 'ports' | 'log' | 'now'>
  readonly #underWay: ReadsUnderWay
  #names: ReadonlySet<string> | undefined
  #loadedAtMs = Number.NEGATIVE_INFINITY
  readonly #loadOnce = sharedWork(() => this.#load())

  constructor(context: Pick<BackendContext, 'ports' | 'log' | 'now'>, underWay: ReadsUnderWay) {
    this.#context = context
    this.#underWay = underWay
  }

  /** Objects of stored applications; all of them while the definition store does not answer. */
  select<T extends Owned>(owned: readonly T[]): readonly T[] {
    this.#refresh()
    const names = this.#names
    return names === undefined
      ? owned
      : owned.filter(({ moniker }) => moniker.app !== null && names.has(foldName(moniker.app)))
  }

  #refresh(): void {
    if (this.#context.now() - this.#loadedAtMs < freshMs) return
    const loading = this.#loadOnce()
    if (this.#names === undefined) this.#underWay.miss(loading)
  }

  async #load(): Promise<void> {
    const { ports, log, now } = this.#context
    this.#loadedAtMs = now()
    try {
      const stored = await ports.definitions.applications(itself)
      this.#names = new Set(stored.map(({ name }) => foldName(name)))
    } catch (error) {
      log.warn({ err: error }, 'stored applications cannot be read: Kubernetes lists show all')
    }
  }
}
