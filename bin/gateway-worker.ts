/** Program of a worker process: a gateway that serves the connections which the primary accepts. */

import { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Gateway } from '../src/gateway/context.ts'
import { createGateway } from '../src/gateway.ts'
import { keepCompiledCode } from '../src/runtime/compile-cache.ts'
import { keepTickShape } from '../src/runtime/ticks.ts'
import { setServerOptions } from '../src/runtime/v8-options.ts'
import { openLog } from '../src/telemetry/log.ts'
import { keepMemorySmall } from '../src/telemetry/memory.ts'
import { fromWorkerConfig, type HandedConnection, type WorkerStart, wordsMark } from '../src/workers/protocol.ts'
import { PrimaryLink } from '../src/workers/remote-parts.ts'
import { explainFailure } from './failure.ts'
import { readConfig } from './read-config.ts'

keepTickShape()

/** Where `fork` has put the stream of the channel. */
const channelDescriptor = 4

// Signals reach every process of a terminal or a service; the primary decides what becomes of its workers.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
// Without the primary there is neither a lock nor a data service.
process.on('disconnect', () => process.exit(1))
process.once('message', (start: WorkerStart) => void work(start))

async function work(start: WorkerStart): Promise<void> {
  const config = fromWorkerConfig(start.config)
  const { log, missing } = openLog(config.telemetry.logLevel, config.telemetry.logFormat, { worker: start.number })
  const hurry = new AbortController()
  let gateway: Gateway | undefined
  const link = new PrimaryLink(
    { stream: new Socket({ fd: channelDescriptor, readable: true, writable: true }), onConnection },
    start,
    {
      drain: async () => gateway?.drain(hurry.signal),
      hurry: () => hurry.abort(),
      retire: () => gateway?.retire(),
      close: () => void close(gateway, link, log),
    },
  )
  try {
    gateway = await createGateway({
      config,
      notices: start.notices,
      log,
      missingLogLines: missing,
      command: (words) => start.commandLine.replace(wordsMark, () => words),
      version: start.version,
      reread: async () => (await readConfig(start.args)).config,
      consoleDir: new URL(start.consoleDir),
      shared: link.shared,
    })
    await gateway.listen()
    link.ready()
    keepCompiledCode()
    setServerOptions()
    keepMemorySmall()
  } catch (error) {
    await link.fail(explainFailure(error, config.http))
    process.exit(1)
  }
}

function onConnection(take: (handed: HandedConnection, socket: Socket | undefined) => void): void {
  process.on('message', (handed, socket) => take(handed as HandedConnection, socket instanceof Socket ? socket : undefined))
}

async function close(gateway: Gateway | undefined, link: PrimaryLink, log: Logger): Promise<void> {
  try {
    await gateway?.close()
  } catch (error) {
    log.error({ err: error }, 'a worker process could not close everything')
  }
  await link.flush()
  process.exit(0)
}
