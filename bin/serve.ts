/** `fairlead serve`: starts the gateway, logs its login methods, reloads it on SIGHUP, and stops it gracefully. */

import type { Config } from '@fairlead/app/config/config.ts'
import type { Gateway } from '@fairlead/app/gateway/context.ts'
import { loadThread } from '@fairlead/app/hosting/embedded.ts'
import { shellWord } from '@fairlead/base/names/shell-word.ts'
import { keepCompiledCode } from '@fairlead/base/runtime/compile-cache.ts'
import { allocateYoung } from '@fairlead/base/runtime/young-allocation.ts'
import { openLog } from '@fairlead/base/telemetry/log.ts'
import { readArguments } from './arguments.ts'
import { command } from './command-name.ts'
import { explainFailure } from './failure.ts'
import { configFilesOf, readConfig, settingsHint, startOptions } from './read-config.ts'
import { reloadOnSignal } from './reload-on-signal.ts'
import { recordServer } from './server-process.ts'
import { reportTo, type ServiceManager } from './service-manager.ts'
import { packageVersion } from './version.ts'

/** One folder above this file, in the repository and in the published package. */
const consoleDir = new URL('../dist/console/', import.meta.url)

export async function run(args: readonly string[]): Promise<number | undefined> {
  readArguments(args, { command: 'serve', options: startOptions, hint: settingsHint })
  const { config, notices } = await readConfig(args)
  const startThread = embedsServices(config) ? loadThread() : undefined
  const { log, missing } = openLog(config.telemetry.logLevel, config.telemetry.logFormat)
  for (const notice of notices) log.warn(notice)
  try {
    const reread = async () => (await readConfig(args)).config
    const files = configFilesOf(args).map((file) => ` --config ${shellWord(file)}`)
    const logged = (words: string) => command(words + files.join(''), config.backends)
    const { createGateway } = await import('@fairlead/app/gateway.ts')
    const given = {
      config,
      notices,
      log,
      startThread,
      missingLogLines: missing,
      version: packageVersion(),
      consoleDir,
    }
    const gateway = await createGateway({ ...given, command: logged, reread })
    recordServer(config.backends.dataDir)
    const manager = reportTo(log)
    const stop = stopOnSignal(gateway, { drainMs: config.http.drainMs, log, manager })
    reloadOnSignal({
      read: () => readConfig(args),
      reload: (next) => gateway.reload(next),
      stop,
      log,
      manager,
    })
    await gateway.listen()
    void manager.ready('serving')
    keepCompiledCode()
    allocateYoung()
    return undefined
  } catch (error) {
    // The entry point says how packages are installed.
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') throw error
    process.stderr.write(`Fairlead cannot start: ${explainFailure(error, config.http)}\n`)
    // The worker of the back ends may be running already.
    process.exit(1)
  }
}

function embedsServices({ upstreams }: Config): boolean {
  return (
    upstreams.embedded.remote === undefined &&
    Object.values(upstreams.services).some(({ kind }) => kind === 'embedded')
  )
}

interface StopOptions {
  readonly drainMs: number
  readonly log: { info(text: string): void }
  readonly manager: ServiceManager
}

/** The first signal drains and then finishes what is in flight. A second one ends the drain, a third one the process. */
function stopOnSignal(
  gateway: Pick<Gateway, 'drain' | 'close'>,
  { drainMs, log, manager }: StopOptions,
): (signal: NodeJS.Signals) => void {
  const hurry = new AbortController()
  let phase: 'serving' | 'draining' | 'finishing' = 'serving'
  const stop = async (signal: NodeJS.Signals) => {
    phase = 'draining'
    void manager.stopping()
    if (drainMs > 0) {
      log.info(
        `${signal}: readiness is 503 from now on; if load balancers probe it, requests are served for ${drainMs} ms more; a second signal ends the wait`,
      )
    }
    await gateway.drain(hurry.signal)
    phase = 'finishing'
    log.info(`${signal}: finishing what is in flight`)
    await gateway.close()
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (phase === 'finishing') process.exit(1)
    else if (phase === 'draining') hurry.abort()
    else {
      stop(signal).then(
        () => process.exit(0),
        () => process.exit(1),
      )
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return onSignal
}
