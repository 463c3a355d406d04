/** Calls to services for explanations: few connections, no retries. */
import type { ServiceTls } from '@fairlead/base/services/service-tls.ts'
import type { ServiceAddress, ServiceName } from '@fairlead/base/services/services.ts'
import { Upstreams } from '@fairlead/gateway/upstreams/upstreams.ts'

export function openQuestions(
  { okHttpClient: { tls } }: { readonly okHttpClient: { readonly tls?: ServiceTls } },
  services: Partial<Record<ServiceName, ServiceAddress>>,
  timeoutMs: number,
  maxAnswerBytes = 128 * 1024 * 1024,
): Upstreams {
  return new Upstreams({
    services,
    tls,
    bounds: {
      connectTimeoutMs: timeoutMs,
      readTimeoutMs: timeoutMs,
      maxConnections: 10,
      maxWaiting: 90,
    },
    keepAliveMs: 1000,
    maxAnswerBytes,
    retry: false,
    circuit: false,
  })
}
