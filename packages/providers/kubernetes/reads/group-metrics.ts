/** Metrics of server groups: of the Prometheus of an account, else what the pods use at the moment. */

import { parseIfJson } from '@fairlead/base/json/json.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, listOf, textOf } from '@fairlead/base/json/values.ts'
import {
  type CallOutside,
  createOutsideCalls,
  operatorAddress,
} from '@fairlead/base/outside/call-outside.ts'
import { defaultOutsideSettings } from '@fairlead/base/outside/settings.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { ServerGroup } from '../../infrastructure/model.ts'
import type { MetricReads } from '../../infrastructure/provider.ts'
import { parseFullName } from '../kinds.ts'
import type { KubernetesParts } from '../parts.ts'
import type { KubernetesAccountSettings } from '../settings.ts'
import { type MetricName, metricNames, type PrometheusSettings } from './metric-queries.ts'
import { PodUsage } from './pod-usage.ts'

const units: Readonly<Record<MetricName, string>> = {
  requests: 'Count',
  errors: 'Count',
  latency: 'Milliseconds',
  memory: 'Bytes',
  cpu: 'Cores',
}

const shownSeconds = 900
const stepSeconds = 15
const bounds = { maxAnswerBytes: 1024 ** 2, timeoutMs: 10_000, caller: 'Metrics' }

/** Values of a series: seconds, and a number as a text. */
const toAnswer = shape({
  error: textOf,
  data: shape({ result: list(shape({ values: list(listOf) })) }),
})

export function metricsOf({
  prometheus,
  metrics,
}: KubernetesAccountSettings): readonly MetricName[] {
  return metricNames.filter((name) => prometheus !== undefined || (metrics && isUsage(name)))
}

function isUsage(name: MetricName): name is 'memory' | 'cpu' {
  return name === 'memory' || name === 'cpu'
}

export function createMetricReads(parts: KubernetesParts): MetricReads {
  const call = createOutsideCalls(defaultOutsideSettings, bounds)
  const usage = new PodUsage(parts.now)
  return {
    async statistics(wanted, group) {
      const account = parts.account(group.account)
      const name = account && metricsOf(account.settings).find((each) => each === wanted)
      if (account === undefined || name === undefined) return undefined
      const { prometheus, metrics } = account.settings
      const asked =
        prometheus === undefined
          ? []
          : await askPrometheus(call, prometheus, { name, group, nowMs: parts.now() })
      // A Prometheus need not know what pods use.
      const isMeasured = asked.length === 0 && metrics && isUsage(name)
      const datapoints = isMeasured
        ? (await usage.read(account, group)).map((sample) => ({
            timestamp: sample.atMs,
            average: sample[name],
          }))
        : asked
      return { unit: units[name], period: stepSeconds, datapoints }
    },
  }
}

interface MetricsQuestion {
  readonly name: MetricName
  readonly group: ServerGroup
  readonly nowMs: number
}

/** @throws {PortError} 503 */
async function askPrometheus(
  call: CallOutside,
  prometheus: PrometheusSettings,
  { name, group, nowMs }: MetricsQuestion,
): Promise<JsonObject[]> {
  const { baseUrl, token, queries } = prometheus
  const end = nowMs / 1000
  // Before a group was created, its services served others.
  const start = Math.min(end, Math.max(end - shownSeconds, (group.createdMs ?? 0) / 1000))
  const query = new URLSearchParams({
    query: fillIn(queries[name], group),
    start: String(start),
    end: String(end),
    step: String(stepSeconds),
  })
  const fail = (reason: string) =>
    new PortError(503, `The Prometheus of the account ${group.account} fails: ${reason}`)
  const answer = await call({
    method: 'GET',
    url: operatorAddress(baseUrl, `/api/v1/query_range?${query}`),
    headers: {
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: undefined,
  }).catch((error: Error) => {
    throw fail(error.message)
  })
  const { error, data } = toAnswer(parseIfJson(answer.text))
  if (answer.status !== 200) throw fail(error ?? `it answers ${answer.status}.`)
  return toDatapoints(name, data.result[0]?.values ?? [])
}

/** Datapoints of one series, without NaN, which is the average of no values. */
function toDatapoints(name: MetricName, pairs: readonly (readonly unknown[])[]): JsonObject[] {
  return pairs.flatMap(([seconds, text]) => {
    const value = Number(text)
    if (!Number.isFinite(value)) return []
    const timestamp = Math.round(Number(seconds) * 1000)
    return [
      units[name] === 'Count'
        ? { timestamp, sum: value * stepSeconds }
        : { timestamp, average: value },
    ]
  })
}

/** Names of objects have no quotes; their dots are regular expressions, too. Load balancers may be what an author wrote. */
function fillIn(query: string, { region, name, loadBalancers }: ServerGroup): string {
  const bare = (fullName: string) => parseFullName(fullName)?.name ?? fullName
  const services = loadBalancers
    .flatMap((each) => /^service ([a-z0-9.-]+)$/.exec(each)?.[1] ?? [])
    .map(toPattern)
  const values: Readonly<Record<string, string>> = {
    namespace: region,
    group: bare(name),
    pods: `${toPattern(bare(name))}-[a-z0-9]+`,
    services: services.join('|'),
  }
  return query.replaceAll(
    /\$(namespace|group|pods|services)\b/g,
    (_, word: string) => values[word] ?? '',
  )
}

/** Within the quotes of a query, where a backslash is written twice. */
function toPattern(name: string): string {
  return name.replaceAll('.', '\\\\.')
}
