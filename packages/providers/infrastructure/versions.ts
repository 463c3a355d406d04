/**
 * Versions of what applications have on the infrastructure, for the event streams of the gateway.
 * No other infrastructure service has this route.
 */
import { hash, randomUUID } from 'node:crypto'
import { queryValues } from '@fairlead/ports/requests/request-values.ts'
import { balancersOfApplication } from './applications.ts'
import type { Job, LoadBalancer, OwnResource, ServerGroup } from './model.ts'
import {
  get,
  type InfrastructureRoute,
  jobsOf,
  loadBalancersOf,
  type RouteHandler,
  serverGroupsOf,
} from './route.ts'

/** One for each `application` of the query, in its order. */
const versions: RouteHandler = (request, infrastructure) => {
  const all = loadBalancersOf(infrastructure)
  return queryValues(request, 'application').map((name) => {
    const groups = serverGroupsOf(infrastructure, name)
    const managers = infrastructure.providers.flatMap(
      (provider) => provider.serverGroupManagers?.(name) ?? [],
    )
    return versionOf(
      groups,
      balancersOfApplication(name, groups, all),
      jobsOf(infrastructure, name),
      managers,
    )
  })
}

/** Without the number of requests in flight, which changes with all traffic. */
export function versionOf(
  groups: readonly ServerGroup[],
  balancers: readonly LoadBalancer[],
  jobs: readonly Job[],
  managers: readonly OwnResource[] = [],
): string {
  const state = [
    groups.map(stateOfGroup),
    balancers.map(stateOfBalancer),
    jobs.map(stateOfJob),
    managers.map(nameOf),
  ]
  return hash('sha1', JSON.stringify(state), 'base64url')
}

/** Resources are never changed in place. */
const names = new WeakMap<object, string>()

function nameOf(resource: ServerGroup | OwnResource): string {
  return names.getOrInsertComputed(resource, () => randomUUID())
}

function stateOfGroup(group: ServerGroup): unknown {
  return [
    nameOf(group),
    group.instances.map(({ id, launchMs, health }) => [
      id,
      launchMs,
      health.map(({ state, description }) => [state, description]),
    ]),
  ]
}

function stateOfBalancer({
  account,
  region,
  name,
  securityGroups,
  details,
  serverGroups,
}: LoadBalancer): unknown {
  const groups = serverGroups.map((group) => [
    group.name,
    group.isDisabled,
    group.detachedInstances,
    group.instances.map(({ id, health: { state, reasonCode, description } }) => [
      id,
      state,
      reasonCode,
      // It counts requests while the instance receives some.
      state === 'InService' ? undefined : description,
    ]),
  ])
  return [account, region, name, securityGroups, details, groups]
}

function stateOfJob({ id, account, location, state, completedMs }: Job): unknown {
  return [id, account, location, state, completedMs]
}

export const versionRoutes: InfrastructureRoute[] = [get('/versions', versions)]
