/** Operations of the provider `kubernetes` on a real control plane. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type JsonObject, objectOf, objectsOf } from '../../packages/base/json/values.ts'
import { type ControlPlane, startControlPlane } from './kubernetes.ts'
import type { KubernetesObject } from './kubernetes-client.ts'
import {
  type KubernetesInfrastructure,
  startKubernetesInfrastructure,
} from './kubernetes-infrastructure.ts'
import { waitFor } from './wait-until.ts'

export interface TaskView {
  readonly id: string
  readonly status: {
    readonly completed: boolean
    readonly failed: boolean
    readonly status: string
  }
  readonly resultObjects: readonly JsonObject[]
}

export interface Operations {
  readonly plane: ControlPlane
  readonly infrastructure: KubernetesInfrastructure
  readonly namespace: string
  /** The result of a task that succeeds; empty where it has none. */
  run(operation: string, description: JsonObject): Promise<JsonObject>
  /** The message of a task that fails, or of a submission that is refused. */
  fail(operation: string, description: JsonObject): Promise<string>
  deploy(manifests: readonly unknown[], fields?: JsonObject): Promise<JsonObject>
  failDeploy(manifests: readonly unknown[], fields?: JsonObject): Promise<string>
  /** Live objects of the test's namespace, by plural: `deployments/web`. */
  get(path: string): Promise<KubernetesObject>
  find(path: string): Promise<KubernetesObject | undefined>
  names(plural: string): Promise<string[]>
  path(path: string): string
}

export interface OperationsOptions {
  readonly account?: JsonObject
  readonly general?: JsonObject
  /** What the permission service says of users; undefined: authorization is off. The operations are alice's. */
  readonly views?: Readonly<Record<string, JsonObject>>
}

/** Undefined when Kubernetes is not built; the test is skipped then. */
export async function startOperations(
  t: TestContext,
  { account = {}, general = {}, views }: OperationsOptions = {},
): Promise<Operations | undefined> {
  const plane = await startControlPlane(t)
  if (plane === undefined) return undefined
  const namespace = await plane.namespace()
  const infrastructure = await startKubernetesInfrastructure(t, {
    accounts: [
      {
        name: 'k8s',
        kubeconfigContents: plane.kubeconfig(),
        versioning: 'clouddriver',
        ...account,
      },
    ],
    general,
    ...(views !== undefined && { views }),
  })
  return toOperations(plane, infrastructure, namespace)
}

function toOperations(
  plane: ControlPlane,
  infrastructure: KubernetesInfrastructure,
  namespace: string,
): Operations {
  const submit = (operation: string, description: JsonObject) =>
    submitOperation(infrastructure, operation, {
      account: 'k8s',
      credentials: 'k8s',
      cloudProvider: 'kubernetes',
      ...description,
    })
  const run: Operations['run'] = async (operation, description) => {
    const { task, refusal } = await submit(operation, description)
    assert.equal(refusal, undefined)
    assert.equal(task?.status.failed, false, JSON.stringify(task?.resultObjects))
    return Object.assign({}, ...(task?.resultObjects ?? [])) as JsonObject
  }
  const fail: Operations['fail'] = async (operation, description) => {
    const { task, refusal } = await submit(operation, description)
    if (refusal !== undefined) return refusal
    assert.equal(task?.status.failed, true, JSON.stringify(task?.resultObjects))
    return String(objectsOf(task?.resultObjects).at(-1)?.['message'])
  }
  const deployment = (manifests: readonly unknown[], fields: JsonObject) => ({
    moniker: { app: 'shop' },
    manifests: manifests.map((manifest) => inNamespace(manifest, namespace)),
    ...fields,
  })
  const path = (given: string) => objectPath(namespace, given)
  return {
    ...{ plane, infrastructure, namespace, run, fail, path },
    deploy: (manifests, fields = {}) => run('deployManifest', deployment(manifests, fields)),
    failDeploy: (manifests, fields = {}) => fail('deployManifest', deployment(manifests, fields)),
    get: (given) => plane.api.get(path(given)),
    find: (given) => plane.api.find(path(given)),
    names: async (plural) =>
      (await plane.api.list(path(plural))).map(({ metadata }) => metadata.name).sort(),
  }
}

async function submitOperation(
  { ask }: KubernetesInfrastructure,
  operation: string,
  description: JsonObject,
): Promise<{ readonly task?: TaskView; readonly refusal?: string }> {
  const answer = await ask('POST', '/kubernetes/ops', [{ [operation]: description }], 'alice')
  const body = objectOf(answer.body)
  if (answer.status !== 200) return { refusal: JSON.stringify(body) }
  const task = await waitFor(
    async () => {
      const view = (await ask('GET', `/task/${String(body['id'])}`, undefined, 'alice'))
        .body as TaskView
      return view.status.completed ? view : undefined
    },
    () => `the end of ${operation}`,
  )
  return { task }
}

function inNamespace(manifest: unknown, namespace: string): unknown {
  const { metadata, ...rest } = objectOf(manifest)
  return manifest === null ? null : { ...rest, metadata: { namespace, ...objectOf(metadata) } }
}

const groups: Readonly<Record<string, string>> = {
  ...{
    deployments: 'apps/v1',
    replicasets: 'apps/v1',
    statefulsets: 'apps/v1',
    daemonsets: 'apps/v1',
  },
  ...{
    jobs: 'batch/v1',
    cronjobs: 'batch/v1',
    horizontalpodautoscalers: 'autoscaling/v2',
    ingresses: 'networking.k8s.io/v1',
  },
}

function objectPath(namespace: string, path: string): string {
  const group = groups[path.split('/')[0] ?? '']
  return `/${group === undefined ? 'api/v1' : `apis/${group}`}/namespaces/${namespace}/${path}`
}

/** With a container `main`. */
export function workload(
  kind: string,
  name: string,
  spec: JsonObject = {},
  container: JsonObject = {},
): JsonObject {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image: 'app:1', ...container }] },
      },
      ...(kind === 'StatefulSet' && { serviceName: name }),
      ...spec,
    },
  }
}

export function configMap(name: string, data: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data }
}

export function service(name: string, selector: JsonObject): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector, ports: [{ port: 80 }] },
  }
}
