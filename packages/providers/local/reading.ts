/** Resources of this machine as reads have them: the desired state, joined with the observed one. */

import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { noMoniker, parseMoniker } from '@fairlead/base/names/moniker.ts'
import type { ObservedInstance, ObservedMember } from '@fairlead/base/net/agent-protocol.ts'
import {
  type HealthRecord,
  type HealthState,
  type Instance,
  type Job,
  type LoadBalancer,
  type LoadBalancerServerGroup,
  rollUpLoadBalancers,
  type ServerGroup,
} from '../infrastructure/model.ts'
import type {
  Activity,
  BalancerListener,
  LocalBalancer,
  LocalGroup,
  LocalInstance,
  LocalJob,
  LocalSite,
} from './desired.ts'
import type { ServedHost } from './front/served-hosts.ts'
import { dnsNameOf } from './machine.ts'
import { toProgramView } from './program.ts'
import type { Observation } from './reconciler.ts'
import type { StartLimits } from './settings.ts'

/** Name of the platform's health records; stages name it where nothing else decides. */
const platformHealth = 'Local'

/**
 * @param startLimits Those of its account; its own count first
 * @param parts Called by those who need them
 */
export function toServerGroup(
  group: LocalGroup,
  startLimits: StartLimits | undefined,
  parts: {
    readonly instances: () => readonly Instance[]
    readonly volumes: () => readonly JsonObject[]
    /** Backups of a database. */
    readonly backups: () => readonly string[] | undefined
  },
): ServerGroup {
  const { account, region, name, zones, createdMs, isDisabled, capacity, image, program } = group
  const { loadBalancers, securityGroups, instanceType, buildInfo, tags, labels } = group
  return {
    provider: 'local',
    account,
    region,
    name,
    zones,
    createdMs,
    isDisabled,
    capacity,
    loadBalancers,
    securityGroups,
    instanceType,
    buildInfo,
    tags,
    labels,
    moniker: parseMoniker(name),
    get instances() {
      return parts.instances()
    },
    vpcId: undefined,
    summary: {
      image: { imageId: image.id, name: image.name, digest: image.digest },
      ...definedOf({ trafficPercent: group.trafficPercent, servingSinceMs: group.servingSinceMs }),
    },
    image: {
      id: image.id,
      name: `${image.name}-${image.version}`,
      details: { digest: image.digest, version: image.version },
    },
    launchConfig: { imageId: image.id, instanceType, securityGroups, ...toProgramView(program) },
    // Sizes of volumes change without the server group.
    get details() {
      return {
        startLimits: { ...startLimits, ...group.startLimits },
        asg: {
          suspendedProcesses: group.suspendedProcesses.map((processName) => ({ processName })),
        },
        ...(group.isLeaving && {
          status: 'It is being removed; its instances finish their last requests.',
        }),
        ...(program.volumes !== undefined && { volumes: parts.volumes() }),
        ...definedOf({ backups: parts.backups() }),
      }
    },
  }
}

export interface InstanceReading {
  readonly observed: ObservedInstance | undefined
  readonly memberships: readonly Membership[]
  readonly isServing: boolean
  /** Open connections may keep it until then, although it takes no more requests. */
  readonly drainsUntilMs: number | undefined
  /** Why the agent cannot be reached. */
  readonly problem: string | undefined
}

interface Membership {
  readonly loadBalancer: string
  /** Undefined until the load balancer reports the instance. */
  readonly member: ObservedMember | undefined
}

export function toInstance(instance: LocalInstance, state: InstanceReading): Instance {
  const { id, account, region, zone, launchMs, group, host, port, program } = instance
  return {
    id,
    humanName: id,
    account,
    // What has left its server group still belongs to the application that started it, as operations have it.
    moniker: parseMoniker(group ?? program.startedFor),
    region,
    zone,
    launchMs: state.observed?.startedAt ?? launchMs,
    serverGroup: group,
    health: healthOf(instance, state),
    loadBalancers: state.memberships.map(({ loadBalancer }) => loadBalancer),
    summary: definedOf({ drainsUntilMs: state.drainsUntilMs }),
    details: {
      cloudProvider: 'local',
      providerType: 'local',
      privateIpAddress: host,
      port,
      instanceType: program.instanceType,
      placement: { availabilityZone: zone },
      ...processView(state.observed),
    },
  }
}

function processView(observed: ObservedInstance | undefined): JsonObject {
  if (observed === undefined) return {}
  const {
    phase,
    pid,
    startedAt,
    endedAt,
    exitCode,
    signal,
    restarts,
    reason,
    enforcement,
    events,
  } = observed
  return {
    process: { phase, pid, startedAt, endedAt, exitCode, signal, restarts, reason },
    enforcement,
    events,
  }
}

function healthOf(instance: LocalInstance, state: InstanceReading): HealthRecord[] {
  const records = [platformRecord(state), readinessRecord(instance, state)]
  if (state.memberships.length > 0) records.push(balancerRecord(instance, state))
  return records
}

/** A process that runs says nothing about traffic: its platform record is Unknown. */
function platformRecord({ observed, problem }: InstanceReading): HealthRecord {
  const isDown =
    observed !== undefined &&
    (observed.phase === 'waiting' || observed.phase === 'failed' || observed.phase === 'ended')
  const description =
    problem ?? (observed === undefined ? 'It has not been started yet.' : observed.reason)
  return {
    type: platformHealth,
    healthClass: 'platform',
    state: isDown ? 'Down' : 'Unknown',
    ...(observed !== undefined &&
      observed.failedStarts > 0 && { failedStarts: observed.failedStarts }),
    ...(observed?.phase === 'failed' && { canStart: false }),
    ...(description !== undefined && { description }),
  }
}

/** In place of a registry: Up while the probe succeeds, unless the instance shall take no traffic. */
function readinessRecord(
  { host, port, isOutOfDiscovery, program }: LocalInstance,
  { observed, isServing }: InstanceReading,
): HealthRecord {
  const state = isOutOfDiscovery || !isServing ? 'OutOfService' : readinessOf(observed)
  const path = program.ready.path
  return {
    type: 'Discovery',
    discoveryType: 'readiness',
    state,
    status:
      state === 'Up' ? 'UP' : state === 'OutOfService' ? 'OUT_OF_SERVICE' : state.toUpperCase(),
    ipAddress: host,
    port,
    ...(path !== undefined && { healthCheckUrl: `http://${host}:${port}${path}` }),
    ...(observed?.reason !== undefined && { description: observed.reason }),
  }
}

function readinessOf(observed: ObservedInstance | undefined): HealthState {
  switch (observed?.phase) {
    case undefined:
    case 'starting':
      return 'Starting'
    case 'ready':
      return 'Up'
    case 'stopping':
      return 'OutOfService'
    default:
      return 'Down'
  }
}

interface TargetRegistration {
  readonly state: 'InService' | 'OutOfService'
  readonly healthState: HealthState
  readonly reasonCode: string
  readonly description: string
}

function balancerRecord(instance: LocalInstance, state: InstanceReading): HealthRecord {
  const loadBalancers = state.memberships.map((membership) => ({
    loadBalancerName: membership.loadBalancer,
    instanceId: instance.id,
    ...registrationOf(instance, membership, state),
  }))
  return {
    type: 'LoadBalancer',
    state: rollUpLoadBalancers(loadBalancers.map(({ healthState }) => healthState)),
    loadBalancers,
  }
}

function registrationOf(
  { deregistered }: LocalInstance,
  { loadBalancer, member }: Membership,
  { isServing }: InstanceReading,
): TargetRegistration {
  if (!isServing || deregistered.includes(loadBalancer)) return outOfService(member)
  if (member === undefined || !member.inService || member.health === 'starting') {
    const description = member?.reason ?? 'Its first health check has not succeeded yet.'
    return { state: 'OutOfService', healthState: 'Starting', reasonCode: 'Starting', description }
  }
  if (member.health === 'up') {
    return {
      state: 'InService',
      healthState: 'Up',
      reasonCode: 'N/A',
      description: `${member.inFlight} ${member.inFlight === 1 ? 'request' : 'requests'} in flight.`,
    }
  }
  return {
    state: 'OutOfService',
    healthState: 'Down',
    reasonCode: 'Instance',
    description: member.reason ?? 'Its health checks fail.',
  }
}

/** Until the load balancer has heard of it, requests may still arrive. */
function outOfService(member: ObservedMember | undefined): TargetRegistration {
  if (member?.inService === true) {
    const description = 'The load balancer is about to stop sending requests.'
    return { state: 'InService', healthState: 'Draining', reasonCode: 'Draining', description }
  }
  const running = member?.inFlight ?? 0
  return {
    state: 'OutOfService',
    healthState: 'OutOfService',
    reasonCode: 'Instance',
    description:
      running === 0
        ? 'It is out of service.'
        : `It is out of service; ${running} requests still run.`,
  }
}

/** Server groups that name a load balancer, with the state of their instances. */
export type BalancerUser = readonly [
  group: LocalGroup,
  instances: readonly (readonly [LocalInstance, InstanceReading])[],
]

/**
 * @param users Called by those who need them
 * @param problems Why listeners are not open
 * @param served Where its hosts are reached
 */
export function toLoadBalancer(
  balancer: LocalBalancer,
  users: () => readonly BalancerUser[],
  problems: readonly string[],
  served: readonly ServedHost[] | undefined,
): LoadBalancer {
  const { account, region, name, listeners, health, isInternal } = balancer
  return {
    provider: 'local',
    account,
    region,
    name,
    moniker: parseMoniker(name),
    vpcId: balancer.vpcId,
    loadBalancerType: 'classic',
    securityGroups: balancer.securityGroups,
    get serverGroups() {
      return users().map((user) => toBalancerGroup(user, name))
    },
    details: {
      loadBalancerName: name,
      dnsName: dnsNameOf(listeners[0]?.host ?? ''),
      createdTime: balancer.createdMs,
      scheme: isInternal ? 'internal' : 'internet-facing',
      isInternal,
      listeners: listeners.map(toListenerView),
      healthCheck: {
        target: health.kind === 'http' ? `HTTP:${health.path}` : 'TCP',
        interval: health.intervalMs / 1000,
        timeout: health.timeoutMs / 1000,
        unhealthyThreshold: health.unhealthyThreshold,
        healthyThreshold: health.healthyThreshold,
      },
      problems,
      ...siteView(balancer.site),
      ...definedOf({ served }),
    },
  }
}

function siteView(site: LocalSite | undefined): JsonObject {
  if (site === undefined) return {}
  const { rules, redirects, limits, compress, hsts, errorPage } = site
  return {
    hosts: rules.map(({ host, path, strip }) => ({ host, path, strip })),
    redirects: Object.fromEntries(
      redirects.map(({ host, path, to }) => [
        path === '/' ? host : host + path,
        to.replace(/^\/\//, ''),
      ]),
    ),
    limits: toLimitsView(limits),
    ...definedOf({ compress, hsts, errorPage }),
  }
}

function toLimitsView({ bodyBytes, headerBytes, ...times }: LocalSite['limits']): JsonObject {
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000)
  return definedOf({
    bodyBytes,
    headerBytes,
    readSeconds: seconds(times.readMs),
    idleSeconds: seconds(times.idleMs),
    websocketSeconds: seconds(times.websocketMs),
    drainSeconds: seconds(times.drainMs),
  })
}

function toListenerView(listener: BalancerListener): JsonObject {
  return {
    externalProtocol: listener.protocol.toUpperCase(),
    externalPort: listener.port,
    internalProtocol: listener.internalProtocol,
    internalPort: listener.internalPort,
    host: listener.host,
    sslCertificateId: listener.certificate,
  }
}

function toBalancerGroup([group, all]: BalancerUser, name: string): LoadBalancerServerGroup {
  const [detached, attached] = [true, false].map((is) =>
    all.filter(([instance]) => instance.deregistered.includes(name) === is),
  )
  return {
    name: group.name,
    owned: { account: group.account, moniker: parseMoniker(group.name) },
    isDisabled: group.isDisabled,
    ...definedOf({ trafficPercent: group.trafficPercent }),
    detachedInstances: (detached ?? []).map(([{ id }]) => id),
    instances: (attached ?? []).map(([instance, current]) => {
      const { id, zone } = instance
      const membership = current.memberships.find(({ loadBalancer }) => loadBalancer === name)
      const { state, reasonCode, description } = registrationOf(
        instance,
        membership ?? { loadBalancer: name, member: undefined },
        current,
      )
      return {
        id,
        name: id,
        zone,
        health: { type: 'LoadBalancer', state, reasonCode, description },
      }
    }),
  }
}

export function toJob(job: LocalJob, { observation }: { readonly observation: Observation }): Job {
  const { id, name, account, region, application, createdMs, end } = job
  const observed = observation.instances.get(id)
  return {
    provider: 'local',
    id,
    name,
    account,
    location: region,
    moniker: { ...noMoniker, app: application },
    state: jobStateOf(job, observed),
    createdMs,
    completedMs: end?.atMs,
    completionDetails:
      end === undefined
        ? {}
        : {
            exitCode: end.exitCode ?? null,
            signal: end.signal ?? null,
            message: end.reason ?? null,
            reason: end.reason ?? null,
          },
    details: {
      image: job.image,
      instanceType: job.instanceType,
      labels: job.labels,
      ...toProgramView(job.program),
      ...(end !== undefined &&
        end.exitCode !== 0 && { failureDetails: end.reason ?? 'It has failed.' }),
    },
  }
}

function jobStateOf({ end }: LocalJob, observed: ObservedInstance | undefined): Job['state'] {
  if (end !== undefined) return end.exitCode === 0 ? 'Succeeded' : 'Failed'
  return observed === undefined || observed.startedAt === undefined ? 'Starting' : 'Running'
}

/** `details` is JSON as text, as clients expect it. */
export function toActivityView(
  { id, atMs, description, cause, zone }: Activity,
  group: LocalGroup,
): JsonObject {
  return {
    activityId: id,
    autoScalingGroupName: group.name,
    description,
    cause,
    startTime: atMs,
    endTime: atMs,
    statusCode: 'Successful',
    statusMessage: '',
    progress: 100,
    details: JSON.stringify({ 'Availability Zone': zone }),
  }
}
