/** Memory and processor time of server groups: samples of metrics.k8s.io, kept while clients ask. */

import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServerGroup } from '../../infrastructure/model.ts'
import { isApiError } from '../api/api-error.ts'
import type { KubernetesAccount } from '../parts.ts'
import { answered } from './object-lookup.ts'

const quantity = or(textOf, '0')
const toMeasured = shape({
  metadata: shape({ name: textOf }),
  containers: list(shape({ name: textOf, usage: shape({ cpu: quantity, memory: quantity }) })),
})
const toMeasuredList = shape({ items: list(toMeasured) })

/** None where nothing measures, or where Fairlead may not read it. */
export async function readPodMetrics(
  account: KubernetesAccount,
  namespace: string,
  pod: string,
): Promise<JsonObject[]> {
  const path = pathTo`/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${pod}`
  const measured = await account.api.read(path).catch((error: unknown) => {
    if (isApiError(error)) return undefined
    throw error
  })
  return toMeasured(measured).containers.map(({ name, usage }) => ({
    containerName: name,
    metrics: {
      'CPU(cores)': formatCores(usage.cpu),
      'MEMORY(bytes)': formatBytes(usage.memory),
    },
  }))
}

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
}

/** Such as `250m` and `12Mi`; 0 for anything else. */
function parseQuantity(text: string): number {
  const [, number = '', unit = ''] = /^([\d.]+)([a-zA-Z]*)$/.exec(text) ?? []
  return Number(number) * (factors[unit] ?? 0) || 0
}

function formatCores(text: string): string {
  return `${Math.ceil(parseQuantity(text) * 1000)}m`
}

function formatBytes(text: string): string {
  return `${Math.ceil(parseQuantity(text) / 1024 ** 2)}Mi`
}

interface Sample {
  readonly atMs: number
  readonly memory: number
  readonly cpu: number
}

type PodSamples = ReadonlyMap<string, Omit<Sample, 'atMs'>>

const samplePeriodMs = 10_000
const keptMs = 900_000

export class PodUsage {
  readonly #now: () => number
  /** By the place of a server group. */
  readonly #samples = new Map<string, Sample[]>()
  /** By account and namespace, whose server groups are read together. */
  readonly #reads = new Map<string, { readonly atMs: number; readonly pods: Promise<PodSamples> }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** The sums over all pods, oldest first; empty without a metrics server. @throws {PortError} 5xx */
  async read(account: KubernetesAccount, group: ServerGroup): Promise<readonly Sample[]> {
    const key = JSON.stringify([group.account, group.region, group.name])
    const latest = this.#samples.get(key)?.at(-1)
    if (latest === undefined || this.#isDue(latest.atMs)) {
      const { atMs, pods } = this.#readNamespace(account, group.region)
      const used = await pods
      const known = group.instances.flatMap(({ humanName }) => used.get(humanName) ?? [])
      this.#drop()
      // Another question about the group may have been faster.
      const samples = this.#samples.get(key) ?? []
      if (known.length > 0 && samples.at(-1)?.atMs !== atMs) {
        const sum = (of: 'memory' | 'cpu') => known.reduce((total, each) => total + each[of], 0)
        this.#samples.set(key, [...samples, { atMs, memory: sum('memory'), cpu: sum('cpu') }])
      }
    }
    return this.#samples.get(key) ?? []
  }

  #readNamespace(account: KubernetesAccount, namespace: string) {
    const key = JSON.stringify([account.settings.name, namespace])
    const known = this.#reads.get(key)
    if (known !== undefined && !this.#isDue(known.atMs)) return known
    const read = { atMs: this.#now(), pods: answered(account, () => readPods(account, namespace)) }
    this.#reads.set(key, read)
    return read
  }

  /** A clock that is set back makes it due, too. */
  #isDue(atMs: number): boolean {
    return Math.abs(this.#now() - atMs) >= samplePeriodMs
  }

  #drop(): void {
    for (const [key, samples] of this.#samples) {
      const kept = samples.filter(({ atMs }) => Math.abs(this.#now() - atMs) < keptMs)
      if (kept.length === 0) this.#samples.delete(key)
      else this.#samples.set(key, kept)
    }
    for (const [key, { atMs }] of this.#reads) if (this.#isDue(atMs)) this.#reads.delete(key)
  }
}

/** By full names. None where nothing measures, or where Fairlead may not read it. */
async function readPods({ api }: KubernetesAccount, namespace: string): Promise<PodSamples> {
  const answer = await api
    .read(pathTo`/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`)
    .catch((error: unknown) => {
      if (isApiError(error, 403, 404)) return undefined
      throw error
    })
  return new Map(
    toMeasuredList(answer).items.map(({ metadata, containers }) => {
      const sum = (of: 'memory' | 'cpu') =>
        containers.reduce((total, { usage }) => total + parseQuantity(usage[of]), 0)
      return [`pod ${metadata.name}`, { memory: sum('memory'), cpu: sum('cpu') }]
    }),
  )
}
