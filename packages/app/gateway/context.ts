/** The gateway as its callers see it, and what its parts are given. */

import type { Keep } from '@fairlead/base/concurrency/open-parts.ts'
import type { LineBudget } from '@fairlead/base/telemetry/line-budget.ts'
import type { Metrics } from '@fairlead/base/telemetry/metrics.ts'
import type { TlsFiles } from '@fairlead/base/tls/tls-files.ts'
import type { BuiltInPlugin } from '@fairlead/gateway/deck-plugins/deck-plugins.ts'
import type { ConnectionTimes } from '@fairlead/gateway/http/connections.ts'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { StartThread } from '../hosting/embedded.ts'

export interface Gateway {
  readonly server: FastifyInstance
  /** Starts to listen and to work in the background. @returns the address, `http://host:port` */
  listen(): Promise<string>
  /**
   * Has readiness fail from now on while everything is still served, so that balancers turn away before `close`. Resolves
   * after the configured time, or when it is aborted; at once where no balancer has probed readiness and none is configured.
   */
  drain(hurry?: AbortSignal): Promise<void>
  /** Applies what may change while the gateway runs, and logs what counts after a restart. */
  reload(next: Config): Promise<void>
  /** Finishes what is in flight, within the configured bound, and closes everything. */
  close(): Promise<void>
}

export interface GatewayOptions {
  config: Config
  log: Logger
  missingLogLines?: () => Readonly<Record<string, number>>
  /** What to type for `fairlead <words>`, for messages; that itself unless given. */
  command?: (words: string) => string
  notices?: readonly string[]
  version: string
  /** Reads the configuration again, for the few settings that count while the gateway runs. */
  reread?: () => Promise<Config>
  rereadMs?: number
  startThread?: StartThread
  consoleDir?: URL
  builtInPlugins?: readonly BuiltInPlugin[]
  connectionTimes?: Partial<ConnectionTimes>
  now?: () => number
}

export interface GatewayContext extends GatewayOptions {
  keep: Keep
  metrics: Metrics
  tls: TlsFiles | undefined
  linesWithoutLogin: LineBudget
  now: () => number
}
