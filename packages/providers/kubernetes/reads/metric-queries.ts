/** A Prometheus that an account names, and its queries for metrics of a server group. */

import { httpAddress, optionalText } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

export const metricNames = ['requests', 'errors', 'latency', 'memory', 'cpu'] as const
export type MetricName = (typeof metricNames)[number]

const pods = 'namespace="$namespace",pod=~"$pods"'
/** Without the sums over all containers of a pod, and the container that holds its network. */
const containers = `${pods},container!="",container!="POD"`
const ofIstio = `reporter="destination",${pods}`
const ofIngress = 'exported_namespace="$namespace",exported_service=~"$services"'

/** The same for Istio and ingress-nginx: the kubelet measures what containers use. */
const usage = {
  memory: `sum(container_memory_working_set_bytes{${containers}})`,
  cpu: `sum(rate(container_cpu_usage_seconds_total{${containers}}[2m]))`,
}

const usualQueries = {
  istio: {
    requests: `sum(rate(istio_requests_total{${ofIstio}}[2m]))`,
    // A request without an answer is an error, as it is on this machine.
    errors: countFailed('istio_requests_total', ofIstio, 'response_code=~"5..|0"'),
    latency: average('istio_request_duration_milliseconds', ofIstio),
    ...usage,
  },
  'ingress-nginx': {
    requests: `sum(rate(nginx_ingress_controller_requests{${ofIngress}}[2m]))`,
    errors: countFailed('nginx_ingress_controller_requests', ofIngress, 'status=~"5.."'),
    latency: `1000 * ${average('nginx_ingress_controller_request_duration_seconds', ofIngress)}`,
    ...usage,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<MetricName, string>>>>

/** Without any failure there is no such series, although there are requests. */
function countFailed(counter: string, of: string, failed: string): string {
  return `sum(rate(${counter}{${of},${failed}}[2m])) or 0 * sum(rate(${counter}{${of}}[2m]))`
}

function average(histogram: string, of: string): string {
  return `sum(rate(${histogram}_sum{${of}}[2m])) / sum(rate(${histogram}_count{${of}}[2m]))`
}

export const PrometheusSettings = z
  .strictObject({
    baseUrl: httpAddress.describe('Its address, such as `http://prometheus.monitoring:9090`.'),
    token: optionalText.describe('Bearer token, where it asks for a login.'),
    source: z
      .enum(['istio', 'ingress-nginx'])
      .default('istio')
      .describe(
        'What counts requests. `ingress-nginx` counts by service: it tells server groups apart where each has a service of its own.',
      ),
    queries: z
      .strictObject({
        requests: optionalText.describe('Requests per second.'),
        errors: optionalText.describe('Failed requests per second.'),
        latency: optionalText.describe('Average latency in milliseconds.'),
        memory: optionalText.describe('Memory in bytes.'),
        cpu: optionalText.describe('Processor time in cores.'),
      })
      .prefault({})
      .describe(
        'PromQL in place of the usual queries. `$namespace`, `$group` and, as regular expressions, `$pods` and `$services` are filled in.',
      ),
  })
  .transform(({ queries, source, ...server }) => ({
    ...server,
    queries: Object.fromEntries(
      metricNames.map((name) => [name, queries[name] ?? usualQueries[source][name]] as const),
    ) as Readonly<Record<MetricName, string>>,
  }))
export type PrometheusSettings = z.infer<typeof PrometheusSettings>
