/** Objects of Kubernetes for tests, as users write them and as controllers make them. */
import type { JsonObject } from '../../packages/base/json/values.ts'

export interface ObjectFields {
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly JsonObject[]
  readonly [field: string]: unknown
}

/** Annotations of a deployed object. */
export function ownedBy(application: string, cluster: string): Record<string, string> {
  return {
    'moniker.spinnaker.io/application': application,
    'moniker.spinnaker.io/cluster': cluster,
  }
}

export function metadata(
  name: string,
  { namespace = 'n1', ...fields }: ObjectFields = {},
): JsonObject {
  return { name, namespace, ...fields }
}

export interface WorkloadFields extends ObjectFields {
  readonly image?: string
  readonly replicas?: number
  /** Label `app`, and what the workload selects. */
  readonly app?: string
}

/** With one container `main`; what is annotated goes to its pods, too. */
export function workload(kind: string, name: string, given: WorkloadFields = {}): JsonObject {
  const { image = 'app:1', replicas = 1, app = name, ...fields } = given
  const labels = { app }
  const template = {
    metadata: {
      labels,
      ...(fields.annotations !== undefined && { annotations: fields.annotations }),
    },
    spec: { containers: [{ name: 'main', image }] },
  }
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: metadata(name, fields),
    spec: {
      ...(kind !== 'DaemonSet' && { replicas }),
      selector: { matchLabels: labels },
      template,
    },
  }
}

export function service(
  name: string,
  selector: Readonly<Record<string, string>>,
  fields: ObjectFields = {},
): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(name, fields),
    spec: { selector, ports: [{ port: 80 }] },
  }
}

export function ingress(name: string, of: string, fields: ObjectFields = {}): JsonObject {
  const backend = { service: { name: of, port: { number: 80 } } }
  const paths = [{ path: '/', pathType: 'Prefix', backend }]
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metadata(name, fields),
    spec: { rules: [{ host: 'shop.test', http: { paths } }] },
  }
}

export function networkPolicy(
  name: string,
  ports: readonly JsonObject[],
  fields: ObjectFields = {},
): JsonObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadata(name, fields),
    spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ ports }] },
  }
}

/** Of a controller. */
export function ownerReference(owner: JsonObject): JsonObject {
  const { apiVersion, kind, metadata: of } = owner
  const { name, uid } = of as JsonObject
  return { apiVersion, kind, name, uid, controller: true }
}

/** A pod as a kubelet reports it. */
export function pod(
  name: string,
  owner: JsonObject | undefined,
  given: ObjectFields & { readonly ready?: boolean } = {},
): JsonObject {
  const { ready = true, ...fields } = given
  const status = {
    phase: 'Running',
    startTime: '2026-01-01T00:00:00Z',
    containerStatuses: [{ name: 'main', ready }],
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadata(name, {
      ...fields,
      ...(owner !== undefined && { ownerReferences: [ownerReference(owner)] }),
    }),
    spec: { initContainers: [{ name: 'setup' }], containers: [{ name: 'main', image: 'app:1' }] },
    status,
  }
}
