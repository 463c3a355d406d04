/** Reads about objects with manifests, shared by their screens. */
import { useMemo } from 'preact/hooks'
import { pendingOf } from '../api/actions.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { type Live, useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { objectOf, textOf, textsOf } from '../model/read.ts'
import { accountOf, isEnabled, loadBalancersOf, type ServerGroup } from '../model/server-groups.ts'
import { type ActedObject, keyOfObject } from './actions.tsx'
import { isKind } from './names.ts'
import { isPaused, isSettled, type ManifestView, metadataOf, type ObjectPlace, ownersOf, specOf, trafficOf } from './object.ts'
import { isManagedBy, revisionsOf } from './workload.ts'

/** Every read of a manifest asks the cluster: often only while something moves. */
export function useManifest(place: ObjectPlace | undefined): Live<ManifestView> {
  const path = place && { account: place.account, location: place.location || '_', name: place.name }
  return useLive('/manifests/{account}/{location}/{name}', path && { path }, {
    refresh: 'live',
    isBusy: (view) => !isSettled(view) || (place !== undefined && pendingOf(keyOfObject(place)) !== undefined),
  })
}

/** The server groups of the object: itself, or those that it manages, with all that were there before. */
export function useGroups(application: string, view: ManifestView | undefined, place: ObjectPlace): readonly ServerGroup[] {
  const cluster = view?.moniker?.cluster
  const isWorkload = isKind(place.name, 'deployment', 'replicaSet', 'statefulSet', 'daemonSet', 'job', 'cronJob')
  const query = cluster && isWorkload ? { clusters: `${place.account}:${cluster}` } : undefined
  const { body } = useLive(
    '/applications/{applicationName}/serverGroups',
    query && { path: { applicationName: application }, query },
    {
      refresh: 'live',
      isBusy: () => view !== undefined && !isSettled(view),
      events: applicationEvents(application, 'infrastructure'),
    },
  ).reading.value
  return useMemo(
    () => body?.filter((group) => isSame(group, place) || isManagedBy(group, place)) ?? [],
    [body, place.account, place.location, place.name],
  )
}

function isSame(group: ServerGroup, { account, location, name }: ObjectPlace): boolean {
  return accountOf(group) === account && group.region === location && group.name.toLowerCase() === name.toLowerCase()
}

/** The object as its actions take it. */
export function useActedObject(
  application: string,
  place: ObjectPlace,
  view: ManifestView,
  groups: readonly ServerGroup[],
): ActedObject {
  const provider = useProviderOf(place.account) ?? ''
  const own = groups.find((group) => isSame(group, place))
  const isManager = isKind(place.name, 'deployment')
  const replicas = specOf(view)['replicas']
  const balancers = own === undefined ? trafficOf(view) : [...new Set([...loadBalancersOf(own), ...trafficOf(view)])]
  return {
    application,
    provider,
    place,
    owner: ownersOf(view)[0],
    replicas: typeof replicas === 'number' ? replicas : undefined,
    isPaused: isPaused(view),
    revisions: isManager ? revisionsOf(groups, place) : undefined,
    traffic: own && { isEnabled: isEnabled(own), balancers },
  }
}

interface AccountState {
  readonly name: string
  readonly provider: string
  readonly namespaces: readonly string[]
  /** Since when its cluster does not answer. */
  readonly unreachable: { readonly since: unknown; readonly reason: string | undefined } | undefined
}

/** Accounts whose providers have manifests; undefined while they are not known. */
export function useManifestAccounts(): readonly AccountState[] | undefined {
  const providers = useCloudProviders()
  const { body } = useLive('/credentials', { query: { expand: true } }, { refresh: 'slow' }).reading.value
  return useMemo(
    () =>
      body?.flatMap((account) => {
        const provider = account.cloudProvider ?? account.type
        if (!hasManifests(providers, provider)) return []
        const away = account['unreachable']
        const unreachable = away ? { since: objectOf(away)['since'], reason: textOf(objectOf(away)['reason']) } : undefined
        return [{ name: account.name, provider, namespaces: textsOf(account['namespaces']), unreachable }]
      }),
    [body, providers],
  )
}

function useProviderOf(account: string): string | undefined {
  return useManifestAccounts()?.find(({ name }) => name === account)?.provider
}

export function createdMsOf(view: ManifestView): number | undefined {
  const ms = Date.parse(textOf(metadataOf(view)['creationTimestamp']) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
