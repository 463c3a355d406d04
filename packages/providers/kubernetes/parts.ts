/** What reads and operations of the provider share: its accounts, and what each of them knows. */
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { ClusterApi } from './api/cluster-api.ts'
import type { DeployedObjects } from './deployed-objects.ts'
import type { OwnRules } from './health/own-rules.ts'
import type { HealthTimes } from './health/verdict.ts'
import type { KindTable } from './kinds.ts'
import type { KubeObject } from './objects.ts'
import type { KubernetesAccountSettings, KubernetesSettings } from './settings.ts'

export class ReadsUnderWay {
  #misses = 0
  readonly #loading = new Set<Promise<void>>()

  /** A read needs what is still loading. @param loaded Never rejects */
  miss(loaded: Promise<void>): void {
    this.#misses++
    if (this.#loading.has(loaded)) return
    this.#loading.add(loaded)
    void loaded.then(() => this.#loading.delete(loaded))
  }

  /** @returns what reads made from now on still lack; undefined: nothing */
  track(): () => Promise<void> | undefined {
    const before = this.#misses
    return () => {
      if (this.#misses === before || this.#loading.size === 0) return undefined
      return Promise.all(this.#loading).then(() => {})
    }
  }
}

export interface Absence {
  readonly sinceMs: number
  readonly reason: string
}

export interface KubernetesAccount {
  readonly settings: KubernetesAccountSettings
  readonly api: ClusterApi
  readonly kinds: KindTable
  readonly lists: ListUpdates
  readonly health: AccountHealth
  readonly deployed: Pick<DeployedObjects, 'of' | 'record'>
  /** For manifests that name none: that of the kubeconfig's context. Default: `default`. */
  readonly defaultNamespace?: string
  /** Since when its API server has not answered; undefined while it does. */
  readonly absence?: Absence | undefined
}

/** What verdicts on its objects depend on. */
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
