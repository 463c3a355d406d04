/** Objects of Kubernetes in the size that clusters have them. */
import { fieldAt, type JsonObject, objectOf } from '../src/json/values.ts'

export interface Named {
  readonly application: string
  readonly namespace: string
  readonly name: string
}

/** With all that API servers add, managed fields included: about 5 KB. */
export function toPod({ application, namespace, name, group }: Named & { group: string }, groupUid: string): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { app: group, 'app.kubernetes.io/name': application, 'app.kubernetes.io/managed-by': 'spinnaker', front: group },
      annotations: annotationsOf({ application, namespace, name: group }),
      // Not as its controller, which would count the pods and remove some.
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: group, uid: groupUid }],
    },
    spec: {
      nodeName: 'bench',
      serviceAccountName: 'default',
      terminationGracePeriodSeconds: 0,
      containers: [toContainer('main')],
      tolerations: ['not-ready', 'unreachable'].map((reason) => ({
        key: `node.kubernetes.io/${reason}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
    },
  }
}

function toContainer(name: string): JsonObject {
  return {
    name,
    image: `registry.example/team/${name}:1.2.3`,
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: Array.from({ length: 6 }, (_, index) => ({ name: `SETTING_${index}`, value: `a value of the setting ${index}` })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    readinessProbe: { httpGet: { path: '/health', port: 'http' }, periodSeconds: 5 },
  }
}

/** As a kubelet reports it. */
export function toPodStatus(isReady: boolean): JsonObject {
  const atTime = new Date().toISOString().replace(/\.\d+/, '')
  const status = isReady ? 'True' : 'False'
  return {
    phase: 'Running',
    hostIP: '127.0.0.1',
    podIP: '10.244.0.1',
    startTime: atTime,
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: type.endsWith('Ready') ? status : 'True',
      lastTransitionTime: atTime,
    })),
    containerStatuses: ['main'].map((name) => ({
      name,
      image: `registry.example/team/${name}:1.2.3`,
      imageID: `registry.example/team/${name}@sha256:${'0123456789abcdef'.repeat(4)}`,
      containerID: `containerd://${'0123456789abcdef'.repeat(4)}`,
      ready: isReady,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: atTime } },
    })),
  }
}

/** What a real API server adds by itself. */
export function withManagedFields(object: JsonObject): JsonObject {
  const names = Object.keys(objectOf(fieldAt(object, 'metadata', 'labels')))
  const fields = Object.fromEntries([...names, ...names.map((name) => `k:${name}`)].map((name) => [`f:${name}`, { '.': {} }]))
  const managedFields = ['kube-controller-manager', 'kubelet'].map((manager) => ({
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': { 'f:labels': fields }, 'f:spec': { 'f:containers': fields }, 'f:status': fields },
  }))
  return { ...object, metadata: { ...objectOf(object['metadata']), managedFields } }
}

/** Its selector matches no pod: its controller leaves alone what is created for it. */
export function toReplicaSet(named: Named): JsonObject {
  const labels = { app: named.name, counted: 'false', front: named.name }
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: named.name, namespace: named.namespace, labels: managedLabels(named), annotations: annotationsOf(named) },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [toContainer('main'), toContainer('sidecar')] } },
    },
  }
}

export function toDeployment(named: Named, replicas: number): JsonObject {
  const labels = { app: named.name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: named.name, namespace: named.namespace, labels: managedLabels(named), annotations: annotationsOf(named) },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [toContainer('main')] } },
    },
  }
}

export function toService(named: Named, selector: JsonObject): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: named.name, namespace: named.namespace, labels: managedLabels(named), annotations: annotationsOf(named) },
    spec: { selector, ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }] },
  }
}

export function toNetworkPolicy(named: Named): JsonObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: named.name, namespace: named.namespace, labels: managedLabels(named), annotations: annotationsOf(named) },
    spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ ports: [{ port: 8080, protocol: 'TCP' }] }] },
  }
}

export function toIngress(named: Named, service: string): JsonObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: named.name, namespace: named.namespace, labels: managedLabels(named), annotations: annotationsOf(named) },
    spec: { defaultBackend: { service: { name: service, port: { number: 80 } } } },
  }
}

function managedLabels({ application }: Named): JsonObject {
  return { 'app.kubernetes.io/name': application, 'app.kubernetes.io/managed-by': 'spinnaker' }
}

function annotationsOf({ application, namespace, name }: Named): JsonObject {
  return {
    'artifact.spinnaker.io/location': namespace,
    'artifact.spinnaker.io/name': name,
    'artifact.spinnaker.io/type': 'kubernetes/replicaSet',
    'artifact.spinnaker.io/version': '',
    'moniker.spinnaker.io/application': application,
    'moniker.spinnaker.io/cluster': `replicaSet ${name}`,
  }
}
