/** Objects as lists keep them: only what answers need, without data of secrets, values of environments and managed fields. */

import { hash } from 'node:crypto'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { isTrue, type JsonObject, objectOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Moniker } from '@fairlead/base/names/moniker.ts'
import { LRUCache } from 'lru-cache'
import type { HealthRecord, HealthState } from '../../infrastructure/model.ts'
import type { Kind, SpinnakerKind } from '../kinds.ts'
import { trafficAnnotation } from '../manifests/annotations.ts'
import { monikerOf } from '../manifests/moniker.ts'
import { shareOf } from '../manifests/shares.ts'
import {
  type BalancerStatus,
  type Ingress,
  type KubeService,
  type PolicyRule,
  toIngress,
  toNetworkPolicy,
  toService,
} from '../objects/network.ts'
import { type ContainerStatus, type Pod, toPod } from '../objects/pod.ts'
import { toCronJob, toWorkload } from '../objects/workload.ts'
import {
  type KubeObject,
  type Labels,
  millisecondsOf,
  type OwnerReference,
  ownerReferenceOf,
} from '../objects.ts'
import { type JobState, toJobState } from './job-state.ts'

const maxParts = 5000

export class Sharing {
  readonly #parts = new LRUCache<string, object>({ max: maxParts })

  /** The first of equal values. */
  share<T extends object>(value: T): T {
    const key = JSON.stringify(value)
    const known = this.#parts.get(key)
    if (known !== undefined) return known as T
    this.#parts.set(key, value)
    return value
  }
}

const stateOfPhase: Readonly<Record<string, HealthState>> = { Pending: 'Down', Running: 'Up' }
const healthClass = 'platform'

function healthOf({ spec, status }: Pod): HealthRecord[] {
  const { phase = '', containerStatuses } = status
  return [
    { type: 'kubernetes/pod', source: 'Pod', healthClass, state: stateOfPhase[phase] ?? 'Unknown' },
    ...spec.containers.flatMap(({ name }) => {
      const own = containerStatuses.find((each) => each.name === name)
      return name === undefined ? [] : toContainerRecord(name, own)
    }),
  ]
}

/** Has the reason where it waits or has ended, such as `CrashLoopBackOff`. */
function toContainerRecord(name: string, status: ContainerStatus | undefined): HealthRecord {
  const { waiting, terminated } = status?.state ?? {}
  const description = (waiting ?? terminated)?.reason
  return {
    type: 'kubernetes/container',
    source: `Container ${name}`,
    healthClass,
    state: status?.ready === true ? 'Up' : 'Down',
    ...(description !== undefined && { description }),
  }
}

const httpsPorts = new Set([443, 8443])

/** Empty until its load balancer has an address, and for ports that are not TCP. */
function addressesOfService({ spec, status }: KubeService): string[] {
  const ports = spec.ports.filter(({ protocol }) => protocol === 'TCP')
  return balancerHosts(status).flatMap((host) =>
    ports.map(({ name, port }) => {
      const isHttps = httpsPorts.has(port) || name.startsWith('https')
      return `${isHttps ? 'https' : 'http'}://${host}:${port}/`
    }),
  )
}

/** By the hosts of its rules; where these have none, by the address of its load balancer. */
function addressesOfIngress({ spec, status }: Ingress): string[] {
  const secured = new Set(spec.tls.flatMap(({ hosts }) => hosts))
  const hosts = spec.rules.flatMap(({ host }) =>
    host === undefined || host.includes('*') ? [] : host,
  )
  return [...new Set(hosts.length > 0 ? hosts : balancerHosts(status))].map(
    (host) =>
      `${secured.has(host) || (hosts.length === 0 && spec.tls.length > 0) ? 'https' : 'http'}://${host}/`,
  )
}

function balancerHosts({ loadBalancer }: BalancerStatus): string[] {
  return loadBalancer.ingress.flatMap(({ host }) =>
    host === undefined ? [] : host.includes(':') ? `[${host}]` : host,
  )
}

/** One for each port of each rule, by number or name; peers are not shown. */
function toFirewallRules(rules: readonly PolicyRule[]): JsonObject[] {
  return rules
    .flatMap(({ ports }) => ports)
    .map((port) => ({ protocol: port.protocol, portRanges: [toRange(port)] }))
}

function toRange({ port, portName, endPort }: PolicyRule['ports'][number]): JsonObject {
  if (port !== undefined) return { startPort: port, endPort: endPort ?? port }
  return portName === undefined
    ? { startPort: 0, endPort: 65_535 }
    : { startPortName: portName, endPortName: portName }
}

interface Basics {
  readonly kind: Kind
  readonly apiVersion: string
  readonly name: string
  /** Empty for cluster-wide objects. */
  readonly namespace: string
  readonly uid: string
  readonly createdMs: number | undefined
  readonly labels: Labels
  readonly moniker: Moniker
  /** Applications of its controllers, where they are not that of the moniker: see `NamespaceObjects.owned`. */
  readonly coOwners?: readonly string[]
  readonly owner: OwnerReference | undefined
}

export interface KeptPod extends Basics {
  readonly role: 'pod'
  readonly health: readonly HealthRecord[]
  /** Kept only for pods of jobs. */
  readonly status: JsonObject | undefined
}

export interface KeptWorkload extends Basics {
  readonly role: 'workload'
  readonly desired: number
  /** Labels of its pods, by its template. */
  readonly podLabels: Labels
  readonly images: readonly string[]
  /** Full names of load balancers that its annotation names. */
  readonly annotated: readonly string[]
  readonly trafficPercent: number | undefined
  readonly job: JobState | undefined
  /** Another text after each change of its generation or status. */
  readonly state: string
}

export interface KeptService extends Basics {
  readonly role: 'service'
  readonly selector: Labels
  readonly addresses: readonly string[]
}

export interface KeptIngress extends Basics {
  readonly role: 'ingress'
  readonly services: readonly string[]
  readonly addresses: readonly string[]
}

export interface KeptFirewall extends Basics {
  readonly role: 'firewall'
  readonly inbound: readonly JsonObject[]
  readonly outbound: readonly JsonObject[]
}

export interface KeptManager extends Basics {
  readonly role: 'manager'
  /** Same states as workloads. */
  readonly state: string
}

interface KeptPlain extends Basics {
  readonly role: 'other'
}

export interface ObjectKind {
  readonly kind: Kind
  /** Version that the API server serves: elements of lists name none. */
  readonly apiVersion: string
}

export type KeptObject =
  | KeptPod
  | KeptWorkload
  | KeptService
  | KeptIngress
  | KeptFirewall
  | KeptManager
  | KeptPlain

const ignoreAnnotation = 'caching.spinnaker.io/ignore'

export function isIgnored({ metadata }: KubeObject): boolean {
  return isTrue(metadata.annotations?.[ignoreAnnotation])
}

export type Role = KeptObject['role']

const rolesByKind: Partial<Record<SpinnakerKind, Role>> = {
  serverGroups: 'workload',
  serverGroupManagers: 'manager',
  loadBalancers: 'ingress',
  securityGroups: 'firewall',
}

export function roleOf({ name, spinnakerKind }: Kind): Role {
  if (name === 'pod' || name === 'service') return name
  return rolesByKind[spinnakerKind] ?? 'other'
}

export function toKeptObject(object: KubeObject, of: ObjectKind, sharing: Sharing): KeptObject {
  const basics = toBasics(object, of, sharing)
  const role = roleOf(of.kind)
  switch (role) {
    case 'pod': {
      const status = basics.owner?.kind === 'Job' ? objectOf(object['status']) : undefined
      return { ...basics, role, health: sharing.share(healthOf(toPod(object))), status }
    }
    case 'service': {
      const service = toService(object)
      const { selector } = service.spec
      return { ...basics, role, selector, addresses: addressesOfService(service) }
    }
    case 'ingress': {
      const ingress = toIngress(object)
      return {
        ...basics,
        role,
        services: servicesOf(ingress),
        addresses: addressesOfIngress(ingress),
      }
    }
    case 'workload':
      return toKeptWorkload(object, basics)
    case 'firewall': {
      const { ingress, egress } = toNetworkPolicy(object).spec
      return {
        ...basics,
        role,
        inbound: toFirewallRules(ingress),
        outbound: toFirewallRules(egress),
      }
    }
    case 'manager':
      return { ...basics, role, state: stateOf(object) }
    case 'other':
      return { ...basics, role }
  }
}

function toBasics(
  { metadata }: KubeObject,
  { kind, apiVersion }: ObjectKind,
  sharing: Sharing,
): Basics {
  const { name, namespace = '', uid = '', creationTimestamp, labels = {} } = metadata
  const owner = ownerReferenceOf({ metadata })
  return {
    kind,
    apiVersion,
    name,
    namespace,
    uid,
    createdMs: millisecondsOf(creationTimestamp),
    labels: sharing.share(labels),
    moniker: sharing.share(monikerOf({ kind: kind.name, apiVersion, metadata })),
    owner: owner && sharing.share(owner),
  }
}

function toKeptWorkload(object: KubeObject, basics: Basics): KeptWorkload {
  const { name } = basics.kind
  const workload = toWorkload(object)
  const { spec, status } = workload
  const { template } = name === 'cronJob' ? toCronJob(object).spec.jobTemplate.spec : spec
  const scheduled = name === 'daemonSet' ? status.desiredNumberScheduled : undefined
  return {
    ...basics,
    role: 'workload',
    desired: scheduled ?? spec.replicas ?? 0,
    podLabels: template.metadata.labels,
    images: [...new Set(template.spec.containers.flatMap(({ image }) => image ?? []))],
    annotated: annotatedBalancers(object),
    trafficPercent: shareOf(object)?.percent,
    job: name === 'job' ? toJobState(workload) : undefined,
    state: stateOf(object),
  }
}

/** Clients that see it change read the whole object again. */
function stateOf({ metadata, status }: KubeObject): string {
  return hash('sha1', JSON.stringify([metadata.generation, status]), 'base64url')
}

/** A JSON list of full names; anything else names none. */
function annotatedBalancers({ metadata }: KubeObject): string[] {
  return textsOf(parseIfJson(metadata.annotations?.[trafficAnnotation] ?? ''))
}

function servicesOf({ spec: { defaultBackend, rules } }: Ingress): string[] {
  const paths = rules.flatMap(({ http }) => http.paths)
  const backends = [defaultBackend, ...paths.map(({ backend }) => backend)]
  return [...new Set(backends.flatMap(({ service }) => service.name ?? []))]
}
