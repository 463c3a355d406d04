/** Shares of the traffic by weights of Gateway API routes: each server group has a service of its own. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldAt, objectsOf } from '../../../../../json/values.ts'
import { callInTurns } from '../../../../stores/in-turns.ts'
import { isApiError } from '../api/api-error.ts'
import type { ApiResource } from '../api/cluster-api.ts'
import { fieldManager } from '../manifests/annotations.ts'
import { type RouteShare, routeAnnotation, routesTo, shareLabel, shareOf, withShare } from '../manifests/shares.ts'
import type { KubeObject } from '../objects.ts'
import type { ManifestRun } from './parts.ts'
import { setPodLabels } from './pod-labels.ts'
import { isPassingOrConflict, retrying } from './retry.ts'
import { checkChanges } from './rights.ts'
import { allLabels, awaitReady, noteShare, type SharedService, servicesOf } from './sharing.ts'
import { aboutObject, describeTarget, type LiveTarget } from './targets.ts'

export interface Route {
  readonly resource: ApiResource
  readonly live: KubeObject
}

/** Routes of its namespace that send requests to one of the services. */
export async function routesOf(
  { account, run }: ManifestRun,
  { place }: LiveTarget,
  services: readonly string[],
): Promise<Route[]> {
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

export async function shareByRoutes(
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

/** Labels of DNS are not longer. */
const longestName = 63

function ownServiceName(service: string, { place }: LiveTarget): string {
  const name = place.name.startsWith(service) ? `${place.name}-share` : `${service}-${place.name}`
  return name.length <= longestName ? name : name.slice(0, longestName).replace(/-$/, '')
}

/** It goes with the server group, however that is deleted. @returns whether there was none */
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

async function changeRoute(running: ManifestRun, { resource, live }: Route, share: RouteShare): Promise<void> {
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
