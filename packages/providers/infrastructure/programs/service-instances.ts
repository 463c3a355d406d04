/** Instances of an application's services, by the names of their clusters. */
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { databaseLabel } from '@fairlead/model/app-file/databases.ts'
import type { Access } from '@fairlead/ports/access.ts'
import { healthStateOf, type Instance, type ServerGroup } from '../model.ts'
import type { CloudProvider } from '../provider.ts'
import { type EmbeddedInfrastructure, isReadable } from '../route.ts'
import type { ProgramAccess } from './program-access.ts'

export interface ServiceQuery {
  readonly application: string
  /** Undefined: all. `production` is the one without a name of its own in clusters. */
  readonly environment?: string
  /** Name of a service, or of a whole cluster; undefined: all. */
  readonly service?: string
  /** Id or name of an instance; undefined: all. */
  readonly instance?: string
}

export interface ServiceInstance {
  readonly provider: CloudProvider
  readonly programs: ProgramAccess
  readonly group: ServerGroup
  readonly instance: Instance
}

/** The environment whose clusters do not name it. */
export const firstEnvironment = 'production'

/** Instances that the caller may read; oldest first. */
export async function findServiceInstances(
  { providers }: EmbeddedInfrastructure,
  query: ServiceQuery,
  access: Access,
): Promise<ServiceInstance[]> {
  const found: ServiceInstance[] = []
  for (const provider of providers) {
    const { programs } = provider
    if (programs === undefined) continue
    for (const group of await loadGroups(provider, query.application)) {
      if (isLeftOut(group, query)) continue
      if (!isOfService(group, query) || !isReadable(access, group)) continue
      for (const instance of group.instances) {
        if (query.instance === undefined || isNamed(instance, query.instance))
          found.push({ provider, programs, group, instance })
      }
    }
  }
  return found.sort((one, other) => (one.instance.launchMs ?? 0) - (other.instance.launchMs ?? 0))
}

/** Lists that are missing are loaded first. */
async function loadGroups(
  provider: CloudProvider,
  application: string,
): Promise<readonly ServerGroup[]> {
  for (let round = 0; round < 4; round++) {
    const missing = provider.trackReads?.()
    const groups = provider.serverGroups(application)
    const loading = missing?.(true)
    if (loading === undefined) return groups
    await loading
  }
  return provider.serverGroups(application)
}

export function isReady({ instance }: ServiceInstance, nowMs: number): boolean {
  return healthStateOf(instance, nowMs) === 'Up'
}

function isNamed({ id, humanName }: Instance, name: string): boolean {
  return id === name || humanName === name || id === `pod ${name}`
}

/** A database is none of the services, and found by its name only. */
function isLeftOut({ labels }: ServerGroup, { service, instance }: ServiceQuery): boolean {
  return service === undefined && instance === undefined && labels[databaseLabel] !== undefined
}

function isOfService(
  { name, moniker, region }: ServerGroup,
  { application, environment, service }: ServiceQuery,
): boolean {
  const cluster = foldName(withoutKind(moniker.cluster ?? name))
  const app = foldName(application)
  if (foldName(moniker.app ?? '') !== app) return false
  if (service !== undefined && cluster === foldName(service)) return true
  const isFirst = environment === undefined || environment === firstEnvironment
  const [own, staged] = [`${app}-`, `${app}-${foldName(environment ?? '')}-`]
  // A namespace may be the environment, and the cluster has its name without it.
  const isPlaced = environment !== undefined && foldName(region).endsWith(foldName(environment))
  if (service !== undefined) {
    const wanted = foldName(service)
    if (environment === undefined) return cluster.endsWith(`-${wanted}`) || cluster === app
    return cluster === staged + wanted || ((isFirst || isPlaced) && cluster === own + wanted)
  }
  if (environment === undefined || isPlaced) return true
  return isFirst ? parseMoniker(cluster).detail === null : cluster.startsWith(staged)
}

/** Kubernetes names clusters `deployment web`. */
function withoutKind(cluster: string): string {
  return cluster.slice(cluster.lastIndexOf(' ') + 1)
}
