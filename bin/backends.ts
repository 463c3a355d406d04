/** `fairlead backends`: serves the embedded back ends to gateways in other processes, and stops gracefully. */
import { setTimeout as sleep } from 'node:timers/promises'
import { DirectoryInUse, lockDataDir } from '../src/backends/hosting/lock.ts'
import { withReloaded } from '../src/backends/infrastructure/setting-keys.ts'
import type { Config } from '../src/config/config.ts'
import { isLoopback } from '../src/net/loopback.ts'
import { socketPathFor } from '../src/storage/socket-path.ts'
import { openLog } from '../src/telemetry/log.ts'
import { keepMemorySmall } from '../src/telemetry/memory.ts'
import { toAddresses } from '../src/upstreams/addresses.ts'
import { embedServices } from '../src/workers/embed-services.ts'
import { readArguments } from './arguments.ts'
import { explainFailure } from './failure.ts'
import { configOption, readConfig, settingsHint } from './read-config.ts'
import { reloadOnSignal } from './reload-on-signal.ts'
import { recordServer } from './server-process.ts'
import { reportTo, type ServiceManager } from './service-manager.ts'
import { packageVersion } from './version.ts'

export const usage = `Usage: fairlead backends [options]

  --standby       wait while another process uses the data directory, and take over when it ends
  --config FILE   another configuration file; may be repeated, later wins

Serves the embedded back ends on backends.address and backends.port to gateways that show backends.key (FAIRLEAD_BACKENDS_KEY)
or a client certificate. A gateway uses them with services.embedded.baseUrl and the same key. Give both the same configuration.
`

const options = { standby: { type: 'boolean', default: false }, ...configOption } as const
const standbyPauseMs = 200

export async function run(args: readonly string[]): Promise<undefined> {
  const { values } = readArguments(args, { command: 'backends', options, hint: settingsHint })
  const { config, notices } = await readConfig(args, { servesBackends: true })
  const { log } = openLog(config.telemetry.logLevel, config.telemetry.logFormat)
  for (const notice of notices) log.warn(notice)
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort(signal))
  try {
    demandGuard(config)
    const manager = reportTo(log)
    if (values.standby) void manager.ready('standing by')
    const lock = await lockWhenFree(config.backends.dataDir, { waits: values.standby, signal: stopping.signal, log })
    if (lock === undefined) return process.exit(0)
    await serve(config, { args, log, manager, stopping })
    lock.close()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`Fairlead cannot start: ${explainFailure(error, config.http)}\n`)
    process.exit(1)
  }
}

/** Back ends believe who their callers say they are, so other callers are kept out. @throws {Error} */
function demandGuard({ upstreams }: Config): void {
  const { key, tls } = upstreams.embedded.listener
  if (key !== undefined || tls?.ca !== undefined) return
  throw new Error(
    'Nothing guards the back ends. Set backends.key, or FAIRLEAD_BACKENDS_KEY, here and for each gateway, such as to what ' +
      '"openssl rand -base64 32" prints, or demand client certificates with backends.tls.',
  )
}

type Log = ReturnType<typeof openLog>['log']

/** Undefined: stopped before. @throws {Error} of `lockDataDir` */
async function lockWhenFree(dataDir: string, { waits, signal, log }: { waits: boolean; signal: AbortSignal; log: Log }) {
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      return lockDataDir(dataDir)
    } catch (error) {
      if (!waits || !(error instanceof DirectoryInUse)) throw error
      if (isFirst) log.info(`standing by: another process uses ${dataDir}`)
      await sleep(standbyPauseMs, undefined, { signal }).catch(() => {})
    }
  }
  return undefined
}

interface ServeOptions {
  readonly args: readonly string[]
  readonly log: Log
  readonly manager: ServiceManager
  readonly stopping: AbortController
}

/** Resolves when the signal has come and everything is closed. */
async function serve(config: Config, { args, log, manager, stopping }: ServeOptions): Promise<void> {
  const { signal } = stopping
  const { dataDir } = config.backends
  const socketPath = socketPathFor(dataDir, 'backends.sock')
  const services = toAddresses(config.upstreams, socketPath)
  const { listener } = config.upstreams.embedded
  if (listener.tls === undefined && !isLoopback(listener.address))
    log.warn('the back ends are served without TLS: programs that read the network see the key; set backends.tls.keyStore')
  const backends = embedServices({ config, log, version: packageVersion(), services, socketPath, listener })
  if (backends === undefined) throw new Error('No back end is embedded: every service of this configuration has an address.')
  await backends.ready
  recordServer(dataDir)
  keepMemorySmall()
  reloadOnSignal({
    read: () => readConfig(args, { servesBackends: true }),
    reload: (next) => {
      const { infrastructure } = withReloaded(config.backends, next.backends)
      backends.reload({ infrastructure })
      log.level = next.telemetry.logLevel
      log.info('the configuration was read again: accounts and the log level count now, other settings after a restart')
    },
    stop: (hangup) => stopping.abort(hangup),
    log,
    manager,
  })
  void manager.ready('serving')
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
  void manager.stopping()
  log.info(`${signal.reason}: finishing what is in flight`)
  await backends.close()
}
