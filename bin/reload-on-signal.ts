/** SIGHUP has a process read its configuration again. */
import { isatty } from 'node:tty'
import type { Config, LoadedConfig } from '@fairlead/app/config/config.ts'
import type { Logger } from 'pino'
import { explainFailure } from './failure.ts'
import type { ServiceManager } from './service-manager.ts'

interface ReloadOptions {
  /** @throws {ConfigError} with everything that is wrong */
  read: () => Promise<LoadedConfig>
  reload: (next: Config) => Promise<void> | void
  stop: (signal: NodeJS.Signals) => void
  log: Logger
  manager: ServiceManager
}

/** One time after the other. From a terminal that has gone, the signal ends the process. */
export function reloadOnSignal({ read, reload, stop, log, manager }: ReloadOptions): void {
  const hadTerminal = isatty(0)
  let last = Promise.resolve()
  const readAgain = async () => {
    await manager.reloading()
    try {
      const { config, notices } = await read()
      for (const notice of notices) log.warn(notice)
      await reload(config)
    } catch (error) {
      const advice =
        'SIGHUP: the configuration cannot be used, so nothing changes; correct it and send the signal again'
      log.error({ reason: explainFailure(error) }, advice)
    }
    await manager.ready('serving')
  }
  process.on('SIGHUP', () => {
    if (hadTerminal && !isatty(0)) return stop('SIGHUP')
    last = last.then(readAgain)
  })
}
