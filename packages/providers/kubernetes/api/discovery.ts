/** Kinds that an API server serves, by its discovery documents. */
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import { isBuiltInGroup } from '../kinds.ts'
import { type ApiError, isApiError } from './api-error.ts'
import type { ApiResource, KindName } from './cluster-api.ts'

const text = or(textOf, '')

const toAggregatedEntry = shape({
  responseKind: shape({ kind: text }),
  resource: text,
  singularResource: textOf,
  shortNames: textsOf,
  scope: textOf,
  verbs: textsOf,
  subresources: list(shape({ subresource: text })),
})
const toEntry = shape({
  name: text,
  kind: text,
  singularName: textOf,
  shortNames: textsOf,
  namespaced: isTrue,
  verbs: textsOf,
})
type ListedResource = ShapeOf<typeof toEntry>
const toResourceList = shape({ resources: list(toEntry) })
const toGroupVersion = shape({ groupVersion: text })

/** `/api` or `/apis`, aggregated or not. */
const toRoot = shape({
  kind: textOf,
  items: list(
    shape({
      metadata: shape({ name: text }),
      versions: list(
        shape({ version: text, freshness: textOf, resources: list(toAggregatedEntry) }),
      ),
    }),
  ),
  /** Versions of the core group. */
  versions: textsOf,
  groups: list(shape({ versions: list(toGroupVersion), preferredVersion: toGroupVersion })),
})
type Root = ShapeOf<typeof toRoot>

interface Served {
  readonly resource: ApiResource
  readonly singular: string
  /** Among the versions of its group that serve it. */
  readonly isPreferred: boolean
}

interface DiscoveryOptions {
  /** Parsed JSON. @throws {ApiError} */
  readonly read: (path: string, accept: string) => Promise<unknown>
  readonly now: () => number
}

const freshMs = 600_000
/** What is not found is looked up again at most so often. */
const restMs = 5000
const aggregated = ['v2', 'v2beta1'].map(
  (version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
)
const plain = 'application/json'
/** Documents of groups that are read at once, where the server does not aggregate them. */
const readers = 4

export class Discovery {
  readonly #options: DiscoveryOptions
  #served: readonly Served[] | undefined
  #loadedAtMs = Number.NEGATIVE_INFINITY
  readonly #loadOnce = sharedWork(() => this.#load())

  constructor(options: DiscoveryOptions) {
    this.#options = options
  }

  /** @throws {ApiError} */
  async find(kind: KindName): Promise<ApiResource | undefined> {
    const known = choose(await this.#table(freshMs), kind)
    if (known !== undefined) return known
    return choose(await this.#table(restMs), kind)
  }

  /** In their preferred versions. @throws {ApiError} */
  async resources(): Promise<readonly ApiResource[]> {
    const served = await this.#table(freshMs)
    return served
      .filter(({ resource, isPreferred }) => isPreferred && resource.verbs.includes('list'))
      .map(({ resource }) => resource)
  }

  async #table(maxAgeMs: number): Promise<readonly Served[]> {
    if (this.#served !== undefined && this.#options.now() - this.#loadedAtMs < maxAgeMs)
      return this.#served
    return await this.#loadOnce()
  }

  /** A failed lookup keeps what was known. */
  async #load(): Promise<readonly Served[]> {
    const previous = this.#served ?? []
    try {
      const reader = new DiscoveryReader(this.#options.read, previous)
      const parts = await Promise.all([reader.read('/api'), reader.read('/apis')])
      this.#served = markPreferred(parts.flat())
    } catch (error) {
      if (this.#served === undefined) throw error
    }
    this.#loadedAtMs = this.#options.now()
    return this.#served ?? []
  }
}

/** Exact names before short ones, built-in groups before others, preferred versions before others. */
function choose(
  served: readonly Served[],
  { kind, group, version }: KindName,
): ApiResource | undefined {
  const name = kind.toLowerCase()
  const wanted = group === 'core' ? '' : group?.toLowerCase()
  let best: Served | undefined
  let bestRank = Number.POSITIVE_INFINITY
  for (const each of served) {
    const { resource } = each
    if (wanted !== undefined && resource.group !== wanted) continue
    if (version === undefined ? !each.isPreferred : resource.version !== version) continue
    const rank = nameRank(each, name) + groupRank(resource.group)
    if (rank < bestRank) [best, bestRank] = [each, rank]
  }
  return best?.resource
}

function nameRank({ resource, singular }: Served, name: string): number {
  if (resource.kind.toLowerCase() === name) return 0
  if (resource.plural === name) return 1
  if (singular === name) return 2
  return resource.shortNames.includes(name) ? 20 : Number.POSITIVE_INFINITY
}

/** The group `extensions` had what others serve now. */
function groupRank(group: string): number {
  if (!isBuiltInGroup(group)) return 10
  return group === 'extensions' ? 5 : 0
}

/** The first version of a group that serves a kind is the preferred one. */
function markPreferred(found: readonly Omit<Served, 'isPreferred'>[]): Served[] {
  const seen = new Set<string>()
  return found.map(({ resource, singular }) => {
    const key = `${resource.group}/${resource.plural}`
    const isPreferred = !seen.has(key)
    seen.add(key)
    return { resource, singular, isPreferred }
  })
}

type Found = Omit<Served, 'isPreferred'>

class DiscoveryReader {
  readonly #read: DiscoveryOptions['read']
  readonly #previous: readonly Served[]
  /** Most kinds have the same verbs. */
  readonly #lists = new Map<string, readonly string[]>()

  constructor(read: DiscoveryOptions['read'], previous: readonly Served[]) {
    this.#read = read
    this.#previous = previous
  }

  /** @param root `/api` or `/apis` */
  async read(root: string): Promise<Found[]> {
    const document = toRoot(await this.#document(root))
    if (document.kind === 'APIGroupDiscoveryList') return this.#aggregated(document)
    const groupVersions = root === '/api' ? document.versions : groupVersionsOf(document)
    const line = new ConcurrencyLimit(readers)
    const found = groupVersions.map((groupVersion) => line.run(() => this.#one(root, groupVersion)))
    return (await Promise.all(found)).flat()
  }

  async #document(root: string): Promise<unknown> {
    try {
      return await this.#read(root, [...aggregated, plain].join(','))
    } catch (error) {
      // Old servers and some proxies refuse what they do not know.
      if (!isApiError(error, 400, 406, 415)) throw error
      return await this.#read(root, plain)
    }
  }

  #aggregated({ items }: Root): Found[] {
    return items.flatMap(({ metadata: { name: group }, versions }) =>
      versions.flatMap(({ version, freshness, resources }) => {
        const found = resources.flatMap((entry) => this.#fromAggregated(entry, group, version))
        // The server behind an aggregated API does not answer.
        return found.length === 0 && freshness === 'Stale' ? this.#before(group, version) : found
      }),
    )
  }

  #fromAggregated(
    entry: ShapeOf<typeof toAggregatedEntry>,
    group: string,
    version: string,
  ): Found[] {
    const { kind } = entry.responseKind
    const plural = entry.resource
    if (kind === '' || plural === '') return []
    const resource = {
      group,
      version,
      kind,
      plural,
      shortNames: this.#list(entry.shortNames),
      isNamespaced: entry.scope === 'Namespaced',
      verbs: this.#list(entry.verbs),
      subresources: this.#list(entry.subresources.map(({ subresource }) => subresource)),
    }
    return [{ resource, singular: entry.singularResource ?? kind.toLowerCase() }]
  }

  async #one(root: string, groupVersion: string): Promise<Found[]> {
    const slash = groupVersion.indexOf('/')
    const group = slash < 0 ? '' : groupVersion.slice(0, slash)
    const version = groupVersion.slice(slash + 1)
    try {
      const { resources } = toResourceList(await this.#read(`${root}/${groupVersion}`, plain))
      return resources.flatMap((entry) => this.#fromList(entry, resources, group, version))
    } catch (error) {
      // One group that does not answer must not hide the others.
      if (isGroupFault(error)) return this.#before(group, version)
      throw error
    }
  }

  #fromList(
    { name: plural, kind, ...entry }: ListedResource,
    entries: readonly ListedResource[],
    group: string,
    version: string,
  ): Found[] {
    if (plural === '' || kind === '' || plural.includes('/')) return []
    const below = entries.map(({ name }) => name).filter((name) => name.startsWith(`${plural}/`))
    const resource = {
      group,
      version,
      kind,
      plural,
      shortNames: this.#list(entry.shortNames),
      isNamespaced: entry.namespaced,
      verbs: this.#list(entry.verbs),
      subresources: this.#list(below.map((name) => name.slice(plural.length + 1))),
    }
    return [{ resource, singular: entry.singularName ?? kind.toLowerCase() }]
  }

  #before(group: string, version: string): Found[] {
    return this.#previous.filter(
      ({ resource }) => resource.group === group && resource.version === version,
    )
  }

  #list(texts: readonly string[]): readonly string[] {
    return this.#lists.getOrInsert(texts.join(' '), texts)
  }
}

function isGroupFault(error: unknown): error is ApiError {
  return isApiError(error) && error.status !== 0 && error.status !== 401
}

function groupVersionsOf({ groups }: Root): string[] {
  return groups.flatMap(({ versions, preferredVersion: { groupVersion: preferred } }) => {
    const all = [preferred, ...versions.map(({ groupVersion }) => groupVersion)]
    return [...new Set(all)].filter((each) => each !== '')
  })
}
