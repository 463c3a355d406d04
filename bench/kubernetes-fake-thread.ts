/** A thread with the fake API server of tests, so that what the server does delays no measurement. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import type { JsonObject } from '../src/json/values.ts'
import { startFakeKubernetes } from '../test/support/fake-kubernetes.ts'
import type { FakeObject } from '../test/support/fake-kubernetes-objects.ts'
import {
  type Named,
  toDeployment,
  toIngress,
  toNetworkPolicy,
  toPod,
  toPodStatus,
  toReplicaSet,
  toService,
  withManagedFields,
} from './kubernetes-objects.ts'

export interface FakeFleet {
  readonly application: string
  readonly namespace: string
  readonly groups: number
  readonly podsPerGroup: number
}

const tickMs = 10
const maxLateMs = 1000
const fake = await startFakeKubernetes({ after: () => {} })
const podKind = fake.objects.kindOf('pods')

const commands = {
  /** Text of one that logs in with a token. */
  kubeconfig: (token: string) => fake.kubeconfig({ token }),
  put: (objects: readonly JsonObject[]) => void objects.map((object) => fake.objects.put(object)),
  /** Replica sets with pods that run. */
  fleet: ({ application, namespace, groups, podsPerGroup }: FakeFleet) => {
    for (let index = 0; index < groups; index++) {
      const named = { application, namespace, name: `${application}-${index}` }
      putGroup(named, podsPerGroup)
      fake.objects.put(toService(named, { front: named.name }))
    }
  },
  /** 50 objects: what an application of a small team has. */
  smallApplication: ({ application, namespace }: Pick<Named, 'application' | 'namespace'>) => {
    for (let index = 0; index < 4; index++) {
      const named = { application, namespace, name: `${application}-${index}` }
      fake.objects.put(withManagedFields(toDeployment(named, 8)))
      putGroup(named, 8)
      fake.objects.put(withManagedFields(toService(named, { front: named.name })))
    }
    const named = { application, namespace, name: application }
    for (const object of [toIngress(named, `${application}-0`), toNetworkPolicy(named)])
      fake.objects.put(withManagedFields(object))
    for (const name of [`${application}-a`, `${application}-b`, `${application}-c`, `${application}-d`]) {
      fake.objects.put(withManagedFields(toReplicaSet({ application, namespace, name })))
    }
  },
  /** Until now; only those with a token, where one is given. */
  requests: (token?: string) =>
    fake.requests.filter(({ headers }) => token === undefined || headers.authorization === `Bearer ${token}`).length,
  /** By method and path, for a look at what was requested. */
  lines: (since: number) => fake.requests.slice(since).map(({ method, path, query }) => `${method} ${path}?${query}`),
  connections: () => fake.relay.accepted,
  watches: () => fake.watches.size,
  /** Changes the health of pods everywhere but in the namespace `quiet`. @returns how many changes were made */
  churn: async ({ perSecond, seconds }: { readonly perSecond: number; readonly seconds: number }) => {
    const pods = fake.objects.list(podKind).filter(({ metadata }) => metadata.namespace !== 'quiet')
    const startMs = performance.now()
    let made = 0
    for (let isOver = false; !isOver; await sleep(tickMs)) {
      const elapsedMs = Math.min(performance.now() - startMs, seconds * 1000)
      isOver = elapsedMs === seconds * 1000
      // After a pause of this thread, it does not make up for all of it at once.
      const due = Math.max(Math.floor((elapsedMs * perSecond) / 1000), made)
      const from = Math.max(made, due - (perSecond * maxLateMs) / 1000)
      for (let index = from; index < due; index++) changePod(pods, index)
      made += due - from
    }
    return made
  },
  /** Changes the health of a pod. @returns the time of the change, by `Date.now` */
  flip: (pod: { readonly namespace: string; readonly name: string; readonly isReady: boolean }) => {
    const known = fake.objects.get(podKind, pod.namespace, pod.name)
    const atMs = Date.now()
    fake.objects.put({ ...known, status: toPodStatus(pod.isReady) })
    return atMs
  },
  disconnect: () => fake.stop(),
  reconnect: () => fake.start(),
  /** Forgets changes: watches have to begin anew. */
  compact: () => fake.objects.compact(),
} as const

export type Commands = typeof commands
type Command = (given: unknown) => unknown

parentPort?.on('message', async ({ id, name, given }: { id: number; name: keyof Commands; given: unknown }) => {
  try {
    parentPort?.postMessage({ id, result: await (commands[name] as Command)(given) })
  } catch (error) {
    parentPort?.postMessage({ id, error: String(error) })
  }
})

function putGroup(named: Named, pods: number): void {
  const { metadata } = fake.objects.put(withManagedFields(toReplicaSet(named)))
  for (let pod = 0; pod < pods; pod++) {
    const object = toPod({ ...named, name: `${named.name}-${pod}`, group: named.name }, metadata.uid)
    fake.objects.put({ ...withManagedFields(object), status: toPodStatus(true) })
  }
}

/** In turn, first each of them to unready, then back. */
function changePod(pods: readonly FakeObject[], index: number): void {
  const pod = pods[index % pods.length]
  if (pod === undefined) return
  fake.objects.put({ ...pod, status: toPodStatus(Math.floor(index / pods.length) % 2 === 1) })
  // Nothing resumes so far back, and the memory is that of the measuring process.
  if (fake.objects.changes.length > 20_000) fake.objects.changes.splice(0, 10_000)
}
