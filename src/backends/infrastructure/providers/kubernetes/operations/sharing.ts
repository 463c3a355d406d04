/** Common parts of shares of the traffic: the services of a server group, its note, and its ready pods. */
import { fieldAt, numberOf, objectOf } from '../../../../../json/values.ts'
import { fieldManager } from '../manifests/annotations.ts'
import { type GroupShare, shareAnnotation, shareOf } from '../manifests/shares.ts'
import { annotatedLoadBalancers, parseLoadBalancer, selectorOf } from '../manifests/traffic.ts'
import type { KubeObject } from '../objects.ts'
import { selects } from '../reads/selectors.ts'
import type { ManifestRun } from './parts.ts'
import type { Labels } from './pod-labels.ts'
import { isPassingOrConflict, pollUntil, retrying } from './retry.ts'
import { aboutObject, describeTarget, type LiveTarget } from './targets.ts'

export interface SharedService {
  readonly name: string
  readonly live: KubeObject
  readonly selector: Labels
}

/** Services that the server group is behind, also while their labels are taken off. */
export async function servicesOf(running: ManifestRun, target: LiveTarget): Promise<SharedService[]> {
  const { account } = running
  const { live, place } = target
  const resource = await account.api.find({ kind: 'service', group: '' })
  const all = resource === undefined ? [] : await account.api.list(resource, { namespace: place.namespace })
  const annotated = new Set(annotatedLoadBalancers(live).map((name) => parseLoadBalancer(name).name))
  const labels = podLabelsOf(live)
  const own = new Set(Object.values(shareOf(live)?.services ?? {}))
  return all.flatMap((service) => {
    const { name } = service.metadata
    const selector = objectOf(fieldAt(service, 'spec', 'selector')) as Labels
    const isBehind = annotated.has(name) || (!own.has(name) && selects(selector, labels))
    return isBehind ? [{ name, live: service, selector: selectorOf(service, `service ${name}`) }] : []
  })
}

export function podLabelsOf(live: KubeObject): Labels {
  return objectOf(fieldAt(live, 'spec', 'template', 'metadata', 'labels')) as Labels
}

export function allLabels(services: readonly SharedService[]): Labels {
  return Object.assign({}, ...services.map(({ selector }) => selector)) as Labels
}

/** Whether services can stop sending requests to it: its own selector needs none of the labels by which they select. */
export function isSwitchable({ kind, live }: LiveTarget, services: readonly SharedService[]): boolean {
  const needed = objectOf(fieldAt(live, 'spec', 'selector', 'matchLabels'))
  return kind.name === 'replicaSet' && !Object.keys(allLabels(services)).some((key) => Object.hasOwn(needed, key))
}

export async function noteShare(
  running: ManifestRun,
  target: LiveTarget,
  share: GroupShare | undefined,
  replicas?: number,
): Promise<void> {
  const { account } = running
  const body = {
    metadata: { annotations: { [shareAnnotation]: share === undefined ? null : JSON.stringify(share) } },
    ...(replicas !== undefined && { spec: { replicas } }),
  }
  const patched = await aboutObject(describeTarget(account, target), () =>
    retrying(running, () => account.api.patch(target.place, body, { type: 'merge', fieldManager }), isPassingOrConflict),
  )
  account.lists.observe(patched)
}

/** Longest time until pods are ready. */
const readyMs = 5 * 60_000

export async function awaitReady(running: ManifestRun, target: LiveTarget, count: number): Promise<void> {
  const { account } = running
  const isReady = await pollUntil(running, { limitMs: readyMs }, async () => {
    const live = await account.api.get(target.place)
    return live === undefined || (numberOf(fieldAt(live, 'status', 'readyReplicas')) ?? 0) >= count ? true : undefined
  })
  if (isReady) return
  const minutes = readyMs / 60_000
  throw new Error(
    `${describeTarget(account, target)} has not ${count} ready pods after ${minutes} minutes; its share waits for them.`,
  )
}
