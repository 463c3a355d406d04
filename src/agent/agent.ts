/** The agent: owns processes and listeners of one data directory, controlled over a Unix socket. */
import { chmodSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FileLock, LockedError, lockFile } from '../storage/file-lock.ts'
import { socketPathFor } from '../storage/socket-path.ts'
import { openBalancers } from './balancer/balancers.ts'
import { rotateConsole } from './console.ts'
import { type Control, createControl } from './control.ts'
import type { AgentLog } from './log.ts'
import { agentLockName, agentLogName } from './places.ts'
import { agentProtocol, type DesiredState, type ObservedState } from './protocol.ts'
import { Supervisor } from './supervisor.ts'

export interface AgentOptions {
  readonly dataDir: string
  /** Of the package. */
  readonly version: string
  readonly log: AgentLog
}

/** An agent that hands over needs a moment until it has ended. */
const lockTimeoutMs = 10_000
const lockPauseMs = 50
const maxLogBytes = 1024 * 1024
const logCheckMs = 60_000
/** For the answer to the request that ends the agent. */
const farewellMs = 100

/**
 * Runs until it is stopped; SIGTERM and SIGINT end the agent alone, and leave its processes to the next one.
 *
 * @throws {LockedError} when another agent works on the data directory
 */
export async function runAgent({ dataDir: folder, version, log }: AgentOptions): Promise<void> {
  const dataDir = resolve(folder)
  const lock = await waitForLock(join(dataDir, agentLockName))
  const socketPath = socketPathFor(dataDir, 'agent.sock')
  let sequence = 1
  let revision = 0
  let isStopping = false
  let control: Control | undefined
  const onChange = () => {
    sequence += 1
    control?.changed()
  }
  const supervisor = new Supervisor({ dataDir, log, onChange })
  const balancers = openBalancers({ log, onChange })

  const observe = (): ObservedState => ({
    protocol: agentProtocol,
    version,
    pid: process.pid,
    sequence,
    revision,
    instances: supervisor.observe(),
    loadBalancers: balancers.observe(),
  })

  function apply(state: DesiredState): boolean {
    if (state.revision < revision || isStopping) return false
    if (state.revision > revision) {
      revision = state.revision
      // First, so that no request goes to an instance that is about to be stopped.
      balancers.apply(state.loadBalancers)
      supervisor.apply(state.instances)
    }
    return true
  }

  async function stop(): Promise<void> {
    isStopping = true
    balancers.apply([])
    await supervisor.stop()
    end('everything is stopped')
  }

  function end(reason: string): void {
    log.info({ pid: process.pid }, `the agent ends: ${reason}`)
    supervisor.close()
    void balancers.close()
    rmSync(socketPath, { force: true })
    control?.server.close()
    setTimeout(() => {
      lock.release()
      process.exit(0)
    }, farewellMs)
  }

  control = createControl({
    apply,
    observe,
    console: (id, tailBytes) => supervisor.console(id, tailBytes),
    consolePart: (id, wish, maxBytes) => supervisor.consolePart(id, wish, maxBytes),
    stop,
    handOver: () => end('another agent takes over'),
  })
  rmSync(socketPath, { force: true })
  await listen(control, socketPath)
  process.on('SIGTERM', () => end('SIGTERM'))
  process.on('SIGINT', () => end('SIGINT'))
  const boundLog = () => {
    try {
      rotateConsole(join(dataDir, agentLogName), maxLogBytes)
    } catch {
      // The disk is full: the log is empty now.
    }
  }
  boundLog()
  setInterval(boundLog, logCheckMs).unref()
  log.info({ pid: process.pid, version, dataDir }, 'the agent runs')
}

async function waitForLock(file: string): Promise<FileLock> {
  for (const endMs = performance.now() + lockTimeoutMs; ; ) {
    try {
      return lockFile(file)
    } catch (error) {
      if (!(error instanceof LockedError) || performance.now() > endMs) throw error
    }
    await sleep(lockPauseMs)
  }
}

/** Only the user of the agent may connect. */
async function listen({ server }: Control, socketPath: string): Promise<void> {
  const { promise, resolve: listening, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  const mask = process.umask(0o177)
  server.listen(socketPath, listening)
  process.umask(mask)
  await promise
  chmodSync(socketPath, 0o600)
}
