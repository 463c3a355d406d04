/** Services of a build: programs beside the steps, each ready before the first step. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tryPort } from '@fairlead/base/net/try-port.ts'
import { BuilderError, describeStart } from '@fairlead/base/outside/builder-process.ts'
import { readEnd } from '@fairlead/base/storage/read-end.ts'
import type { ServiceContainer } from './job-definition.ts'

const host = '127.0.0.1'
const probePauseMs = 50
const stopGraceMs = 5_000
/** Part of its log that is shown when a service fails. */
const shownBytes = 8 * 1024

export interface RunningService {
  readonly name: string
  /** Variables by which steps find it: `DB_HOST` and `DB_PORT`. */
  readonly variables: Readonly<Record<string, string>>
  stop(): Promise<void>
}

interface ServiceOptions {
  readonly work: string
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
}

/** @throws {BuilderError} when its port does not accept connections in time, with the end of its log */
export async function startService(
  name: string,
  { command, port: wanted, readyMs, environment }: ServiceContainer,
  options: ServiceOptions,
): Promise<RunningService> {
  const port = wanted ?? (await freePort())
  if ((await tryPort(host, port)) === 'EADDRINUSE')
    throw new BuilderError(
      `The service ${name} cannot have port ${port}: another program listens on it. Leave "port" out.`,
    )
  mkdirSync(join(options.work, 'services'), { recursive: true })
  const log = join(options.work, 'services', `${name}.log`)
  const output = openSync(log, 'a', 0o600)
  const [program = '', ...args] = command
  const env = { ...options.environment, PORT: String(port), HOST: host, ...environment }
  const child = spawn(program, args, {
    cwd: options.folder,
    env,
    stdio: ['ignore', output, output],
    detached: true,
  })
  closeSync(output)
  const state = { outcome: undefined as string | undefined }
  child.once('error', ({ code, message }: NodeJS.ErrnoException) => {
    state.outcome = describeStart(program, code, message)
  })
  child.once('exit', (code, signal) => {
    state.outcome ??= `It ended with ${signal ?? `exit code ${code}`}.`
  })
  const endMs = performance.now() + readyMs
  while (!(await accepts(port)) || state.outcome !== undefined) {
    const isLate = performance.now() > endMs
    if (state.outcome !== undefined || isLate) {
      await stop(child)
      const reason =
        state.outcome ?? `Its port ${port} accepts no connections after ${readyMs / 1000} seconds.`
      throw new BuilderError(
        `The service ${name} is not ready. ${reason}\n${readEnd(log, shownBytes)}`.trim(),
      )
    }
    await sleep(probePauseMs)
  }
  const prefix = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
  return {
    name,
    variables: { [`${prefix}_HOST`]: host, [`${prefix}_PORT`]: String(port) },
    stop: () => stop(child),
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, host), 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}

function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port })
  socket.once('connect', () => resolve(true))
  socket.once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

/** Stops the process with what it has started. */
async function stop(child: ChildProcess): Promise<void> {
  const hasEnded = child.exitCode !== null || child.signalCode !== null || child.pid === undefined
  const ended = hasEnded ? undefined : once(child, 'exit')
  signalGroup(child, 'SIGTERM')
  await Promise.race([ended, sleep(stopGraceMs, undefined, { ref: false })])
  signalGroup(child, 'SIGKILL')
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // All of it has ended.
  }
}
