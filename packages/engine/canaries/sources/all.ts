/** All sources of metrics. */
import type { MetricSourceType } from '../metric-source.ts'
import { cloudWatchSource } from './cloudwatch.ts'
import { datadogSource } from './datadog.ts'
import { fileSource } from './file.ts'
import { newRelicSource } from './new-relic.ts'
import { prometheusSource } from './prometheus.ts'
import { serverGroupSource } from './server-groups.ts'

export const metricSources: readonly MetricSourceType[] = [
  serverGroupSource,
  prometheusSource,
  datadogSource,
  newRelicSource,
  cloudWatchSource,
  fileSource,
]
