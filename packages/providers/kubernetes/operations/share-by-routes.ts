/** Shares of the traffic by weights of Gateway API routes, between services of single server groups. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { isApiError } from '../api/api-error.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import { parseFullName } from '../kinds.ts'
import { fieldManager } from '../manifests/annotations.ts'
import {
  hasOthersBeside,
  notesOf,
  type RouteShare,
  routeAnnotation,
  routesTo,
  shareLabel,
  shareOf,
  withShare,
} from '../manifests/shares.ts'
import { toService } from '../objects/network.ts'
import { isOwnedBy, type KubeObject } from '../objects.ts'
import type { ChangedName, ManifestRun } from './parts.ts'
import { setPodLabels } from './pod-labels.ts'
import { isPassingOrConflict, retrying } from './retry.ts'
import { checkChanges, type ObjectChange } from './rights.ts'
import {
  allLabels,
  allServices,
  awaitReady,
  isBehind,
  isSwitchable,
  isTarget,
  noteShare,
  type SharedService,
  type SharingTarget,
  servicesOf,
  sharingGroups,
} from './sharing.ts'
import { aboutObject, describeTarget, type LiveTarget } from './targets.ts'

interface RouteObject {
  readonly resource: ApiResource
  readonly live: KubeObject
}

export async function routesOf(
  running: ManifestRun,
  { place }: LiveTarget,
  services: readonly string[],
): Promise<RouteObject[]> {
  const all = await allRoutes(running, place.namespace)
  return all.filter(({ live }) => services.some((name) => routesTo(live, name)))
}

async function allRoutes({ account, run }: ManifestRun, namespace: string): Promise<RouteObject[]> {
  const resource = await account.api.find({ kind: 'HTTPRoute', group: 'gateway.networking.k8s.io' })
  if (resource === undefined) return []
  try {
    return (await account.api.list(resource, { namespace })).map((live) => ({ resource, live }))
  } catch (error) {
    if (!isApiError(error, 403)) throw error
    run.note('Routes of the Gateway API may not be read: shares are made by numbers of replicas.')
    return []
  }
}

/** Takes the shares of a server group that has been deleted from routes: they would send its requests to nothing. */
export async function forgetRouteShares(
  running: ManifestRun,
  { namespace = '', name }: ChangedName,
): Promise<void> {
  const groups = await sharingGroups(running, namespace)
  const services = await allServices(running, namespace)
  const isLost = (service: string, own: string) => {
    if (own !== service) return own === ownServiceName(service, parseFullName(name)?.name ?? '')
    const found = services.find((each) => each.name === service)
    return found === undefined || !groups.some((group) => isBehind(group, found))
  }
  for (const route of await allRoutes(running, namespace)) {
    for (const [service, owns] of Object.entries(notesOf(route.live).shares)) {
      const lost = Object.keys(owns).filter((own) => isLost(service, own))
      if (lost.length === 0) continue
      await checkChanges(running, [toRouteChange(route)])
      await changeRoute(running, route, {
        service,
        percents: Object.fromEntries(lost.map((own) => [own, undefined])),
      })
    }
  }
}

function toRouteChange({ live }: RouteObject): ObjectChange {
  return { name: `HTTPRoute ${live.metadata.name}`, isNamespaced: true, live }
}

/** Until services have the endpoints of new labels, and gateways the weights of a route: before, requests would be lost. */
const settleMs = 1000

interface RouteSharing {
  readonly services: readonly SharedService[]
  readonly groups: readonly SharingTarget[]
  readonly routes: readonly RouteObject[]
}

type OwnServices = Readonly<Record<string, string>>

/**
 * Services that take the share, by those that it is taken from: the same one where a route has another backend beside it, else one of its
 * own. Undefined: weights of the routes cannot make it.
 */
export function ownServicesOf(
  target: LiveTarget,
  { services, groups, routes }: RouteSharing,
): OwnServices | undefined {
  const known = shareOf(target.live)?.services
  if (known !== undefined) return known
  const routed = routedBy(routes, services)
  const isAlone = (service: SharedService) =>
    groups.every((each) => isTarget(each, target) || !isBehind(each, service)) &&
    routes.every(({ live }) => hasOthersBeside(live, service.name))
  if (routed.length === 0 || !(isSwitchable(target, services) || routed.every(isAlone)))
    return undefined
  const own = (service: SharedService) =>
    isAlone(service) ? service.name : ownServiceName(service.name, target.place.name)
  return Object.fromEntries(routed.map((service) => [service.name, own(service)]))
}

function routedBy(
  routes: readonly RouteObject[],
  services: readonly SharedService[],
): SharedService[] {
  return services.filter(({ name }) => routes.some(({ live }) => routesTo(live, name)))
}

/** @throws {Error} where no route sends requests to the services any more */
export async function shareByRoutes(
  running: ManifestRun,
  target: LiveTarget,
  {
    services,
    routes,
    own,
    percent,
  }: Omit<RouteSharing, 'groups'> & { readonly own: OwnServices; readonly percent: number },
): Promise<void> {
  const { run, account } = running
  const routed = routedBy(routes, services).filter(({ name }) => own[name] !== undefined)
  const subject = describeTarget(account, target)
  if (routed.length === 0) {
    const names = Object.keys(own).join(', ')
    throw new Error(
      `No HTTPRoute sends requests to ${names} any more: take the share of ${subject} away first (percent null).`,
    )
  }
  await checkChanges(running, [
    ...routed.map(({ name, live }) => ({ name: `service ${name}`, isNamespaced: true, live })),
    ...routes.map(toRouteChange),
  ])
  run.note(`Giving ${subject} ${percent} % of the requests: ${namesOf(routes)} …`)
  await noteShare(running, target, { percent, services: own })
  const left = routed.filter(({ name }) => own[name] !== name)
  if (left.length > 0)
    await setPodLabels(running, target, {
      labels: { [shareLabel]: target.place.name },
      isEnabled: true,
    })
  if (percent > 0) await awaitReady(running, target, 1)
  const created = await callInTurns(left, (service) =>
    createOwnService(running, target, service, own[service.name] ?? ''),
  )
  if (created.includes(true)) await sleep(settleMs, undefined, { signal: run.signal })
  for (const { name } of routed) {
    for (const route of routes)
      await changeRoute(running, route, { service: name, percents: { [own[name] ?? '']: percent } })
  }
  // All that it gets comes with its weights from now on.
  await setPodLabels(running, target, { labels: allLabels(left), isEnabled: false })
  await setPodLabels(running, target, {
    labels: allLabels(routed.filter((service) => !left.includes(service))),
    isEnabled: true,
  })
  run.report({
    trafficShare: {
      by: 'routes',
      routes: routes.map(({ live }) => live.metadata.name),
      percent,
      reached: percent,
    },
  })
}

function namesOf(routes: readonly RouteObject[]): string {
  return `weights of ${routes.map(({ live }) => `HTTPRoute ${live.metadata.name}`).join(', ')}`
}

/** Labels of DNS are not longer. */
const longestName = 63

function ownServiceName(service: string, group: string): string {
  const name = `${service}-${group}`.replaceAll('.', '-')
  if (name.length <= longestName) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, longestName - hash.length - 1)}-${hash}`
}

/** It goes with the server group, however that is deleted. @returns whether there was none. @throws {Error} where its name is taken */
async function createOwnService(
  { account }: ManifestRun,
  { live, place }: LiveTarget,
  service: SharedService,
  name: string,
): Promise<boolean> {
  const resource = await account.api.find({ kind: 'service', group: '' })
  if (resource === undefined) return false
  const ports = toService(service.live).spec.portsAsGiven.map(
    ({ nodePort: _outside, ...port }) => port,
  )
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
    account.api
      .create(resource, place.namespace, manifest, { fieldManager })
      .catch((error: unknown) => {
        if (isApiError(error, 409)) return undefined
        throw error
      }),
  )
  if (created === undefined) {
    const taken = await account.api.get({ resource, namespace: place.namespace, name })
    if (taken !== undefined && isOwnedBy(taken, live)) return false
    throw new Error(
      `The share needs a service ${name}, and another one has this name: rename or delete that one.`,
    )
  }
  account.lists.observe(created)
  return true
}

async function changeRoute(
  running: ManifestRun,
  { resource, live }: RouteObject,
  share: RouteShare,
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
        const body = {
          metadata: { resourceVersion, annotations: { [routeAnnotation]: notes ?? null } },
          spec: { rules },
        }
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
  const own = Object.entries(shareOf(target.live)?.services ?? {})
  const names = own.map(([service]) => service)
  const routes = await routesOf(running, target, names)
  const left = own.filter(([service, name]) => name !== service)
  run.note(`Taking the share of ${describeTarget(account, target)} away …`)
  if (isServing && left.length > 0) {
    const services = (await servicesOf(running, target)).filter(({ name }) =>
      left.some(([service]) => service === name),
    )
    await setPodLabels(running, target, { labels: allLabels(services), isEnabled: true })
    await sleep(settleMs, undefined, { signal: run.signal })
  }
  for (const [service, name] of own) {
    for (const route of routes)
      await changeRoute(running, route, { service, percents: { [name]: undefined } })
  }
  // Gateways take a moment to follow their routes.
  if (shareOf(target.live)?.percent !== 0) await sleep(settleMs, undefined, { signal: run.signal })
  const resource = await account.api.find({ kind: 'service', group: '' })
  for (const [, name] of left) {
    const place = resource && { resource, namespace: target.place.namespace, name }
    if (place !== undefined)
      await retrying(running, () => account.api.remove(place, { propagation: 'Background' }))
  }
  await setPodLabels(running, target, {
    labels: { [shareLabel]: target.place.name },
    isEnabled: false,
  })
  await noteShare(running, target, undefined)
}
