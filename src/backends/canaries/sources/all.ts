/** All sources of metrics. */
import type { MetricSourceType } from '../metric-source.ts'
import { prometheusSource } from './prometheus.ts'
import { serverGroupSource } from './server-groups.ts'

export const metricSources: readonly MetricSourceType[] = [serverGroupSource, prometheusSource]
