/** Composition root: opens the parts of the gateway in order, closes them in reverse. */
import { type Keep, openParts } from '@fairlead/base/concurrency/open-parts.ts'
import { LineBudget } from '@fairlead/base/telemetry/line-budget.ts'
import { Metrics } from '@fairlead/base/telemetry/metrics.ts'
import { openTlsFiles } from '@fairlead/base/tls/tls-files.ts'
import { openAccess, openStores } from './gateway/access.ts'
import type { Gateway, GatewayContext, GatewayOptions } from './gateway/context.ts'
import { openDeckPlugins } from './gateway/deck-plugins.ts'
import { createPlatform } from './gateway/platform.ts'
import { openServices } from './gateway/services.ts'
import { createSteps, openServing } from './gateway/serving.ts'

/** Every part that was opened is closed again when a later one fails. @throws {Error} the message says what to do */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { result, close } = await openParts((keep) => openGateway(options, keep))
  return { ...result, close }
}

async function openGateway(options: GatewayOptions, keep: Keep): Promise<Omit<Gateway, 'close'>> {
  const { config, log, version, now = Date.now } = options
  const tls = config.http.tls && keep(openTlsFiles(config.http.tls, log))
  const linesWithoutLogin = keep(
    new LineBudget({
      ...config.telemetry.linesWithoutLogin,
      onWithheld: (address, requests) =>
        log.warn({ address, requests }, 'requests without login are not in the log one by one'),
    }),
  )
  const context: GatewayContext = {
    ...options,
    keep,
    tls,
    metrics: new Metrics(version),
    linesWithoutLogin,
    now,
  }
  const services = await openServices(context)
  const stores = await openStores(context)
  const access = await openAccess({ ...context, ...services, ...stores })
  const deckPlugins = await openDeckPlugins({
    ...context,
    settings: config.deckPlugins,
    configured: config.upstreams,
    outside: config.backends.outside,
    upstreams: services.upstreams,
    builtInPlugins: options.builtInPlugins,
    consoleDir: options.consoleDir,
  })
  const operations = createPlatform({ ...context, ...services, ...stores, ...access, deckPlugins })
  const steps = createSteps({ ...context, ...stores, ...access, ...operations })
  const serving = openServing({ ...context, ...services, ...access, ...operations, steps })
  keep({ close: () => operations.platform.health.stop() })
  return serving
}
