/** `fairlead serve`: starts the gateway, says how it is guarded, and stops it in good order. */
import { createGateway, type Gateway } from '../src/gateway.ts'
import { createLog } from '../src/telemetry/log.ts'
import { giveBackMemory } from '../src/telemetry/memory.ts'
import { findMisuse, loadConfigOf, readConfig } from './read-config.ts'
import { packageVersion } from './version.ts'

/** By then the first lists have been loaded. */
const settledMs = 2500

export async function serve(args: readonly string[]): Promise<number | undefined> {
  const misuse = findMisuse(args)
  if (misuse !== undefined) {
    process.stderr.write(`${misuse}\n`)
    return 2
  }
  const loaded = await readConfig(args)
  if (loaded === undefined) return 1
  const { config, notices } = loaded
  const log = createLog(config.telemetry.logLevel)
  for (const notice of notices) log.warn(notice)
  try {
    const reread = async () => (await loadConfigOf(args)).config
    const gateway = await createGateway({ config, log, version: packageVersion(), reread })
    stopOnSignal(gateway, config.http.drainMs, log)
    await gateway.listen()
    setTimeout(giveBackMemory, settledMs).unref()
    return undefined
  } catch (error) {
    process.stderr.write(`Fairlead cannot start: ${explain(error)}\n`)
    // The worker of the back ends may be running already.
    process.exit(1)
  }
}

/** The first signal drains and then finishes what is in flight. A second one ends the drain; whoever waits no longer sends another. */
function stopOnSignal(gateway: Gateway, drainMs: number, log: { info(text: string): void }): void {
  const hurry = new AbortController()
  let phase: 'serving' | 'draining' | 'finishing' = 'serving'
  const stop = async (signal: NodeJS.Signals) => {
    phase = 'draining'
    if (drainMs > 0) {
      log.info(
        `${signal}: readiness is 503 from now on, requests are served for ${drainMs} ms more; a second signal ends the wait`,
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
}

const explanations: Readonly<Record<string, string>> = {
  EACCES: 'it may not listen on this port. Set server.port (SERVER_PORT) to one above 1024.',
  EADDRNOTAVAIL: 'this machine does not have the address in server.address.',
}

function explain(error: unknown): string {
  const { code, message, port } = error as NodeJS.ErrnoException & { port?: number }
  if (code === 'EADDRINUSE') return `port ${port} is in use. Stop what listens there, or set server.port (SERVER_PORT).`
  return (code !== undefined && explanations[code]) || message || String(error)
}
