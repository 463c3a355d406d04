/** Discovery documents of the fake API server, aggregated and one by one. */
import type { JsonObject } from '../../packages/base/json/values.ts'
import type { ServedKind } from './fake-kubernetes-objects.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

interface DiscoveryOptions {
  /** False: only the older documents, one for each group. */
  readonly isAggregated: boolean
  /** Groups whose server does not answer. */
  readonly brokenGroups: ReadonlySet<string>
}

/** Undefined: not a path of discovery. A number: the status of an error. */
export function discover(
  path: string,
  accept: string,
  kinds: readonly ServedKind[],
  { isAggregated, brokenGroups }: DiscoveryOptions,
): JsonObject | number | undefined {
  const aggregates = isAggregated && accept.includes('as=APIGroupDiscoveryList')
  if (path === '/api')
    return aggregates
      ? aggregate(kinds, brokenGroups, true)
      : { kind: 'APIVersions', versions: ['v1'] }
  if (path === '/apis') return aggregates ? aggregate(kinds, brokenGroups, false) : groupList(kinds)
  const [, root, first = '', second, ...more] = path.split('/')
  if (more.length > 0) return undefined
  if (root === 'api' && second === undefined) return resourceList(kinds, '', first)
  if (root !== 'apis' || second === undefined) return undefined
  if (brokenGroups.has(first)) return 503
  return kinds.some(({ group, version }) => group === first && version === second)
    ? resourceList(kinds, first, second)
    : 404
}

function aggregate(
  kinds: readonly ServedKind[],
  broken: ReadonlySet<string>,
  isCore: boolean,
): JsonObject {
  const groups = groupsOf(kinds).filter((group) => (group === '') === isCore)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    items: groups.map((group) => ({
      metadata: { name: group },
      versions: versionsOf(kinds, group).map((version) => ({
        version,
        freshness: broken.has(group) ? 'Stale' : 'Current',
        resources: broken.has(group)
          ? []
          : kinds.filter((kind) => kind.group === group && kind.version === version).map(toEntry),
      })),
    })),
  }
}

function toEntry({
  group,
  version,
  kind,
  plural,
  isNamespaced,
  shortNames,
  subresources,
}: ServedKind): JsonObject {
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: isNamespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.toLowerCase(),
    verbs,
    shortNames,
    subresources: subresources.map((subresource) => ({
      subresource,
      verbs: ['get', 'patch', 'update'],
    })),
  }
}

function groupList(kinds: readonly ServedKind[]): JsonObject {
  const groups = groupsOf(kinds).filter((group) => group !== '')
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.map((group) => {
      const versions = versionsOf(kinds, group).map((version) => ({
        groupVersion: `${group}/${version}`,
        version,
      }))
      return { name: group, versions, preferredVersion: versions[0] }
    }),
  }
}

function resourceList(kinds: readonly ServedKind[], group: string, version: string): JsonObject {
  const served = kinds.filter((kind) => kind.group === group && kind.version === version)
  return {
    kind: 'APIResourceList',
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: served.flatMap(({ kind, plural, isNamespaced, shortNames, subresources }) => [
      {
        name: plural,
        singularName: kind.toLowerCase(),
        namespaced: isNamespaced,
        kind,
        verbs,
        shortNames,
      },
      ...subresources.map((name) => ({
        name: `${plural}/${name}`,
        singularName: '',
        namespaced: isNamespaced,
        kind,
        verbs: ['get'],
      })),
    ]),
  }
}

function groupsOf(kinds: readonly ServedKind[]): string[] {
  return [...new Set(kinds.map(({ group }) => group))]
}

function versionsOf(kinds: readonly ServedKind[], asked: string): string[] {
  return [...new Set(kinds.filter(({ group }) => group === asked).map(({ version }) => version))]
}
