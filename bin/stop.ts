/** `fairlead stop`: ends the Fairlead of a data directory, and with `--all` everything that it has deployed on this machine. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopAgent } from '@fairlead/agent/stop-agent.ts'
import { LockedError, lockFile } from '@fairlead/base/storage/file-lock.ts'
import { readArguments } from './arguments.ts'
import { command } from './command-name.ts'
import { configOption, readConfig } from './read-config.ts'
import { findServer } from './server-process.ts'

const options = { all: { type: 'boolean', default: false }, ...configOption } as const
/** Beyond the drain and the time for running requests, as configured. */
const stopGraceMs = 60_000
const pauseMs = 50

export async function run(args: readonly string[]): Promise<number> {
  const { values } = readArguments(args, { command: 'stop', options })
  const { config } = await readConfig(args)
  const { dataDir } = config.backends
  const { drainMs, shutdownGraceMs } = config.http
  const isStopped = await stopServer(dataDir, drainMs + shutdownGraceMs + stopGraceMs)
  if (!isStopped || !values.all) return isStopped ? 0 : 1
  // Only the agent itself has something to log.
  const silent = { info: () => {}, warn: () => {}, error: () => {} }
  const hadAgent = await stopAgent(dataDir, silent)
  say(
    hadAgent
      ? 'The deployed programs and load balancers are stopped.'
      : `No deployed program runs from ${dataDir}.`,
  )
  return 0
}

/** @returns false when it still runs */
async function stopServer(dataDir: string, waitMs: number): Promise<boolean> {
  const server = findServer(dataDir)
  if (server === undefined) return checkAbsence(dataDir)
  process.kill(server.pid, 'SIGTERM')
  for (const endMs = performance.now() + waitMs; server.isRunning(); await sleep(pauseMs)) {
    if (performance.now() < endMs) continue
    complain(
      `Fairlead (process ${server.pid}) has not ended. Look at its log; kill -9 ${server.pid} ends it at once.`,
    )
    return false
  }
  say(`Fairlead (process ${server.pid}) is stopped.`)
  return true
}

/** A Fairlead in another container, or of an earlier version, holds the lock without a process to be found. */
function checkAbsence(dataDir: string): boolean {
  const file = join(dataDir, 'lock.db')
  try {
    if (existsSync(file)) lockFile(file).close()
    say(`No Fairlead runs with the data directory ${dataDir}.`)
    return true
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
    complain(
      `A Fairlead that cannot be seen from here uses ${dataDir}. Stop it where it was started, then run: ${command('stop')}`,
    )
    return false
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function complain(text: string): void {
  process.stderr.write(`${text}\n`)
}
