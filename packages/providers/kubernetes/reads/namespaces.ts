/** Namespaces of an account: as configured, else as its API server lists them. */
import type { AccountClient } from '../account-client.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import type { ObjectWatch } from '../api/object-watch.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccountSettings } from '../settings.ts'
import type { Absence } from './presence.ts'

interface NamespacesOptions {
  readonly settings: Pick<KubernetesAccountSettings, 'namespaces' | 'omitNamespaces'>
  readonly client: Pick<AccountClient, 'api' | 'watch'>
  readonly now: () => number
  readonly changed: () => void
}

/** Known without discovery, which is large. */
const resource: ApiResource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns'],
  isNamespaced: false,
  verbs: ['list', 'watch'],
  subresources: [],
}

export class Namespaces {
  readonly #options: NamespacesOptions
  #listed: readonly string[] = []
  #watch: ObjectWatch<string> | undefined
  #isWanted = false
  /** Since the latest list has failed. */
  failure: Absence | undefined

  constructor(options: NamespacesOptions) {
    this.#options = options
  }

  get names(): readonly string[] {
    const { namespaces, omitNamespaces } = this.#options.settings
    if (namespaces.length > 0) return namespaces
    const listed =
      this.#watch === undefined || this.#watch.size === 0
        ? this.#listed
        : [...this.#watch.entries()].sort()
    return listed.filter((name) => !omitNamespaces.includes(name))
  }

  get #isFixed(): boolean {
    return this.#options.settings.namespaces.length > 0
  }

  /** Reads them once. @returns whether that has succeeded */
  async load(): Promise<boolean> {
    if (this.#isFixed || this.#watch !== undefined) return true
    const { client, now, changed } = this.#options
    try {
      const objects = await client.api.list(resource, { metadataOnly: true })
      this.#listed = objects.map(({ metadata }) => metadata.name).sort()
      this.failure = undefined
      changed()
      return true
    } catch (error) {
      this.failure ??= { sinceMs: now(), reason: (error as Error).message }
      changed()
      return false
    }
  }

  watch(): void {
    if (this.#isFixed || this.#isWanted) return
    this.#isWanted = true
    const { client, changed } = this.#options
    const toEntry = ({ metadata }: KubeObject) => metadata.name
    client.watch({ resource, metadataOnly: true, toEntry, onChange: changed }).then(
      (watch) => {
        if (this.#isWanted) this.#watch = watch
        else watch.close()
      },
      () => {
        this.#isWanted = false
      },
    )
  }

  unwatch(): void {
    this.#listed = [...(this.#watch?.entries() ?? this.#listed)].sort()
    this.#isWanted = false
    this.#watch?.close()
    this.#watch = undefined
  }

  observe(object: KubeObject): void {
    this.#watch?.observe(object)
  }

  forget(object: KubeObject): void {
    this.#watch?.forget(object)
  }
}
