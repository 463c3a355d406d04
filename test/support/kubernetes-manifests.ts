/** Manifests of the scenarios, with one container `main` where they have pods. */
import type { JsonObject } from '../../packages/base/json/values.ts'

export interface WorkloadFields {
  readonly metadata?: JsonObject
  /** Fields of the spec, besides selector and template. */
  readonly spec?: JsonObject
  /** Fields of the container. */
  readonly container?: JsonObject
  /** Fields of the pods' spec. */
  readonly pod?: JsonObject
  readonly podAnnotations?: JsonObject
}

export function deployment(
  name: string,
  image = 'app:1',
  replicas?: number,
  fields?: WorkloadFields,
): JsonObject {
  return workload('Deployment', name, image, withReplicas(fields, replicas))
}

export function replicaSet(
  name: string,
  image = 'app:1',
  replicas?: number,
  fields?: WorkloadFields,
): JsonObject {
  return workload('ReplicaSet', name, image, withReplicas(fields, replicas))
}

export function statefulSet(
  name: string,
  image = 'app:1',
  replicas?: number,
  fields?: WorkloadFields,
): JsonObject {
  const spec = { serviceName: name, ...fields?.spec }
  return workload('StatefulSet', name, image, withReplicas({ ...fields, spec }, replicas))
}

export function daemonSet(name: string, image = 'app:1', fields: WorkloadFields = {}): JsonObject {
  return workload('DaemonSet', name, image, fields)
}

function withReplicas(fields: WorkloadFields = {}, replicas?: number): WorkloadFields {
  return replicas === undefined ? fields : { ...fields, spec: { replicas, ...fields.spec } }
}

function workload(kind: string, name: string, image: string, fields: WorkloadFields): JsonObject {
  const labels = { app: name }
  const annotations = fields.podAnnotations
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, labels, ...fields.metadata },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...(annotations !== undefined && { annotations }) },
        spec: podSpec(image, fields),
      },
      ...fields.spec,
    },
  }
}

function podSpec(image: string, { container, pod }: WorkloadFields): JsonObject {
  // Pods of tests end at once.
  return {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image, ...container }],
    ...pod,
  }
}

/** @param exit Exit code of its container; undefined: it runs until it is deleted */
export function job(
  name: string,
  exit: number | undefined,
  fields: WorkloadFields = {},
): JsonObject {
  const annotations = fields.podAnnotations
  const image = exit === undefined ? 'run-forever:1' : `exit:${exit}`
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, ...fields.metadata },
    spec: {
      backoffLimit: 0,
      template: {
        ...(annotations !== undefined && { metadata: { annotations } }),
        spec: { restartPolicy: 'Never', ...podSpec(image, fields) },
      },
      ...fields.spec,
    },
  }
}

export function configMap(name: string, data: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data }
}

export function secret(
  name: string,
  stringData: JsonObject,
  metadata: JsonObject = {},
): JsonObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, ...metadata }, stringData }
}

export function service(
  name: string,
  selector: JsonObject | undefined,
  metadata: JsonObject = {},
): JsonObject {
  const spec = { ports: [{ port: 80 }], ...(selector !== undefined && { selector }) }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, ...metadata }, spec }
}

export function ingress(name: string, serviceName: string): JsonObject {
  const backend = { service: { name: serviceName, port: { number: 80 } } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name },
    spec: { defaultBackend: backend },
  }
}

export function namespace(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}

export function clusterRole(name: string): JsonObject {
  return {
    ...{
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name, namespace: null },
    },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
  }
}

/** Of a kind `Widget` in the group `example.test`, which takes any field. */
export const widgetDefinition: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.test', namespace: null },
  spec: {
    group: 'example.test',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}

export function widget(name: string, spec: JsonObject): JsonObject {
  return { apiVersion: 'example.test/v1', kind: 'Widget', metadata: { name }, spec }
}
