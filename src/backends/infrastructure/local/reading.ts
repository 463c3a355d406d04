/** Resources of this machine for reads: the desired state, joined with the observed one. */
import type { ObservedInstance, ObservedMember } from '../../../agent/protocol.ts'
import type { JsonObject } from '../../../json/values.ts'
import { parseMoniker } from '../../moniker.ts'
import { rollUpLoadBalancers } from '../health.ts'
import type { HealthRecord, HealthState, Instance, Job, LoadBalancer, LoadBalancerServerGroup, ServerGroup } from '../model.ts'
import {
  type Activity,
  type Desired,
  type LocalBalancer,
  type LocalGroup,
  type LocalInstance,
  type LocalJob,
  placeKey,
} from './desired.ts'
import { dnsNameOf } from './machine.ts'
import { toProgramView } from './program.ts'
import type { Observation } from './reconciler.ts'
import { balancersOf, isServing } from './wanted.ts'

/** Name of the platform's health records; stages name it where nothing else decides. */
export const platformHealth = 'Local'

export interface ReadParts {
  readonly desired: Desired
  readonly observation: Observation
  /** Why the agent cannot be reached. */
  readonly problem: string | undefined
}

/** Instances are looked at only by those who need them. */
export function toServerGroup(group: LocalGroup, parts: ReadParts): ServerGroup {
  let instances: Instance[] | undefined
  const { image, program } = group
  return {
    provider: 'local',
    account: group.account,
    region: group.region,
    name: group.name,
    moniker: parseMoniker(group.name),
    zones: group.zones,
    createdMs: group.createdMs,
    isDisabled: group.isDisabled,
    capacity: group.capacity,
    get instances() {
      instances ??= parts.desired.instancesOf(group).map((instance) => toInstance(instance, parts))
      return instances
    },
    loadBalancers: group.loadBalancers,
    securityGroups: group.securityGroups,
    instanceType: group.instanceType,
    vpcId: undefined,
    buildInfo: group.buildInfo,
    image: { id: image.id, name: `${image.name}-${image.version}`, details: { digest: image.digest, version: image.version } },
    launchConfig: {
      imageId: image.id,
      instanceType: group.instanceType,
      securityGroups: group.securityGroups,
      ...toProgramView(program),
    },
    tags: group.tags,
    labels: group.labels,
    details: {
      asg: { suspendedProcesses: group.suspendedProcesses.map((processName) => ({ processName })) },
      ...(group.isLeaving && { status: 'It is being removed; its instances finish their last requests.' }),
    },
  }
}

export function toInstance(instance: LocalInstance, parts: ReadParts): Instance {
  const observed = parts.observation.instances.get(instance.id)
  const loadBalancers = balancersOf(parts.desired, instance)
  const { id, account, region, zone, launchMs, host, port, program } = instance
  return {
    id,
    humanName: id,
    account,
    region,
    zone,
    launchMs: observed?.startedAt ?? launchMs,
    serverGroup: instance.group,
    health: healthOf(instance, observed, loadBalancers, parts),
    loadBalancers,
    get details() {
      return {
        cloudProvider: 'local',
        providerType: 'local',
        privateIpAddress: host,
        port,
        instanceType: program.instanceType,
        placement: { availabilityZone: zone },
        ...processView(observed),
      }
    },
  }
}

function processView(observed: ObservedInstance | undefined): JsonObject {
  if (observed === undefined) return {}
  const { phase, pid, startedAt, endedAt, exitCode, signal, restarts, reason, enforcement, events } = observed
  return { process: { phase, pid, startedAt, endedAt, exitCode, signal, restarts, reason }, enforcement, events }
}

function healthOf(
  instance: LocalInstance,
  observed: ObservedInstance | undefined,
  loadBalancers: readonly string[],
  parts: ReadParts,
): HealthRecord[] {
  const records = [platformRecord(observed, parts), readinessRecord(instance, observed, parts)]
  if (loadBalancers.length > 0) records.push(balancerRecord(instance, loadBalancers, parts))
  return records
}

/** A process that runs says nothing about traffic: its platform record is Unknown. */
function platformRecord(observed: ObservedInstance | undefined, { problem }: ReadParts): HealthRecord {
  const isDown =
    observed !== undefined && (observed.phase === 'waiting' || observed.phase === 'failed' || observed.phase === 'ended')
  const description = problem ?? (observed === undefined ? 'It has not been started yet.' : observed.reason)
  return {
    type: platformHealth,
    healthClass: 'platform',
    state: isDown ? 'Down' : 'Unknown',
    ...(description !== undefined && { description }),
  }
}

/** Stands for a registry: Up while the probe succeeds, unless the instance shall take no traffic. */
function readinessRecord(instance: LocalInstance, observed: ObservedInstance | undefined, { desired }: ReadParts): HealthRecord {
  const { host, port, isOutOfDiscovery, program } = instance
  const isOut = isOutOfDiscovery || !isServing(desired, instance)
  const state = isOut ? 'OutOfService' : readinessOf(observed)
  const path = program.ready.path
  return {
    type: 'Discovery',
    discoveryType: 'readiness',
    state,
    status: state === 'Up' ? 'UP' : state === 'OutOfService' ? 'OUT_OF_SERVICE' : state.toUpperCase(),
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

interface Registration {
  readonly state: 'InService' | 'OutOfService'
  readonly healthState: HealthState
  readonly reasonCode: string
  readonly description: string
}

function balancerRecord(instance: LocalInstance, names: readonly string[], parts: ReadParts): HealthRecord {
  const loadBalancers = names.map((loadBalancerName) => ({
    loadBalancerName,
    instanceId: instance.id,
    ...registrationOf(instance, loadBalancerName, parts),
  }))
  const state = rollUpLoadBalancers(loadBalancers.map(({ healthState }) => healthState))
  return { type: 'LoadBalancer', state, loadBalancers }
}

function registrationOf(instance: LocalInstance, name: string, { desired, observation }: ReadParts): Registration {
  const { account, region, id, deregistered } = instance
  const member = observation.members.get(placeKey({ account, region, name }))?.get(id)
  if (!isServing(desired, instance) || deregistered.includes(name)) return outOfService(member)
  if (member === undefined || !member.inService || member.health === 'starting') {
    const description = member?.reason ?? 'Its first health check has not succeeded yet.'
    return { state: 'OutOfService', healthState: 'Starting', reasonCode: 'Starting', description }
  }
  if (member.health === 'up') {
    return { state: 'InService', healthState: 'Up', reasonCode: 'N/A', description: `${member.inFlight} requests run.` }
  }
  return {
    state: 'OutOfService',
    healthState: 'Down',
    reasonCode: 'Instance',
    description: member.reason ?? 'Its health checks fail.',
  }
}

/** Until the load balancer has heard of it, requests may still arrive. */
function outOfService(member: ObservedMember | undefined): Registration {
  if (member?.inService === true) {
    const description = 'The load balancer is about to stop sending requests.'
    return { state: 'InService', healthState: 'Draining', reasonCode: 'Draining', description }
  }
  const running = member?.inFlight ?? 0
  return {
    state: 'OutOfService',
    healthState: 'OutOfService',
    reasonCode: 'Instance',
    description: running === 0 ? 'It is out of service.' : `It is out of service; ${running} requests still run.`,
  }
}

export function toLoadBalancer(balancer: LocalBalancer, groups: readonly LocalGroup[], parts: ReadParts): LoadBalancer {
  const { account, region, name, listeners, health, isInternal } = balancer
  const hosts = [...new Set(listeners.map(({ host }) => host))]
  return {
    provider: 'local',
    account,
    region,
    name,
    vpcId: balancer.vpcId,
    loadBalancerType: 'classic',
    securityGroups: balancer.securityGroups,
    get serverGroups() {
      return groups.map((group) => toBalancerGroup(group, name, parts))
    },
    details: {
      loadBalancerName: name,
      dnsName: dnsNameOf(hosts[0] ?? ''),
      createdTime: balancer.createdMs,
      scheme: isInternal ? 'internal' : 'internet-facing',
      isInternal,
      listeners: listeners.map((listener) => ({
        externalProtocol: listener.protocol.toUpperCase(),
        externalPort: listener.port,
        internalProtocol: listener.internalProtocol,
        internalPort: listener.internalPort,
        host: listener.host,
        ...(listener.certificate !== undefined && { sslCertificateId: listener.certificate }),
      })),
      healthCheck: {
        target: health.kind === 'http' ? `HTTP:${health.path}` : 'TCP',
        interval: health.intervalMs / 1000,
        timeout: health.timeoutMs / 1000,
        unhealthyThreshold: health.unhealthyThreshold,
        healthyThreshold: health.healthyThreshold,
      },
      problems: parts.observation.closed.get(placeKey(balancer)) ?? [],
    },
  }
}

function toBalancerGroup(group: LocalGroup, name: string, parts: ReadParts): LoadBalancerServerGroup {
  const instances = parts.desired.instancesOf(group)
  return {
    name: group.name,
    isDisabled: group.isDisabled,
    detachedInstances: instances.filter(({ deregistered }) => deregistered.includes(name)).map(({ id }) => id),
    instances: instances
      .filter(({ deregistered }) => !deregistered.includes(name))
      .map((instance) => {
        const { state, reasonCode, description } = registrationOf(instance, name, parts)
        return {
          id: instance.id,
          name: instance.id,
          zone: instance.zone,
          health: { type: 'LoadBalancer', state, reasonCode, description },
        }
      }),
  }
}

export function toJob(job: LocalJob, { observation }: Pick<ReadParts, 'observation'>): Job {
  const { id, name, account, region, application, createdMs, end } = job
  const observed = observation.instances.get(id)
  return {
    provider: 'local',
    id,
    name,
    account,
    location: region,
    application,
    state: jobStateOf(job, observed),
    createdMs,
    completedMs: end?.atMs,
    completionDetails:
      end === undefined
        ? {}
        : { exitCode: end.exitCode ?? null, signal: end.signal ?? null, message: end.reason ?? null, reason: end.reason ?? null },
    details: {
      image: job.image,
      instanceType: job.instanceType,
      labels: job.labels,
      ...toProgramView(job.program),
      ...(end !== undefined && end.exitCode !== 0 && { failureDetails: end.reason ?? 'It has failed.' }),
    },
  }
}

function jobStateOf({ end }: LocalJob, observed: ObservedInstance | undefined): Job['state'] {
  if (end !== undefined) return end.exitCode === 0 ? 'Succeeded' : 'Failed'
  return observed === undefined || observed.startedAt === undefined ? 'Starting' : 'Running'
}

/** `details` is JSON as text, as clients expect it. */
export function toActivityView({ id, atMs, description, cause, zone }: Activity, group: LocalGroup): JsonObject {
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
