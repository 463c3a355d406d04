/** Objects as lists keep them: only what answers need, without data of secrets, values of environments and managed fields. */

import { hash } from 'node:crypto'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import {
  fieldAt,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { Moniker } from '@fairlead/base/names/moniker.ts'
import { LRUCache } from 'lru-cache'
import type { HealthRecord, HealthState } from '../../infrastructure/model.ts'
import type { Kind, SpinnakerKind } from '../kinds.ts'
import { trafficAnnotation } from '../manifests/annotations.ts'
import { monikerOf } from '../manifests/moniker.ts'
import { shareOf } from '../manifests/shares.ts'
import {
  type KubeObject,
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

function healthOf(pod: JsonObject): HealthRecord[] {
  const phase = textOf(fieldAt(pod, 'status', 'phase')) ?? ''
  const statuses = objectsOf(fieldAt(pod, 'status', 'containerStatuses'))
  const containers = objectsOf(fieldAt(pod, 'spec', 'containers')).flatMap(
    ({ name }) => textOf(name) ?? [],
  )
  return [
    { type: 'kubernetes/pod', source: 'Pod', healthClass, state: stateOfPhase[phase] ?? 'Unknown' },
    ...containers.map((container) =>
      toContainerRecord(
        container,
        statuses.find(({ name }) => name === container),
      ),
    ),
  ]
}

/** With the reason where it waits or has ended, such as `CrashLoopBackOff`. */
function toContainerRecord(name: string, status: JsonObject | undefined): HealthRecord {
  const { waiting, terminated } = objectOf(status?.['state'])
  const description = textOf(fieldAt(waiting ?? terminated, 'reason'))
  return {
    type: 'kubernetes/container',
    source: `Container ${name}`,
    healthClass,
    state: isTrue(status?.['ready']) ? 'Up' : 'Down',
    ...(description !== undefined && { description }),
  }
}

const httpsPorts = new Set([443, 8443])

/** Empty until its load balancer has an address, and for ports that are not TCP. */
function addressesOfService(object: KubeObject): string[] {
  const ports = objectsOf(fieldAt(object, 'spec', 'ports')).filter(
    ({ protocol = 'TCP' }) => protocol === 'TCP',
  )
  return balancerHosts(object).flatMap((host) =>
    ports.map((port) => {
      const number = numberOf(port['port']) ?? 80
      const isHttps = httpsPorts.has(number) || String(port['name'] ?? '').startsWith('https')
      return `${isHttps ? 'https' : 'http'}://${host}:${number}/`
    }),
  )
}

/** By the hosts of its rules; where these have none, by the address of its load balancer. */
function addressesOfIngress(object: KubeObject): string[] {
  const entries = objectsOf(fieldAt(object, 'spec', 'tls'))
  const secured = new Set(entries.flatMap(({ hosts }) => textsOf(hosts)))
  const named = objectsOf(fieldAt(object, 'spec', 'rules')).flatMap(
    ({ host }) => textOf(host) ?? [],
  )
  const hosts = named.filter((host) => !host.includes('*'))
  return [...new Set(hosts.length > 0 ? hosts : balancerHosts(object))].map(
    (host) =>
      `${secured.has(host) || (hosts.length === 0 && entries.length > 0) ? 'https' : 'http'}://${host}/`,
  )
}

function balancerHosts(object: KubeObject): string[] {
  return objectsOf(fieldAt(object, 'status', 'loadBalancer', 'ingress')).flatMap(
    ({ hostname, ip }) => {
      const host = textOf(hostname) ?? textOf(ip)
      return host === undefined ? [] : host.includes(':') ? `[${host}]` : host
    },
  )
}

function inboundRulesOf(object: JsonObject): JsonObject[] {
  return rulesOf(fieldAt(object, 'spec', 'ingress'))
}

function outboundRulesOf(object: JsonObject): JsonObject[] {
  return rulesOf(fieldAt(object, 'spec', 'egress'))
}

/** One for each port of each rule, by number or name; peers are not shown. */
function rulesOf(listed: unknown): JsonObject[] {
  return objectsOf(listed)
    .flatMap((rule) => objectsOf(rule['ports']))
    .map((port) => ({ protocol: textOf(port['protocol']) ?? 'TCP', portRanges: [toRange(port)] }))
}

function toRange({ port, endPort }: JsonObject): JsonObject {
  const startPort = typeof port === 'string' ? undefined : numberOf(port)
  if (startPort !== undefined) return { startPort, endPort: numberOf(endPort) ?? startPort }
  const name = textOf(port)
  return name === undefined
    ? { startPort: 0, endPort: 65_535 }
    : { startPortName: name, endPortName: name }
}

export type Labels = Readonly<Record<string, string>>

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
  /** As that of workloads. */
  readonly state: string
}

export interface KeptPlain extends Basics {
  readonly role: 'other'
}

export interface ObjectKind {
  readonly kind: Kind
  /** As the API server serves it: elements of lists name none. */
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
      return { ...basics, role, health: sharing.share(healthOf(object)), status }
    }
    case 'service':
      return {
        ...basics,
        role,
        selector: labelsOf(fieldAt(object, 'spec', 'selector')),
        addresses: addressesOfService(object),
      }
    case 'ingress':
      return {
        ...basics,
        role,
        services: servicesOf(object),
        addresses: addressesOfIngress(object),
      }
    case 'workload':
      return toWorkload(object, basics)
    case 'firewall':
      return { ...basics, role, inbound: inboundRulesOf(object), outbound: outboundRulesOf(object) }
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

function toWorkload(object: KubeObject, basics: Basics): KeptWorkload {
  const isCronJob = basics.kind.name === 'cronJob'
  const template = isCronJob
    ? fieldAt(object, 'spec', 'jobTemplate', 'spec', 'template')
    : fieldAt(object, 'spec', 'template')
  const images = objectsOf(fieldAt(template, 'spec', 'containers')).flatMap(
    ({ image }) => textOf(image) ?? [],
  )
  const scheduled =
    basics.kind.name === 'daemonSet'
      ? fieldAt(object, 'status', 'desiredNumberScheduled')
      : undefined
  return {
    ...basics,
    role: 'workload',
    desired: numberOf(scheduled ?? fieldAt(object, 'spec', 'replicas')) ?? 0,
    podLabels: labelsOf(fieldAt(template, 'metadata', 'labels')),
    images: [...new Set(images)],
    annotated: annotatedBalancers(object),
    trafficPercent: shareOf(object)?.percent,
    job: basics.kind.name === 'job' ? toJobState(object) : undefined,
    state: stateOf(object),
  }
}

/** Clients that see it change read the whole object again. */
function stateOf({ metadata, status }: KubeObject): string {
  return hash('sha1', JSON.stringify([metadata.generation, status]), 'base64url')
}

function labelsOf(value: unknown): Labels {
  return objectOf(value) as Labels
}

/** A JSON list of full names; anything else names none. */
function annotatedBalancers({ metadata }: KubeObject): string[] {
  return textsOf(parseIfJson(metadata.annotations?.[trafficAnnotation] ?? ''))
}

function servicesOf(object: KubeObject): string[] {
  const paths = objectsOf(fieldAt(object, 'spec', 'rules')).flatMap((rule) =>
    objectsOf(fieldAt(rule, 'http', 'paths')),
  )
  const backends = [
    fieldAt(object, 'spec', 'defaultBackend'),
    ...paths.map(({ backend }) => backend),
  ]
  return [
    ...new Set(backends.flatMap((backend) => textOf(fieldAt(backend, 'service', 'name')) ?? [])),
  ]
}
