/** A real control plane for measurements: namespaces, many pods, and kubectl. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { textOf } from '../src/json/values.ts'
import type { KubernetesClient } from '../test/support/kubernetes-client.ts'
import { openProcesses } from '../test/support/kubernetes-control-plane.ts'
import { needsKubernetes } from '../test/support/kubernetes-programs.ts'
import { waitUntil } from '../test/support/wait-until.ts'
import { toPod, toPodStatus, toReplicaSet } from './kubernetes-objects.ts'

export interface Cluster {
  readonly api: KubernetesClient
  readonly kubeconfigFile: string
  createNamespace(name: string): Promise<void>
  /** @throws {Error} with what it wrote, when it fails */
  kubectl(...args: string[]): Promise<void>
  close(): Promise<void>
}

export interface Fleet {
  readonly applications: number
  readonly groupsPerApplication: number
  readonly podsPerGroup: number
}

/** More do not make the API server faster. */
const parallelRequests = 40
const run = promisify(execFile)

/** Undefined, with a message, where its programs are missing. */
export async function openCluster(): Promise<Cluster | undefined> {
  const skip = (reason?: string) => console.log(`\nWithout a real API server: ${reason}`)
  // It uses nothing else of the context of a test.
  const programs = needsKubernetes({ skip } as Partial<TestContext> as TestContext)
  if (programs === undefined) return undefined
  const processes = await openProcesses(programs)
  const api = processes.clientOf('admin')
  const kubeconfigFile = join(processes.folder, 'bench.kubeconfig')
  writeFileSync(kubeconfigFile, processes.kubeconfigOf('admin'), { mode: 0o600 })
  const env = { PATH: process.env['PATH'], HOME: processes.folder, KUBECONFIG: kubeconfigFile }
  return {
    api,
    kubeconfigFile,
    createNamespace: async (name) => {
      await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      const account = `/api/v1/namespaces/${name}/serviceaccounts/default`
      await waitUntil(async () => (await api.find(account)) !== undefined, `the service account of ${name}`)
    },
    kubectl: async (...args) => void (await run(programs.kubectl, args, { env, cwd: processes.folder })),
    close: processes.close,
  }
}

/** Creates replica sets and their pods, which run: the applications `app-0`, `app-1` … in one namespace. */
export async function fill({ api }: Cluster, namespace: string, fleet: Fleet): Promise<void> {
  const sets = Array.from({ length: fleet.applications * fleet.groupsPerApplication }, (_, index) => index)
  const pods: { readonly path: string; readonly body: unknown }[] = []
  await inParallel(sets, async (index) => {
    const application = `app-${index % fleet.applications}`
    const group = `${application}-${Math.floor(index / fleet.applications)}`
    const { metadata } = await api.create(
      `/apis/apps/v1/namespaces/${namespace}/replicasets`,
      toReplicaSet({ application, namespace, name: group }),
    )
    for (let pod = 0; pod < fleet.podsPerGroup; pod++) {
      const name = `${group}-${pod}`
      pods.push({ path: name, body: toPod({ application, namespace, name, group }, metadata.uid) })
    }
  })
  const status = toPodStatus(true)
  await inParallel(pods, async ({ path, body }) => {
    await api.create(`/api/v1/namespaces/${namespace}/pods`, body)
    await api.patch(`/api/v1/namespaces/${namespace}/pods/${path}/status`, { status })
  })
}

/** All pods, page by page as Fairlead reads them: what the API server alone takes. */
export async function listPods({ api }: Cluster): Promise<void> {
  for (let next: string | undefined = ''; next !== undefined; ) {
    const { metadata } = await api.get(`/api/v1/pods?limit=500&continue=${encodeURIComponent(next)}`)
    next = textOf(metadata['continue'])
  }
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: parallelRequests }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}
