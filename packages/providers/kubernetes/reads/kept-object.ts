/** Objects as lists keep them: only what answers need, without data of secrets, values of environments and managed fields. */
import { hash } from 'node:crypto'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { fieldAt, isTrue, type JsonObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Moniker } from '@fairlead/base/names/moniker.ts'
import type { HealthRecord } from '../../infrastructure/model.ts'
import type { Kind, SpinnakerKind } from '../kinds.ts'
import { trafficAnnotation } from '../manifests/annotations.ts'
import { monikerOf } from '../manifests/moniker.ts'
import { shareOf } from '../manifests/shares.ts'
import { type KubeObject, millisecondsOf, type OwnerReference, ownerReferenceOf } from '../objects.ts'
import { type JobState, toJobState } from './job-state.ts'
import { addressesOfIngress, addressesOfService, healthOf, inboundRulesOf, outboundRulesOf } from './kept-parts.ts'
import type { Sharing } from './sharing.ts'

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

/** A server group. */
export interface KeptWorkload extends Basics {
  readonly role: 'workload'
  readonly desired: number
  /** Labels of its pods, by its template. */
  readonly podLabels: Labels
  readonly images: readonly string[]
  /** Full names of load balancers that its annotation names. */
  readonly annotated: readonly string[]
  /** Its share of the traffic. */
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

/** A load balancer in front of services. */
export interface KeptIngress extends Basics {
  readonly role: 'ingress'
  /** Names of services that it routes to. */
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

export type KeptObject = KeptPod | KeptWorkload | KeptService | KeptIngress | KeptFirewall | KeptManager | KeptPlain

const ignoreAnnotation = 'caching.spinnaker.io/ignore'

/** Whether an object asks not to be listed. */
export function isIgnored({ metadata }: KubeObject): boolean {
  return isTrue(metadata.annotations?.[ignoreAnnotation])
}

/** What an object is to lists. */
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
      return { ...basics, role, selector: labelsOf(fieldAt(object, 'spec', 'selector')), addresses: addressesOfService(object) }
    case 'ingress':
      return { ...basics, role, services: servicesOf(object), addresses: addressesOfIngress(object) }
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

function toBasics({ metadata }: KubeObject, { kind, apiVersion }: ObjectKind, sharing: Sharing): Basics {
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
  const template = isCronJob ? fieldAt(object, 'spec', 'jobTemplate', 'spec', 'template') : fieldAt(object, 'spec', 'template')
  const images = objectsOf(fieldAt(template, 'spec', 'containers')).flatMap(({ image }) => textOf(image) ?? [])
  const scheduled = basics.kind.name === 'daemonSet' ? fieldAt(object, 'status', 'desiredNumberScheduled') : undefined
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

/** The services of an ingress: its default backend, and those of its paths. */
function servicesOf(object: KubeObject): string[] {
  const paths = objectsOf(fieldAt(object, 'spec', 'rules')).flatMap((rule) => objectsOf(fieldAt(rule, 'http', 'paths')))
  const backends = [fieldAt(object, 'spec', 'defaultBackend'), ...paths.map(({ backend }) => backend)]
  return [...new Set(backends.flatMap((backend) => textOf(fieldAt(backend, 'service', 'name')) ?? []))]
}
