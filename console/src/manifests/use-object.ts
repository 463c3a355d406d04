/** Reads about objects with manifests, shared by their screens. */

import { numberOf, objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import { objectKey, pendingOf } from '../api/actions.ts'
import { hasManifests, useAccounts, useCloudProviders } from '../api/cloud-providers.ts'
import { type Live, useLive } from '../api/live.ts'
import { useServerGroups } from '../api/pipelines.ts'
import { isEnabled, loadBalancersOf, type ServerGroup } from '../model/server-groups.ts'
import {
  fieldOf,
  isIn,
  isKind,
  isSameObject,
  type ManifestView,
  type ObjectPlace,
  ownerOf,
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
    isBusy: (view) =>
      isIn('running', view) || (place !== undefined && pendingOf(keyOfObject(place)) !== undefined),
  })
}

/** Kinds of objects that run pods. */
export const workloads = [
  'deployment',
  'replicaSet',
  'statefulSet',
  'daemonSet',
  'job',
  'cronJob',
] as const

/** An object as its actions take it. */
export interface ActedObject {
  readonly application: string
  readonly provider: string
  readonly place: ObjectPlace
  /** The object that manages it, and would take a change back. */
  readonly owner?: string
  readonly replicas: number | undefined
  /** Undefined where the manifest is not read: neither pause nor resume is offered then. */
  readonly isPaused?: boolean
  /** Newest first; undefined where they are not known. */
  readonly revisions?: readonly Revision[]
  /** Load balancers whose traffic it takes, or would; undefined where that is not known. */
  readonly traffic?:
    | { readonly isEnabled: boolean; readonly balancers: readonly string[] }
    | undefined
}

/** An object as its screen shows it. */
export interface ShownObject extends ActedObject {
  readonly view: ManifestView
  /** Itself, or those that it manages, with all that were there before. */
  readonly groups: readonly ServerGroup[]
  /** Whether it is known if there are any. */
  readonly areGroupsRead: boolean
}

export function useShownObject(
  application: string,
  place: ObjectPlace,
  view: ManifestView,
): ShownObject {
  const cluster = isKind(place.name, ...workloads) ? view.moniker?.cluster : undefined
  const clusters = cluster ? `${place.account}:${cluster}` : undefined
  const pace = { refresh: 'live', isBusy: () => isIn('running', view) } as const
  const { body, error } = useServerGroups(clusters && application, clusters, pace)
  const groups = body?.filter((group) => isPartOf(group, place)) ?? []
  const own = groups.find((group) => isSameObject(placeOfGroup(group), place))
  const provider = useManifestAccounts().find(({ name }) => name === place.account)?.provider ?? ''
  return {
    application,
    provider,
    place,
    view,
    groups,
    owner: ownerOf(view),
    isPaused: isIn('paused', view),
    areGroupsRead: !cluster || body !== undefined || error !== undefined,
    replicas: numberOf(fieldOf(view, 'spec.replicas')),
    revisions: isKind(place.name, 'deployment') ? revisionsOf(groups, place) : undefined,
    traffic: own && {
      isEnabled: isEnabled(own),
      balancers: [...new Set([...loadBalancersOf(own), ...trafficOf(view)])],
    },
  }
}

/** Accounts whose providers have manifests. */
export function useManifestAccounts() {
  const providers = useCloudProviders()
  const { body = [] } = useAccounts()
  return body.flatMap(({ name, cloudProvider, type, unreachable }) => {
    const provider = cloudProvider ?? type
    const { since, reason } = objectOf(unreachable)
    // Since when its cluster does not answer.
    const away = { name, sinceMs: numberOf(since) ?? timeOf(since), reason: scalarOf(reason) ?? '' }
    return hasManifests(providers, provider)
      ? [{ name, provider, away: unreachable ? away : undefined }]
      : []
  })
}
