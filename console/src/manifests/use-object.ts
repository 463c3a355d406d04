/** Reads about objects with manifests, shared by their screens. */
import { useMemo } from 'preact/hooks'
import { objectKey, pendingOf } from '../api/actions.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { type Live, useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { numberOf, objectOf, textOf, textsOf } from '../model/read.ts'
import { isEnabled, loadBalancersOf, type ServerGroup } from '../model/server-groups.ts'
import { isKind } from './names.ts'
import {
  fieldOf,
  isMoving,
  isPaused,
  isSameObject,
  type ManifestView,
  type ObjectPlace,
  ownersOf,
  timeOf,
  trafficOf,
} from './object.ts'
import { isPartOf, placeOfGroup, type Revision, revisionsOf } from './workload.ts'

export const manifestPath = '/manifests/{account}/{location}/{name}'

export function pathOf({ account, location, name }: ObjectPlace) {
  return { account, location: location || '_', name }
}

export function keyOfObject({ account, location, name }: ObjectPlace): string {
  return objectKey('manifest', account, location, name)
}

export function placeText({ account, location }: ObjectPlace): string {
  return [account, location].filter(Boolean).join(' / ')
}

/** Every read of a manifest asks the cluster: often only while something moves. */
export function useManifest(place: ObjectPlace | undefined): Live<ManifestView> {
  return useLive(manifestPath, place && { path: pathOf(place) }, {
    refresh: 'live',
    isBusy: (view) => isMoving(view) || (place !== undefined && pendingOf(keyOfObject(place)) !== undefined),
  })
}

/** Kinds of objects that run pods. */
export const workloads = ['deployment', 'replicaSet', 'statefulSet', 'daemonSet', 'job', 'cronJob'] as const

/** The server groups of the object: itself, or those that it manages, with all that were there before. */
export function useGroups(application: string, view: ManifestView, place: ObjectPlace): readonly ServerGroup[] {
  const cluster = view.moniker?.cluster
  const clusters = cluster && isKind(place.name, ...workloads) && `${place.account}:${cluster}`
  const { body } = useLive(
    '/applications/{applicationName}/serverGroups',
    clusters ? { path: { applicationName: application }, query: { clusters } } : undefined,
    { refresh: 'live', isBusy: () => isMoving(view), events: applicationEvents(application, 'infrastructure') },
  ).reading.value
  return body?.filter((group) => isPartOf(group, place)) ?? []
}

/** An object as its actions take it. */
export interface ActedObject {
  readonly application: string
  readonly provider: string
  readonly place: ObjectPlace
  /** The object that manages it, and would take a change back. */
  readonly owner?: string | undefined
  readonly replicas: number | undefined
  /** Undefined where the manifest is not read: neither pause nor resume is offered then. */
  readonly isPaused?: boolean | undefined
  /** Newest first; undefined where they are not known. */
  readonly revisions?: readonly Revision[] | undefined
  /** Load balancers whose traffic it takes, or would; undefined where that is not known. */
  readonly traffic?: { readonly isEnabled: boolean; readonly balancers: readonly string[] } | undefined
}

export function useActedObject(
  application: string,
  place: ObjectPlace,
  view: ManifestView,
  groups: readonly ServerGroup[],
): ActedObject {
  const provider = useManifestAccounts()?.find(({ name }) => name === place.account)?.provider ?? ''
  const own = groups.find((group) => isSameObject(placeOfGroup(group), place))
  return {
    ...{ application, provider, place, owner: ownersOf(view)[0], isPaused: isPaused(view) },
    replicas: numberOf(fieldOf(view, 'spec.replicas')),
    revisions: isKind(place.name, 'deployment') ? revisionsOf(groups, place) : undefined,
    traffic: own && { isEnabled: isEnabled(own), balancers: [...new Set([...loadBalancersOf(own), ...trafficOf(view)])] },
  }
}

/** An object, with its server groups or those that it manages. */
export interface ObjectTabProps {
  readonly view: ManifestView
  readonly object: ActedObject
  readonly groups: readonly ServerGroup[]
}

/** Accounts whose providers have manifests; undefined while they are not known. */
export function useManifestAccounts() {
  const providers = useCloudProviders()
  const { body } = useLive('/credentials', { query: { expand: true } }, { refresh: 'slow' }).reading.value
  return useMemo(
    () =>
      body?.flatMap(({ name, cloudProvider, type, namespaces, unreachable }) => {
        const provider = cloudProvider ?? type
        if (!hasManifests(providers, provider)) return []
        const { since, reason } = objectOf(unreachable)
        // Since when its cluster does not answer.
        const away = unreachable ? { sinceMs: numberOf(since) ?? timeOf(since), reason: textOf(reason) } : undefined
        return [{ name, provider, namespaces: textsOf(namespaces), away }]
      }),
    [body, providers],
  )
}
