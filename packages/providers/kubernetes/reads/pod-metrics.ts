/** Processor time and memory that containers use, in the units of `kubectl top`. */
import { fieldAt, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { isApiError } from '../api/api-error.ts'
import type { KubernetesAccount } from '../parts.ts'

/** None where nothing measures, or where Fairlead may not read it. */
export async function readPodMetrics(account: KubernetesAccount, namespace: string, pod: string): Promise<JsonObject[]> {
  const path = pathTo`/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${pod}`
  const measured = await account.api.read(path).catch((error: unknown) => {
    if (isApiError(error)) return undefined
    throw error
  })
  return objectsOf(fieldAt(measured, 'containers')).map((container) => ({
    containerName: container['name'],
    metrics: {
      'CPU(cores)': formatCores(textOf(fieldAt(container, 'usage', 'cpu')) ?? '0'),
      'MEMORY(bytes)': formatBytes(textOf(fieldAt(container, 'usage', 'memory')) ?? '0'),
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
export function parseQuantity(text: string): number {
  const [, number = '', unit = ''] = /^([\d.]+)([a-zA-Z]*)$/.exec(text) ?? []
  return Number(number) * (factors[unit] ?? 0) || 0
}

function formatCores(text: string): string {
  return `${Math.ceil(parseQuantity(text) * 1000)}m`
}

function formatBytes(text: string): string {
  return `${Math.ceil(parseQuantity(text) / 1024 ** 2)}Mi`
}
