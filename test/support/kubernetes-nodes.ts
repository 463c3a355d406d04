/** Two simulated nodes: binds pods, reports their status as kubelets do, and removes what is deleted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldAt, objectsOf, textsOf } from '../../packages/base/json/values.ts'
import { type Behaviour, type BehaviourRule, isUnschedulable } from './kubernetes-behaviours.ts'
import type { KubernetesClient, KubernetesObject } from './kubernetes-client.ts'
import { createEventRecorder, type EventRecorder } from './kubernetes-events.ts'
import { type LogServer, type LogServerCertificate, openLogServer } from './kubernetes-logs.ts'
import { closedGatesOf, condition, now, stagesOf, toStatus } from './kubernetes-pod-status.ts'
import { kubernetesVersion } from './kubernetes-programs.ts'

export interface Nodes {
  readonly names: readonly string[]
  /** What pods do for which it applies, in place of what their images say; pods that run already change. Returns its end. */
  behave(applies: (pod: KubernetesObject) => boolean, behaviour: Behaviour): () => void
  readonly setLog: LogServer['setLog']
  close(): Promise<void>
}

interface Pod {
  object: KubernetesObject
  readonly podIP: string
  readonly startTime: string
  /** What the stages were made of, and how many are reported. */
  plan: string
  reported: number
  timer?: NodeJS.Timeout | undefined
  isBusy: boolean
  isStale: boolean
}

const names = ['node-a', 'node-b'] as const
const retryMs = 50

export async function startNodes(
  api: KubernetesClient,
  certificate: LogServerCertificate,
): Promise<Nodes> {
  const logs = await openLogServer(api, certificate)
  for (const name of names) await createNode(api, name, logs.port)
  const kubelets = new Kubelets(api)
  const loop = kubelets.follow()
  return {
    names,
    behave: (applies, behaviour) => kubelets.behave({ applies, behaviour }),
    setLog: logs.setLog,
    close: async () => {
      kubelets.stop()
      await Promise.all([loop, logs.close()])
    },
  }
}

async function createNode(api: KubernetesClient, name: string, logPort: number): Promise<void> {
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'topology.kubernetes.io/region': 'test',
    'topology.kubernetes.io/zone': name.replace('node', 'zone'),
  }
  await api.create('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
  const room = { cpu: '64', memory: '256Gi', 'ephemeral-storage': '1Ti', pods: '1000' }
  const status = {
    capacity: room,
    allocatable: room,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        lastHeartbeatTime: now(),
        lastTransitionTime: now(),
      },
    ],
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    nodeInfo: nodeInfoOf(name),
    daemonEndpoints: { kubeletEndpoint: { Port: logPort } },
  }
  await api.patch(`/api/v1/nodes/${name}/status`, { status })
}

/** All of it is required. */
function nodeInfoOf(name: string): Record<string, string> {
  const versions = {
    kubeletVersion: `v${kubernetesVersion()}`,
    kubeProxyVersion: '',
    kernelVersion: '',
    containerRuntimeVersion: '',
  }
  const system = { architecture: 'amd64', operatingSystem: 'linux', osImage: 'simulated' }
  return { ...versions, ...system, machineID: name, systemUUID: name, bootID: name }
}

class Kubelets {
  readonly #api: KubernetesClient
  readonly #events: EventRecorder
  readonly #end = new AbortController()
  readonly #pods = new Map<string, Pod>()
  #rules: readonly BehaviourRule[] = []
  #addresses = 0

  constructor(api: KubernetesClient) {
    this.#api = api
    this.#events = createEventRecorder(api)
  }

  behave(rule: BehaviourRule): () => void {
    this.#change([...this.#rules, rule])
    return () => this.#change(this.#rules.filter((other) => other !== rule))
  }

  #change(rules: readonly BehaviourRule[]): void {
    this.#rules = rules
    for (const pod of this.#pods.values()) this.#advance(pod)
  }

  stop(): void {
    this.#end.abort()
    for (const { timer } of this.#pods.values()) clearTimeout(timer)
  }

  /** Ends with `stop`; while the API server is away it tries again. */
  async follow(): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      try {
        const list = await this.#api.get('/api/v1/pods')
        this.#replaceAll(list['items'] as KubernetesObject[])
        const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${list.metadata.resourceVersion}`
        await this.#api.watch(
          `/api/v1/pods?${query}`,
          ({ type, object }) => this.#hear(type, object),
          signal,
        )
      } catch {}
      await sleep(retryMs, undefined, { signal }).catch(() => {})
    }
  }

  #replaceAll(objects: readonly KubernetesObject[]): void {
    const found = new Set(objects.map(({ metadata }) => metadata.uid))
    for (const uid of this.#pods.keys()) if (!found.has(uid)) this.#forget(uid)
    for (const object of objects) this.#hear('MODIFIED', object)
  }

  #hear(type: string, object: KubernetesObject): void {
    if (type === 'DELETED') this.#forget(object.metadata.uid)
    if (type !== 'ADDED' && type !== 'MODIFIED') return
    const pod = this.#pods.get(object.metadata.uid) ?? this.#createPod(object)
    pod.object = object
    this.#advance(pod)
  }

  #forget(uid: string): void {
    clearTimeout(this.#pods.get(uid)?.timer)
    this.#pods.delete(uid)
  }

  #createPod(object: KubernetesObject): Pod {
    const number = ++this.#addresses
    const podIP = `10.244.${(number >> 8) & 255}.${number & 255}`
    const pod: Pod = {
      object,
      podIP,
      startTime: now(),
      plan: '',
      reported: 0,
      isBusy: false,
      isStale: false,
    }
    this.#pods.set(object.metadata.uid, pod)
    return pod
  }

  /** One step at a time for each pod, until nothing is left to do. */
  #advance(pod: Pod): void {
    pod.isStale = true
    if (pod.isBusy) return
    pod.isBusy = true
    const work = async () => {
      while (pod.isStale && !this.#end.signal.aborted) {
        pod.isStale = false
        await this.#step(pod).catch(() => this.#retry(pod))
      }
      pod.isBusy = false
    }
    void work()
  }

  /** The API server is away, or the pod is gone, which its watch will report. */
  #retry(pod: Pod): void {
    clearTimeout(pod.timer)
    if (this.#pods.has(pod.object.metadata.uid))
      pod.timer = setTimeout(() => this.#continue(pod), retryMs).unref()
  }

  async #step(pod: Pod): Promise<void> {
    const { metadata, spec, status } = pod.object
    if (metadata.deletionTimestamp !== undefined) return this.#remove(pod)
    if (status['phase'] === 'Succeeded' || status['phase'] === 'Failed') return
    if (spec['nodeName'] === undefined) return this.#schedule(pod)
    if (names.some((name) => name === spec['nodeName'])) await this.#report(pod)
  }

  async #remove({ object }: Pod): Promise<void> {
    if (object.metadata['deletionGracePeriodSeconds'] === 0) return
    const preconditions = { uid: object.metadata.uid }
    await this.#api.delete(pathOf(object), { gracePeriodSeconds: 0, preconditions })
  }

  async #schedule(pod: Pod): Promise<void> {
    const { object } = pod
    if (objectsOf(object.spec['schedulingGates']).length > 0) return
    if (!isUnschedulable(object, this.#rules)) {
      const name = nodeOf(object) ?? names[Number(pod.podIP.split('.').at(-1)) % names.length]
      const target = { apiVersion: 'v1', kind: 'Node', name }
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: object.metadata.name },
        target,
      }
      await this.#api.create(`${pathOf(object)}/binding`, binding)
      const message = `Successfully assigned ${object.metadata.name} to ${name}`
      return this.#events.record(object, { reason: 'Scheduled', message })
    }
    if (pod.plan === 'unschedulable') return
    const why = { reason: 'Unschedulable', message: '0/2 nodes are available: 2 Insufficient cpu.' }
    await this.#patchStatus(pod, {
      phase: 'Pending',
      conditions: [condition(object, 'PodScheduled', false, why)],
    })
    pod.plan = 'unschedulable'
    this.#events.record(object, {
      type: 'Warning',
      reason: 'FailedScheduling',
      message: why.message,
    })
  }

  /** Reports the next stage whose time has come. */
  async #report(pod: Pod): Promise<void> {
    const stages = stagesOf(pod.object, this.#rules)
    const plan = JSON.stringify([stages, closedGatesOf(pod.object)])
    if (plan !== pod.plan) pod.reported = 0
    const stage = stages[pod.reported]
    if (stage === undefined || (plan === pod.plan && pod.timer !== undefined)) return
    clearTimeout(pod.timer)
    pod.timer = undefined
    pod.plan = plan
    await this.#patchStatus(pod, toStatus(pod.object, stage, { ...pod, hostIP: '127.0.0.1' }))
    this.#events.recordStage(pod.object, stage, stages[pod.reported - 1])
    pod.reported += 1
    const next = stages[pod.reported]
    if (next !== undefined) pod.timer = setTimeout(() => this.#continue(pod), next.afterMs).unref()
  }

  #continue(pod: Pod): void {
    pod.timer = undefined
    this.#advance(pod)
  }

  async #patchStatus({ object }: Pod, status: object): Promise<void> {
    await this.#api.patch(
      `${pathOf(object)}/status`,
      { metadata: { uid: object.metadata.uid }, status },
      'strategic',
    )
  }
}

function pathOf({ metadata: { namespace, name } }: KubernetesObject): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`
}

/** Pods of a daemon set name their node in their affinity. */
function nodeOf(pod: KubernetesObject): string | undefined {
  const terms = objectsOf(
    fieldAt(
      pod.spec,
      'affinity',
      'nodeAffinity',
      'requiredDuringSchedulingIgnoredDuringExecution',
      'nodeSelectorTerms',
    ),
  )
  const fields = terms
    .flatMap((term) => objectsOf(term['matchFields']))
    .filter(({ key }) => key === 'metadata.name')
  return fields.flatMap(({ values }) => textsOf(values))[0]
}
