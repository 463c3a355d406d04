/** What reads and operations of the provider share: its accounts, and what each of them knows. */
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { CloudProvider } from '../infrastructure/provider.ts'
import type { ClusterApi } from './api/cluster-api.ts'
import type { DeployedObjects } from './deployed-objects.ts'
import type { OwnRules } from './health/own-rules.ts'
import type { HealthTimes } from './health/result.ts'
import type { KindTable } from './kinds.ts'
import type { KubeObject } from './objects.ts'
import type { Absence, LastStates, Presence } from './reads/presence.ts'
import type { KubernetesAccountSettings, KubernetesSettings } from './settings.ts'

export class ReadsUnderWay {
  #misses = 0
  readonly #loading = new Map<Promise<void>, () => Promise<void>>()

  /**
   * A read needs what is still loading.
   *
   * @param loaded Never rejects
   * @param soon Resolves sooner where the API server is found to be away
   */
  miss(loaded: Promise<void>, soon = () => loaded): void {
    this.#misses++
    if (this.#loading.has(loaded)) return
    this.#loading.set(loaded, soon)
    void loaded.then(() => this.#loading.delete(loaded))
  }

  /** @returns what reads made from now on still lack; undefined: nothing */
  track(): ReturnType<NonNullable<CloudProvider['trackReads']>> {
    const before = this.#misses
    return (isBounded) => {
      if (this.#misses === before || this.#loading.size === 0) return undefined
      const waits = isBounded
        ? [...this.#loading.values()].map((soon) => soon())
        : this.#loading.keys()
      return Promise.all(waits).then(() => {})
    }
  }
}

export interface KubernetesAccount {
  readonly settings: KubernetesAccountSettings
  readonly api: ClusterApi
  readonly kinds: KindTable
  readonly lists: ListUpdates
  readonly health: AccountHealth
  readonly deployed: Pick<DeployedObjects, 'of' | 'record' | 'ownersOf' | 'forgetGone'>
  /** For manifests that name none: that of the kubeconfig's context. Default: `default`. */
  readonly defaultNamespace?: string
  readonly presence?: Presence
  readonly lastStates?: LastStates
  /** Since when its API server has not answered; undefined while it does. */
  readonly absence?: Absence | undefined
}

/** What results on its objects depend on. */
export interface AccountHealth {
  readonly times: HealthTimes
  readonly own: OwnRules
  readonly now: () => number
}

export interface ListUpdates {
  observe(object: KubeObject): void
  forget(object: KubeObject): void
}

export interface KubernetesParts {
  readonly context: BackendContext
  readonly settings: Omit<KubernetesSettings, 'accounts'>
  /** By name; accounts come and go while Fairlead runs. */
  account(name: string): KubernetesAccount | undefined
  readonly accounts: () => readonly KubernetesAccount[]
  readonly now: () => number
}
