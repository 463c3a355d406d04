/** What reads and operations of the provider share: its accounts, and what each of them knows. */
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { ClusterApi } from './api/cluster-api.ts'
import type { KindTable } from './kinds.ts'
import type { KubeObject } from './objects.ts'
import type { KubernetesAccountSettings, KubernetesSettings } from './settings.ts'

export interface KubernetesAccount {
  readonly settings: KubernetesAccountSettings
  readonly api: ClusterApi
  readonly kinds: KindTable
  readonly lists: ListUpdates
  /** For manifests that name none: that of the kubeconfig's context. Default: `default`. */
  readonly defaultNamespace?: string
}

/** Effects of own operations, which lists show at once. */
export interface ListUpdates {
  /** An object as a write has returned it. */
  observe(object: KubeObject): void
  /** An object that is gone. */
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
