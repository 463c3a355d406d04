/** shareTraffic: a percentage of the requests for a server group, by weights of Gateway API routes or by numbers of replicas. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldAt, numberOf, objectOf, objectsOf } from '../../../../../json/values.ts'
import { callInTurns } from '../../../../stores/in-turns.ts'
import type { OperationType } from '../../../operation-type.ts'
import { isApiError } from '../api/api-error.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import { fieldManager } from '../manifests/annotations.ts'
import {
  type GroupShare,
  routeAnnotation,
  routesTo,
  type SizedGroup,
  shareAnnotation,
  shareLabel,
  shareOf,
  sizedByShares,
  withShare,
} from '../manifests/shares.ts'
import { annotatedLoadBalancers, parseLoadBalancer, selectorOf } from '../manifests/traffic.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesParts } from '../parts.ts'
import { selects } from '../reads/selectors.ts'
import { type ChangedName, defineManifestOperation, type ManifestRun } from './parts.ts'
import { type Labels, setPodLabels } from './pod-labels.ts'
import { isPassingOrConflict, pollUntil, retrying } from './retry.ts'
import { checkChanges, requireChangeable, toChange } from './rights.ts'
import { aboutObject, describeTarget, describeTargetProblems, type LiveTarget, namedServerGroup } from './targets.ts'

const sharing = ['replicaSet', 'deployment', 'statefulSet'] as const

export function shareTraffic(parts: KubernetesParts): OperationType {
  return defineManifestOperation(parts, {
    check: (description, account) => [
      ...describeTargetProblems(account, { field: 'serverGroupName', ...namedServerGroup(description) }),
      describePercentProblem(description['percent']),
    ],
    changes: (description) => [namedServerGroup(description), sharesOf(namedServerGroup(description))],
    run: async (running) => {
      const { description } = running
      const target = await requireChangeable(running, namedServerGroup(description), {
        kinds: sharing,
        operation: 'share traffic with',
      })
      await applyShare(running, target, numberOf(description['percent']))
    },
  })
}

/** Shares of a namespace depend on each other: their operations wait for each other. */
export function sharesOf({ namespace }: Pick<ChangedName, 'namespace'>): ChangedName {
  return { namespace, name: 'shares of the traffic' }
}

/** Null takes the share away. */
export function describePercentProblem(value: unknown, field = 'percent'): string | undefined {
  const percent = numberOf(value)
  if (value === null || (percent !== undefined && Number.isInteger(percent) && percent >= 0 && percent <= 100)) return undefined
  return `${field}: it must be a whole number from 0 to 100, or null to take the share away.`
}

/**
 * @param percent Undefined: it has no share any more, and takes what its pods take
 * @param isNew It was created for the share
 */
export async function applyShare(
  running: ManifestRun,
  target: LiveTarget,
  percent: number | undefined,
  isNew = false,
): Promise<void> {
  const share = shareOf(target.live)
  if (percent === undefined && share === undefined) return
  const owner = target.live.metadata.ownerReferences?.find(({ controller }) => controller === true)
  if (owner !== undefined) {
    const other = `${owner.kind.toLowerCase()} ${owner.name}`
    throw new Error(`${describeTarget(running.account, target)} belongs to ${other}: share the traffic with that.`)
  }
  const services = await servicesOf(running, target)
  if (services.length === 0) {
    throw new Error(
      `${describeTarget(running.account, target)} is behind no service: deploy it with a load balancer that can share its requests.`,
    )
  }
  const names = services.map(({ name }) => name)
  const routes = share?.before !== undefined ? [] : await routesOf(running, target, names)
  if (share?.services !== undefined || (routes.length > 0 && isSwitchable(target, services))) {
    if (percent === undefined) await endRouteShare(running, target, { isServing: true })
    else await shareByRoutes(running, target, { services, routes, percent })
    return
  }
  await shareByReplicas(running, target, { services, percent, isNew })
}

/** Whether services can stop sending requests to it: its own selector needs none of the labels by which they select. */
function isSwitchable({ kind, live }: LiveTarget, services: readonly SharedService[]): boolean {
  const needed = objectOf(fieldAt(live, 'spec', 'selector', 'matchLabels'))
  return kind.name === 'replicaSet' && !Object.keys(allLabels(services)).some((key) => Object.hasOwn(needed, key))
}

interface SharedService {
  readonly name: string
  readonly live: KubeObject
  readonly selector: Labels
}

/** Services that the server group is behind, also while their labels are taken off. */
async function servicesOf(running: ManifestRun, target: LiveTarget): Promise<SharedService[]> {
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

function podLabelsOf(live: KubeObject): Labels {
  return objectOf(fieldAt(live, 'spec', 'template', 'metadata', 'labels')) as Labels
}

interface Route {
  readonly resource: ApiResource
  readonly live: KubeObject
}

/** Routes of its namespace that send requests to one of the services. */
async function routesOf({ account, run }: ManifestRun, { place }: LiveTarget, services: readonly string[]): Promise<Route[]> {
  const resource = await account.api.find({ kind: 'HTTPRoute', group: 'gateway.networking.k8s.io' })
  if (resource === undefined) return []
  try {
    const all = await account.api.list(resource, { namespace: place.namespace })
    return all.filter((route) => services.some((name) => routesTo(route, name))).map((live) => ({ resource, live }))
  } catch (error) {
    if (!isApiError(error, 403)) throw error
    run.note('Routes of the Gateway API may not be read: shares are made by numbers of replicas.')
    return []
  }
}

/** Until services have the endpoints of new labels, and gateways the weights of a route: before, requests would be lost. */
const settleMs = 1000

interface RouteSharing {
  readonly services: readonly SharedService[]
  readonly routes: readonly Route[]
  readonly percent: number
}

async function shareByRoutes(
  running: ManifestRun,
  target: LiveTarget,
  { services, routes, percent }: RouteSharing,
): Promise<void> {
  const { run } = running
  const routed = services.filter(({ name }) => routes.some(({ live }) => routesTo(live, name)))
  await checkChanges(running, [
    ...routed.map(({ name, live }) => ({ name: `service ${name}`, isNamespaced: true, live })),
    ...routes.map(({ live }) => ({ name: `HTTPRoute ${live.metadata.name}`, isNamespaced: true, live })),
  ])
  const owned = Object.fromEntries(routed.map(({ name }) => [name, ownServiceName(name, target)]))
  run.note(`Giving ${describeTarget(running.account, target)} ${percent} % of the requests: ${namesOf(routes)} …`)
  await noteShare(running, target, { percent, services: owned })
  await setPodLabels(running, target, { labels: { [shareLabel]: target.place.name }, isEnabled: true })
  if (percent > 0) await awaitReady(running, target, 1)
  const created = await callInTurns(routed, (service) => createOwnService(running, target, service, owned[service.name] ?? ''))
  if (created.includes(true)) await sleep(settleMs, undefined, { signal: run.signal })
  for (const { name } of routed) {
    for (const route of routes) await changeRoute(running, route, { service: name, own: owned[name] ?? '', percent })
  }
  // All that it gets comes by its own service from now on.
  await setPodLabels(running, target, { labels: allLabels(routed), isEnabled: false })
  run.report({ trafficShare: { by: 'routes', routes: routes.map(({ live }) => live.metadata.name), percent, reached: percent } })
}

function namesOf(routes: readonly Route[]): string {
  return `weights of ${routes.map(({ live }) => `HTTPRoute ${live.metadata.name}`).join(', ')}`
}

function allLabels(services: readonly SharedService[]): Labels {
  return Object.assign({}, ...services.map(({ selector }) => selector)) as Labels
}

/** Labels of DNS are not longer. */
const longestName = 63

function ownServiceName(service: string, { place }: LiveTarget): string {
  const name = place.name.startsWith(service) ? `${place.name}-share` : `${service}-${place.name}`
  return name.length <= longestName ? name : name.slice(0, longestName).replace(/-$/, '')
}

/** It goes with the server group, whoever deletes that. @returns whether there was none */
async function createOwnService(
  running: ManifestRun,
  { live, place }: LiveTarget,
  service: SharedService,
  name: string,
): Promise<boolean> {
  const { account } = running
  const resource = await account.api.find({ kind: 'service', group: '' })
  if (resource === undefined) return false
  const ports = objectsOf(fieldAt(service.live, 'spec', 'ports')).map(({ nodePort: _outside, ...port }) => port)
  const { apiVersion, kind, metadata } = live
  const manifest = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: place.namespace,
      ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }],
    },
    spec: { selector: { [shareLabel]: place.name }, ports },
  }
  const created = await aboutObject(`service ${name}`, () =>
    account.api.create(resource, place.namespace, manifest, { fieldManager }).catch((error: unknown) => {
      if (isApiError(error, 409)) return undefined
      throw error
    }),
  )
  if (created !== undefined) account.lists.observe(created)
  return created !== undefined
}

async function changeRoute(
  running: ManifestRun,
  { resource, live }: Route,
  share: Parameters<typeof withShare>[1],
): Promise<void> {
  const { account } = running
  const { name, namespace = '' } = live.metadata
  const place = { resource, namespace, name }
  await aboutObject(`HTTPRoute ${name}`, () =>
    retrying(
      running,
      async () => {
        const now = await account.api.get(place)
        if (now === undefined) return
        const { rules, notes } = withShare(now, share)
        const { resourceVersion } = now.metadata
        const body = { metadata: { resourceVersion, annotations: { [routeAnnotation]: notes ?? null } }, spec: { rules } }
        account.lists.observe(await account.api.patch(place, body, { type: 'merge', fieldManager }))
      },
      isPassingOrConflict,
    ),
  )
}

/** Takes a share by weights of routes away. @param isServing Whether the server group gets requests as others do from now on */
export async function endRouteShare(
  running: ManifestRun,
  target: LiveTarget,
  { isServing }: { readonly isServing: boolean },
): Promise<void> {
  const { account, run } = running
  const owned = Object.entries(shareOf(target.live)?.services ?? {})
  const names = owned.map(([service]) => service)
  const routes = await routesOf(running, target, names)
  run.note(`Taking the share of ${describeTarget(account, target)} away …`)
  if (isServing) {
    const services = (await servicesOf(running, target)).filter(({ name }) => names.includes(name))
    await setPodLabels(running, target, { labels: allLabels(services), isEnabled: true })
    await sleep(settleMs, undefined, { signal: run.signal })
  }
  for (const [service, own] of owned) {
    for (const route of routes) await changeRoute(running, route, { service, own, percent: undefined })
  }
  // Gateways take a moment to follow their routes.
  if (shareOf(target.live)?.percent !== 0) await sleep(settleMs, undefined, { signal: run.signal })
  const resource = await account.api.find({ kind: 'service', group: '' })
  for (const [, name] of owned) {
    const place = resource && { resource, namespace: target.place.namespace, name }
    if (place !== undefined) await retrying(running, () => account.api.remove(place, { propagation: 'Background' }))
  }
  await setPodLabels(running, target, { labels: { [shareLabel]: target.place.name }, isEnabled: false })
  await noteShare(running, target, undefined)
}

async function noteShare(
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

interface SharingTarget {
  readonly target: LiveTarget
  readonly replicas: number
  readonly share: GroupShare | undefined
}

interface ReplicaSharing {
  readonly services: readonly SharedService[]
  readonly percent: number | undefined
  readonly isNew: boolean
}

async function shareByReplicas(running: ManifestRun, target: LiveTarget, sharing: ReplicaSharing): Promise<void> {
  const { run, account } = running
  const { percent } = sharing
  const plan = await planReplicas(running, target, sharing)
  await carryOut(running, target, plan)
  if (percent === undefined) return
  const served = plan.leaves ? 0 : plan.own.replicas
  const of = served + plan.others.reduce((sum, { replicas }) => sum + replicas, 0)
  const reached = Math.round((served / Math.max(1, of)) * 1000) / 10
  const subject = describeTarget(account, target)
  run.note(`${subject} has ${served} of ${of} replicas: about ${reached} % of the requests; ${percent} % are wanted.`)
  run.report({ trafficShare: { by: 'replicas', percent, reached, replicas: served, of } })
}

interface ReplicaPlan {
  readonly own: Sizing
  readonly others: readonly Sizing[]
  /** Labels by which the services select. */
  readonly labels: Labels
  readonly isServing: boolean
  /** Without requests its pods stay, ready for more. */
  readonly leaves: boolean
}

async function planReplicas(
  running: ManifestRun,
  target: LiveTarget,
  { services, percent, isNew }: ReplicaSharing,
): Promise<ReplicaPlan> {
  const shared = { ...(percent !== undefined && { percent }), ...(isNew && { isNew }) }
  const groups = (await groupsBehind(running, target, services)).map((each) =>
    isTarget(each, target) ? { ...each, share: { ...withoutPercent(each.share), ...shared } } : each,
  )
  await checkChanges(
    running,
    groups.map((each) => toChange(each.target)),
  )
  const sizes = sizedByShares(groups)
  const sized = groups.map((group, index): Sizing => ({ group, ...(sizes[index] as SizedGroup) }))
  const own = sized.find(({ group }) => isTarget(group, target)) as Sizing
  const leaves = percent === 0 && isSwitchable(target, services)
  const { replicas } = own.group
  const labels = allLabels(services)
  return {
    own: leaves ? { ...own, replicas, share: { ...own.share, given: replicas } } : own,
    others: sized.filter((each) => each !== own),
    labels,
    isServing: selects(labels, podLabelsOf(target.live)),
    leaves,
  }
}

/** In an order in which there are never fewer ready pods behind the services than before or after. */
async function carryOut(running: ManifestRun, target: LiveTarget, { own, others, labels, isServing, leaves }: ReplicaPlan) {
  const grows = ({ group, replicas }: Sizing) => replicas > group.replicas
  // Before it serves, its size must be that of its share.
  if (!isServing || grows(own)) await resize(running, [own])
  await resize(running, others.filter(grows))
  if (!isServing && !leaves) await setPodLabels(running, target, { labels, isEnabled: true })
  const rest = others.filter((each) => !grows(each))
  if (rest.some(({ group, replicas }) => replicas < group.replicas)) await awaitReady(running, target, own.replicas)
  await resize(running, rest)
  if (isServing && leaves) await setPodLabels(running, target, { labels, isEnabled: false })
  if (isServing && !grows(own)) await resize(running, [own])
}

function isTarget({ target: { live } }: SharingTarget, { live: wanted }: LiveTarget): boolean {
  return live.metadata.uid === wanted.metadata.uid
}

function withoutPercent({ percent: _former, ...share }: GroupShare = {}): GroupShare {
  return share
}

interface Sizing extends SizedGroup {
  readonly group: SharingTarget
}

/** Those that grow are ready when it is done. */
async function resize(running: ManifestRun, sizings: readonly Sizing[]): Promise<void> {
  const { run, account } = running
  for (const { group, replicas, share } of sizings) {
    if (group.replicas === replicas && share === undefined && group.share === undefined) continue
    if (group.replicas !== replicas) run.note(`Scaling ${describeTarget(account, group.target)} to ${replicas} …`)
    await noteShare(running, group.target, share, replicas)
  }
  for (const { group, replicas } of sizings) if (replicas > group.replicas) await awaitReady(running, group.target, replicas)
}

/** Then others go on with their replicas. */
const readyMs = 5 * 60_000

async function awaitReady(running: ManifestRun, target: LiveTarget, count: number): Promise<void> {
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

/** Workloads that services of the target send requests to, with the target. */
async function groupsBehind(
  running: ManifestRun,
  target: LiveTarget,
  services: readonly SharedService[],
): Promise<SharingTarget[]> {
  const { account } = running
  const { namespace } = target.place
  const found = await Promise.all(
    sharing.map(async (kindName): Promise<SharingTarget[]> => {
      const resource = await account.api.find({ kind: kindName, group: 'apps' })
      const all = resource === undefined ? [] : await account.api.list(resource, { namespace })
      return all.flatMap((live) => {
        const isItself = live.metadata.uid === target.live.metadata.uid
        const isManaged = live.metadata.ownerReferences?.some(({ controller }) => controller === true) === true
        const replicas = numberOf(fieldAt(live, 'spec', 'replicas')) ?? 1
        const share = shareOf(live)
        const noted = share === undefined ? [] : annotatedLoadBalancers(live)
        const isBehind = services.some(
          ({ name, selector }) => selects(selector, podLabelsOf(live)) || noted.includes(`service ${name}`),
        )
        if (resource === undefined || (!isItself && (isManaged || !isBehind || (replicas === 0 && share === undefined))))
          return []
        const { name } = live.metadata
        const kind = account.kinds.kindOf({ kind: kindName, group: undefined })
        return [{ target: { name: `${kindName} ${name}`, kind, place: { resource, namespace, name }, live }, replicas, share }]
      })
    }),
  )
  return found.flat()
}

/**
 * Ends the share of a server group that is disabled or about to go: routes would send requests to nothing, and others stay too small.
 *
 * @param fate `stays`: it has its own number of replicas again
 */
export async function endShare(running: ManifestRun, target: LiveTarget, fate: 'stays' | 'goes'): Promise<void> {
  const share = shareOf(target.live)
  if (share === undefined) return
  if (share.services !== undefined) {
    await endRouteShare(running, target, { isServing: false })
    return
  }
  const groups = await groupsBehind(running, target, await servicesOf(running, target))
  const others = groups.filter((each) => !isTarget(each, target))
  await checkChanges(
    running,
    others.map((each) => toChange(each.target)),
  )
  const sized = sizedByShares(others)
  await resize(
    running,
    others.map((group, index) => ({ group, ...(sized[index] as SizedGroup) })),
  )
  const own = groups.find((each) => isTarget(each, target))
  if (own === undefined || fate === 'goes') return
  const [alone] = sizedByShares([{ ...own, share: withoutPercent(own.share) }])
  if (alone !== undefined) await noteShare(running, target, undefined, alone.replicas)
}
