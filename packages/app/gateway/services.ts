/** The embedded back ends, and the connections to every service. */

import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import type { Tracing } from '@fairlead/base/telemetry/open-tracing.ts'
import { toAddresses } from '@fairlead/gateway/upstreams/addresses.ts'
import { openLoginUpstreams, openUpstreams } from '@fairlead/gateway/upstreams/open-upstreams.ts'
import { logCircuit } from '@fairlead/gateway/upstreams/service-health.ts'
import type { CircuitChange } from '@fairlead/gateway/upstreams/upstreams.ts'
import { lockDataDir } from '../hosting/lock.ts'
import type { GatewayContext } from './context.ts'
import { connectBackends } from './embed-services.ts'

export async function openServices({
  config,
  log,
  startThread,
  version,
  metrics,
  keep,
}: GatewayContext) {
  const { dataDir } = config.backends
  keep(lockDataDir(dataDir))
  const socketPath = socketPathFor(dataDir, 'backends.sock')
  const services = toAddresses(config.upstreams, config.upstreams.embedded.remote ?? socketPath)
  const embedded = keep(
    connectBackends({ config, log, version, startThread, services, socketPath }),
  )
  const tracing =
    config.telemetry.tracing &&
    keep(new (await loadTracing())(config.telemetry.tracing, version, log))
  const surroundings = {
    observe: metrics.upstreamAnswered,
    startCall: tracing?.startCall,
    onRetry: metrics.callRetried,
    embeddedUrl: () => embedded?.address?.(),
    onCircuit: (change: CircuitChange) => {
      logCircuit(log, change)
      if (change.state === 'open') metrics.circuitOpened(change.service)
    },
  }
  const toUpstreams = [config.upstreams, services, surroundings] as const
  const upstreams = keep(openUpstreams(...toUpstreams))
  const loginUpstreams = keep(openLoginUpstreams(...toUpstreams))
  return { services, embedded, tracing, upstreams, loginUpstreams }
}

export type Services = Awaited<ReturnType<typeof openServices>>

/** The library is loaded only here, since it takes time and memory that most gateways need not spend. */
async function loadTracing(): Promise<typeof Tracing> {
  return (await import('@fairlead/base/telemetry/open-tracing.ts')).Tracing
}
