/** Calls to services for explanations: few connections, no retries. */
import type { ServiceAddress, ServiceName } from '../upstreams/services.ts'
import type { ConfiguredUpstreams } from '../upstreams/settings.ts'
import { Upstreams } from '../upstreams/upstreams.ts'

export function openQuestions(
  { okHttpClient }: ConfiguredUpstreams,
  services: Partial<Record<ServiceName, ServiceAddress>>,
  timeoutMs: number,
): Upstreams {
  return new Upstreams({
    services,
    tls: okHttpClient.tls,
    bounds: { connectTimeoutMs: timeoutMs, readTimeoutMs: timeoutMs, maxConnections: 10, maxWaiting: 90 },
    keepAliveMs: 1000,
    maxAnswerBytes: 128 * 1024 * 1024,
    retry: false,
    circuit: false,
  })
}
