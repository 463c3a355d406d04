/** The agent beside its listeners: owns the processes of a data directory, controlled over a Unix socket, until it ends. */
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FileLock } from '../storage/file-lock.ts'
import { keepSocket } from '../storage/kept-socket.ts'
import { socketPathFor } from '../storage/socket-path.ts'
import type { Balancers } from './balancer/balancers.ts'
import { type Control, createControl } from './control.ts'
import { type AgentLog, boundLog } from './log.ts'
import type { ObservedHead } from './observed-lines.ts'
import { agentLockName, agentLogName } from './places.ts'
import { agentProtocol, type DesiredLoadBalancer, type DesiredState, type ObservedState } from './protocol.ts'
import { Standby } from './standby.ts'
import { type AgentProgram, ownAgentFile, startAgent, toAgentProgram } from './start-agent.ts'
import { Supervisor } from './supervisor.ts'

export interface AgentWorkOptions {
  readonly dataDir: string
  /** Of the package. */
  readonly version: string
  readonly log: AgentLog
  readonly lock: FileLock
  /** They may serve already, with what the agent before this one has left. */
  readonly balancers: Balancers
}

/** What the balancers tell and ask. */
export interface AgentWork {
  onTraffic(): void
  isDown(instanceId: string): boolean
}

const maxLogBytes = 1024 * 1024
const logCheckMs = 60_000
const folderCheckMs = 1000
/** Consecutive checks that find the data directory gone. */
const checksUntilGone = 3
/** For the answer to the request that ends the agent. */
const farewellMs = 100

/** Runs until it is stopped; SIGTERM and SIGINT end the agent alone, and leave its processes to the next one. */
export async function beginWork({ dataDir, version, log, lock, balancers }: AgentWorkOptions): Promise<AgentWork> {
  const socketPath = socketPathFor(dataDir, 'agent.sock')
  let sequence = 1
  let revision = 0
  let isStopping = false
  let isOver = false
  let control: Control | undefined
  const onChange = () => {
    sequence += 1
    control?.changed()
    standby.refreshSoon()
  }
  const supervisor = new Supervisor({ dataDir, log, onChange })
  const standby: Standby = new Standby({
    program: toAgentProgram(dataDir, version, ownAgentFile()),
    traffic: () => balancers.traffic(),
    sockets: () => balancers.descriptors(),
    onChange,
    log,
  })

  const head = (): ObservedHead => ({
    protocol: agentProtocol,
    version,
    pid: process.pid,
    sequence,
    revision,
    standby: standby.pid,
  })
  const observe = (): ObservedState => ({
    ...head(),
    instances: supervisor.observe(),
    loadBalancers: balancers.observe(),
  })

  /** While the standby holds a port, it can be opened in no other way. */
  function applyTraffic(loadBalancers: readonly DesiredLoadBalancer[]): void {
    const ports = (all: readonly DesiredLoadBalancer[]) => JSON.stringify(all.map(({ listeners }) => listeners))
    if (ports(loadBalancers) !== ports(balancers.traffic().loadBalancers)) standby.release()
    balancers.apply(loadBalancers)
    standby.refreshSoon()
  }

  function apply(state: DesiredState): boolean {
    if (state.revision < revision || isStopping) return false
    if (state.revision > revision) {
      // First, so that no request goes to an instance that is about to be stopped.
      applyTraffic(state.loadBalancers)
      supervisor.apply(state.instances)
      // Last, so that a state that failed on its way is taken when the client sends it again.
      revision = state.revision
    }
    return true
  }

  async function stop(): Promise<void> {
    isStopping = true
    applyTraffic([])
    await supervisor.stop()
    end('everything is stopped')
  }

  function end(reason: string): void {
    if (isOver) process.exit(0)
    isOver = true
    log.info({ pid: process.pid }, `the agent ends: ${reason}`)
    supervisor.close()
    standby.end()
    void balancers.close()
    rmSync(socketPath, { force: true })
    control?.server.close()
    setTimeout(() => {
      lock.release()
      process.exit(0)
    }, farewellMs)
  }

  /** Connections that are open stay with this process, which ends with the last of them. */
  function handOver(program: AgentProgram | undefined): number | undefined {
    const successor = program && startAgent(program, balancers.descriptors()).pid
    if (successor === undefined) {
      end('another agent takes over')
      return undefined
    }
    log.info({ pid: process.pid, successor }, 'another agent takes over; this one ends with its last connection')
    standby.end()
    isOver = isStopping = true
    supervisor.close()
    // It removes the file of the socket: only then may the successor make its own.
    control?.server.close()
    setTimeout(() => control?.server.closeAllConnections(), farewellMs)
    lock.release()
    void Promise.all([balancers.yieldPorts(), sleep(farewellMs)]).then(() => process.exit(0))
    return successor
  }

  control = createControl({
    apply,
    head,
    observe,
    console: (id, tailBytes) => supervisor.console(id, tailBytes),
    consolePart: (id, wish, maxBytes) => supervisor.consolePart(id, wish, maxBytes),
    stop,
    handOver,
  })
  rmSync(socketPath, { force: true })
  await listen(control.server, socketPath)
  process.on('SIGTERM', () => end('SIGTERM'))
  process.on('SIGINT', () => end('SIGINT'))
  const checkLog = () => {
    try {
      boundLog(join(dataDir, agentLogName), maxLogBytes)
    } catch {
      // It is gone, with the data directory: see below.
    }
  }
  checkLog()
  setInterval(checkLog, logCheckMs).unref()
  watchFolder(dataDir, () => {
    if (isOver || isStopping) return
    log.warn({ dataDir }, 'the data directory is gone: everything is stopped')
    stop().catch((err: unknown) => {
      log.error({ err }, 'not everything could be stopped')
      end('the data directory is gone')
    })
  })
  const { server } = control
  keepSocket({ server, pathOf: () => socketPathFor(dataDir, 'agent.sock'), listen: (path) => listen(server, path), log })
  log.info({ pid: process.pid, version, dataDir }, 'the agent runs')
  return { onTraffic: onChange, isDown: (id) => supervisor.isDown(id) }
}

/** Without its files, no Fairlead would ever find the agent again. A lock file that alone was removed by mistake ends nothing. */
function watchFolder(dataDir: string, onGone: () => void): void {
  let count = 0
  const timer = setInterval(() => {
    const isGone = ![agentLockName, agentLogName].some((name) => existsSync(join(dataDir, name)))
    count = isGone ? count + 1 : 0
    if (count < checksUntilGone) return
    clearInterval(timer)
    onGone()
  }, folderCheckMs).unref()
}

/** Only the user of the agent may connect. */
async function listen(server: Control['server'], socketPath: string): Promise<void> {
  const { promise, resolve: listening, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  const mask = process.umask(0o177)
  server.listen(socketPath, listening)
  process.umask(mask)
  await promise
  chmodSync(socketPath, 0o600)
}
