/** Metrics of server groups of this machine: what load balancers count of their instances, and the memory that these use. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import {
  samplePeriodMs,
  type TrafficSample,
  type TrafficSamples,
} from '@fairlead/base/net/agent-protocol.ts'

interface Metric {
  readonly unit: string
  readonly value: (samples: readonly TrafficSample[]) => number | undefined
}

const metrics: Readonly<Record<string, Metric>> = {
  requests: { unit: 'Count', value: (samples) => sum(samples, ({ requests }) => requests) },
  errors: { unit: 'Count', value: (samples) => sum(samples, ({ errors }) => errors) },
  latency: {
    unit: 'Milliseconds',
    value: (samples) => {
      const requests = sum(samples, (sample) => sample.requests)
      return requests === 0
        ? undefined
        : sum(samples, ({ latencyUs }) => latencyUs) / requests / 1000
    },
  },
  memory: {
    unit: 'Bytes',
    value: (samples) => {
      const known = samples.flatMap(({ memoryBytes }) => memoryBytes ?? [])
      return known.length === 0 ? undefined : known.reduce((total, bytes) => total + bytes, 0)
    },
  },
}

function sum(samples: readonly TrafficSample[], of: (sample: TrafficSample) => number): number {
  return samples.reduce((total, sample) => total + of(sample), 0)
}

export const metricNames: readonly string[] = Object.keys(metrics)

/** @returns undefined for a metric that does not exist */
export function toStatistics(
  name: string,
  samples: TrafficSamples,
  ids: readonly string[],
): JsonObject | undefined {
  const metric = Object.hasOwn(metrics, name) ? metrics[name] : undefined
  if (metric === undefined) return undefined
  const [all = [], open = []] = [false, true].map((isOpen) =>
    ids.flatMap((id) =>
      (samples[id] ?? []).filter((sample) => (sample.isOpen === true) === isOpen),
    ),
  )
  const key = metric.unit === 'Count' ? 'sum' : 'average'
  // The agent takes the samples of all instances at the same moments.
  const periods = Map.groupBy(all, ({ atMs }) => atMs)
  const datapoints = [...periods]
    .sort(([a], [b]) => a - b)
    .flatMap(([timestamp, ofPeriod]) => {
      const value = metric.value(ofPeriod)
      return value === undefined ? [] : [{ timestamp, [key]: value }]
    })
  const now = open.length === 0 ? undefined : metric.value(open)
  return {
    unit: metric.unit,
    period: samplePeriodMs / 1000,
    datapoints,
    ...(now !== undefined && { latest: { timestamp: open[0]?.atMs, [key]: now } }),
  }
}
