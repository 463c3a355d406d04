/** Kinds that the lists of an account have (docs/contracts/kubernetes.md#lists). */
import type { ClusterApi } from '../api/cluster-api.ts'
import { builtInKinds, type Kind, type KindTable, kindOfManifest, parseKind } from '../kinds.ts'
import type { ReadsUnderWay } from '../parts.ts'
import type { KubernetesAccountSettings, KubernetesSettings } from '../settings.ts'

interface KindCatalogOptions {
  readonly account: KubernetesAccountSettings
  readonly provider: Pick<KubernetesSettings, 'lists'>
  readonly table: KindTable
  readonly api: Pick<ClusterApi, 'resources'>
  readonly underWay: ReadsUnderWay
}

export class KindCatalog {
  readonly #options: KindCatalogOptions
  #listed: readonly Kind[]
  #loading: Promise<void> | undefined

  constructor(options: KindCatalogOptions) {
    this.#options = options
    this.#listed = listedKinds(options)
  }

  get all(): readonly Kind[] {
    return this.#listed
  }

  /** Whether only its name matters: no screen shows it. */
  isPlain(kind: Kind): boolean {
    return !hasScreen(kind)
  }

  isRaw(kind: Kind): boolean {
    const { cacheAllApplicationRelationships, rawKinds } = this.#options.account
    const { kindExpressions: only, omitKindExpressions: omitted } = rawKinds
    if (kind.name === 'pod' || (!hasScreen(kind) && !cacheAllApplicationRelationships)) return false
    return (
      (only.length === 0 || only.some((each) => isMatch(each, kind))) &&
      !omitted.some((each) => isMatch(each, kind))
    )
  }

  /** Where lists have every kind, learns what the API server serves. */
  load(): void {
    const { provider, underWay } = this.#options
    if (!provider.lists.allKinds || this.#loading !== undefined) return
    this.#loading = this.#load()
    underWay.miss(this.#loading)
  }

  async #load(): Promise<void> {
    const { api, table } = this.#options
    try {
      const resources = await api.resources()
      const served = resources
        .filter(({ verbs }) => verbs.includes('watch'))
        .map(({ group, version, kind, isNamespaced }) =>
          table.kindOf(kindOfManifest({ kind, apiVersion: `${group}/${version}` }), isNamespaced),
        )
      this.#listed = listedKinds(this.#options, served)
    } catch {
      // The next read tries again; lists have the usual kinds meanwhile.
      this.#loading = undefined
    }
  }
}

function listedKinds(
  { account, provider, table }: KindCatalogOptions,
  served: readonly Kind[] = [],
): Kind[] {
  const { kinds, omitKinds } = account
  const toKind = (name: string) => table.kindOf(parseKind(name))
  const namesOf = (names: readonly string[]) =>
    new Set(names.map((name) => toKind(name).name.toLowerCase()))
  const only = namesOf(kinds)
  const omitted = namesOf([...omitKinds, ...provider.lists.omitKinds, 'event'])
  const usual = [...builtInKinds, ...table.custom].filter(hasScreen)
  const byName = new Map(
    [...usual, ...provider.lists.kinds.map(toKind), ...served].map((kind) => [
      kind.name.toLowerCase(),
      kind,
    ]),
  )
  return [...byName]
    .filter(([name]) => (only.size === 0 || only.has(name)) && !omitted.has(name))
    .map(([, kind]) => kind)
}

function hasScreen({ spinnakerKind }: Kind): boolean {
  return spinnakerKind !== 'configs' && spinnakerKind !== 'unclassified'
}

function isMatch(expression: string, { name }: Kind): boolean {
  return new RegExp(`^(?:${expression})$`, 'i').test(name)
}
