/** `fairlead backends`: serves the embedded back ends to gateways in other processes, and stops gracefully. */

import type { Config } from '@fairlead/app/config/config.ts'
import { embedServices } from '@fairlead/app/gateway/embed-services.ts'
import { loadThread, type StartThread } from '@fairlead/app/hosting/embedded.ts'
import { type StandbyTurn, takeTurn } from '@fairlead/app/standby/turn.ts'
import { isLoopback } from '@fairlead/base/net/loopback.ts'
import { keepCompiledCode } from '@fairlead/base/runtime/compile-cache.ts'
import { allocateYoung } from '@fairlead/base/runtime/young-allocation.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import { openLog } from '@fairlead/base/telemetry/log.ts'
import { toAddresses } from '@fairlead/gateway/upstreams/addresses.ts'
import { withReloaded } from '@fairlead/providers/infrastructure/setting-keys.ts'
import { readArguments } from './arguments.ts'
import { explainFailure } from './failure.ts'
import { readConfig, settingsHint, startOptions } from './read-config.ts'
import { reloadOnSignal } from './reload-on-signal.ts'
import { recordServer } from './server-process.ts'
import { reportTo, type ServiceManager } from './service-manager.ts'
import { packageVersion } from './version.ts'

const options = { standby: { type: 'boolean', default: false }, ...startOptions } as const

export async function run(args: readonly string[]): Promise<undefined> {
  const { values } = readArguments(args, { command: 'backends', options, hint: settingsHint })
  const { config, notices } = await readConfig(args, { servesBackends: true })
  const { log } = openLog(config.telemetry.logLevel, config.telemetry.logFormat)
  for (const notice of notices) log.warn(notice)
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => stopping.abort(signal))
  try {
    demandGuard(config)
    // A standby has it ready for when its turn comes.
    const startThread = loadThread()
    const manager = reportTo(log)
    if (values.standby) void manager.ready('standing by')
    const place = { ...config, dataDir: config.backends.dataDir }
    const given = {
      waits: values.standby,
      signal: stopping.signal,
      log,
      env: process.env,
      onLost: endAtOnce,
    }
    const turn = await takeTurn(place, given)
    if (turn === undefined) return process.exit(0)
    await serve(config, { args, log, manager, stopping, turn, startThread })
    await turn.end()
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

/** Another engine may write: whatever this one still does, it would do beside that. */
function endAtOnce(reason: string): void {
  process.stderr.write(
    `Fairlead stops: it has lost the lease, since ${reason}. Executions go on where they were when it starts again.\n`,
  )
  process.exit(1)
}

type Log = ReturnType<typeof openLog>['log']

interface ServeOptions {
  readonly args: readonly string[]
  readonly log: Log
  readonly manager: ServiceManager
  readonly stopping: AbortController
  readonly turn: StandbyTurn
  readonly startThread: StartThread
}

/** Resolves when the signal has come and everything is closed. */
async function serve(
  config: Config,
  { args, log, manager, stopping, turn, startThread }: ServeOptions,
): Promise<void> {
  const { signal } = stopping
  const { dataDir } = config.backends
  const socketPath = socketPathFor(dataDir, 'backends.sock')
  const services = toAddresses(config.upstreams, socketPath)
  const { listener } = config.upstreams.embedded
  if (listener.tls === undefined && !isLoopback(listener.address))
    log.warn(
      'the back ends are served without TLS: programs that read the network see the key; set backends.tls.keyStore',
    )
  const { lease, restoredAt } = turn
  const backends = embedServices({
    config,
    log,
    version: packageVersion(),
    startThread,
    services,
    socketPath,
    listener,
    ...(lease?.record && {
      lease: { holder: lease.record.holder, term: lease.record.term },
      leaseEnd: lease.end,
    }),
    restoredAt,
    isCopied: config.standby.copy !== undefined,
  })
  if (backends === undefined)
    throw new Error('No back end is embedded: every service of this configuration has an address.')
  await backends.ready
  await turn.startCopy((untilMs) => backends.noteCopied(untilMs))
  recordServer(dataDir)
  keepCompiledCode()
  allocateYoung()
  reloadOnSignal({
    read: () => readConfig(args, { servesBackends: true }),
    reload: (next) => {
      const { infrastructure } = withReloaded(config.backends, next.backends)
      backends.reload({ infrastructure })
      log.level = next.telemetry.logLevel
      log.info(
        'the configuration was read again: accounts and the log level count now, other settings after a restart',
      )
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
  await backends.settle(config.http.shutdownGraceMs)
  await backends.close()
}
