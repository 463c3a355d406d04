/** Common parts of shares of the traffic: the services of a server group, its note, and its ready pods. */
import { type GroupShare, shareAnnotation, shareOf } from '../manifests/shares.ts'
import { annotatedLoadBalancers, parseLoadBalancer, selectorOf } from '../manifests/traffic.ts'
import { toService } from '../objects/network.ts'
import { toWorkload } from '../objects/workload.ts'
import { controllerOf, type KubeObject, type Labels } from '../objects.ts'
import { selects } from '../reads/selectors.ts'
import type { ManifestRun } from './parts.ts'
import { podLabelsOf } from './pod-labels.ts'
import { pollUntil } from './retry.ts'
import { describeTarget, type LiveTarget, patchTarget } from './targets.ts'

export interface SharedService {
  readonly name: string
  readonly live: KubeObject
  readonly selector: Labels
}

/** Services that the server group is behind, also while their labels are taken off. @throws {Error} where one has no selector */
export async function servicesOf(
  running: ManifestRun,
  { live, place }: LiveTarget,
): Promise<SharedService[]> {
  const noted = balancersOf(live)
  const labels = podLabelsOf(live)
  const own = new Set(Object.values(shareOf(live)?.services ?? {}))
  const all = await allServices(running, place.namespace)
  return all
    .filter(
      ({ name, selector }) => noted.has(name) || (!own.has(name) && selects(selector, labels)),
    )
    .map((service) => ({
      ...service,
      selector: selectorOf(service.live, `service ${service.name}`),
    }))
}

export async function allServices(
  { account }: ManifestRun,
  namespace: string | undefined,
): Promise<SharedService[]> {
  const resource = await account.api.find({ kind: 'service', group: '' })
  const all = resource === undefined ? [] : await account.api.list(resource, { namespace })
  return all.map((live) => ({
    name: live.metadata.name,
    live,
    selector: toService(live).spec.selector,
  }))
}

export const sharingKinds = ['replicaSet', 'deployment', 'statefulSet'] as const

export interface SharingTarget {
  readonly target: LiveTarget
  readonly replicas: number
  readonly share: GroupShare | undefined
}

export function isTarget(
  { target: { live } }: SharingTarget,
  { live: wanted }: Pick<LiveTarget, 'live'>,
): boolean {
  return live.metadata.uid === wanted.metadata.uid
}

/** Workloads that services of the target send requests to, with the target. */
export async function groupsBehind(
  running: ManifestRun,
  target: LiveTarget,
  services: readonly SharedService[],
): Promise<SharingTarget[]> {
  const groups = await sharingGroups(running, target.place.namespace)
  return groups.filter((group) => {
    if (isTarget(group, target)) return true
    const isEmpty = group.replicas === 0 && group.share === undefined
    return !isEmpty && services.some((service) => isBehind(group, service))
  })
}

/** Workloads of a namespace that can have a share: those that no other one controls. */
export async function sharingGroups(
  { account }: ManifestRun,
  namespace: string,
): Promise<SharingTarget[]> {
  const found = await Promise.all(
    sharingKinds.map(async (kindName): Promise<SharingTarget[]> => {
      const resource = await account.api.find({ kind: kindName, group: 'apps' })
      if (resource === undefined) return []
      const kind = account.kinds.kindOf({ kind: kindName, group: undefined })
      const all = await account.api.list(resource, { namespace })
      return all.flatMap((live) => {
        const { name } = live.metadata
        if (controllerOf(live) !== undefined) return []
        const target = {
          name: `${kindName} ${name}`,
          kind,
          place: { resource, namespace, name },
          live,
        }
        return [
          {
            target,
            replicas: toWorkload(live).spec.replicas ?? 1,
            share: shareOf(live),
          },
        ]
      })
    }),
  )
  return found.flat()
}

/** True also while a share takes its labels off. */
export function isBehind(
  { target: { live }, share }: SharingTarget,
  { name, selector }: SharedService,
): boolean {
  return (
    selects(selector, podLabelsOf(live)) || (share !== undefined && balancersOf(live).has(name))
  )
}

export function isSelected({ live }: LiveTarget, services: readonly SharedService[]): boolean {
  return services.some(({ selector }) => selects(selector, podLabelsOf(live)))
}

/** Names of services that it is behind whatever its labels are. */
function balancersOf(live: KubeObject): Set<string> {
  const annotated = annotatedLoadBalancers(live).map((name) => parseLoadBalancer(name).name)
  return new Set([...annotated, ...Object.keys(shareOf(live)?.services ?? {})])
}

export function allLabels(services: readonly SharedService[]): Labels {
  return Object.assign({}, ...services.map(({ selector }) => selector)) as Labels
}

/** Whether services can stop sending requests to it, and start again: it names them, and its own selector needs none of their labels. */
export function isSwitchable(
  { kind, live }: LiveTarget,
  services: readonly SharedService[],
): boolean {
  const needed = toWorkload(live).spec.selector.matchLabels
  const noted = balancersOf(live)
  if (!services.every(({ name }) => noted.has(name))) return false
  return (
    kind.name === 'replicaSet' &&
    !Object.keys(allLabels(services)).some((key) => Object.hasOwn(needed, key))
  )
}

export async function noteShare(
  running: ManifestRun,
  target: LiveTarget,
  share: GroupShare | undefined,
  replicas?: number,
): Promise<void> {
  const body = {
    metadata: {
      annotations: { [shareAnnotation]: share === undefined ? null : JSON.stringify(share) },
    },
    ...(replicas !== undefined && { spec: { replicas } }),
  }
  running.account.lists.observe(await patchTarget(running, target, { body }))
}

const readyMs = 5 * 60_000

export async function awaitReady(
  running: ManifestRun,
  target: LiveTarget,
  count: number,
): Promise<void> {
  const { account } = running
  const isReady = await pollUntil(running, { limitMs: readyMs }, async () => {
    const live = await account.api.get(target.place)
    return live === undefined || toWorkload(live).status.readyReplicas >= count ? true : undefined
  })
  if (isReady) return
  const minutes = readyMs / 60_000
  throw new Error(
    `${describeTarget(account, target)} has not ${count} ready pods after ${minutes} minutes; its share waits for them.`,
  )
}
