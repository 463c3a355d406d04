/** The agent beside its listeners: owns the processes of a data directory, controlled over a Unix socket, until it ends. */
import { once } from 'node:events'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { agentLockName, agentLogName } from '@fairlead/base/names/agent-files.ts'
import {
  agentProtocol,
  type ConsolePart,
  type ConsoleWish,
  type DesiredState,
  type ObservedState,
  samplePeriodMs,
  type TrafficSamples,
} from '@fairlead/base/net/agent-protocol.ts'
import type { FileLock } from '@fairlead/base/storage/file-lock.ts'
import { keepSocket } from '@fairlead/base/storage/kept-socket.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import { type Balancers, listenersOf } from './balancers.ts'
import { Control } from './control.ts'
import type { ProgramInstance } from './instance.ts'
import { type AgentLog, boundLog } from './log.ts'
import type { ObservedHead } from './observed-lines.ts'
import { Standby } from './standby.ts'
import { type AgentProgram, startAgent, toAgentProgram } from './start-agent.ts'
import { Supervisor } from './supervisor.ts'
import { TrafficHistory } from './traffic-history.ts'

interface AgentWorkOptions {
  readonly dataDir: string
  readonly version: string
  readonly log: AgentLog
  readonly lock: FileLock
  /** They may serve already, with what the agent before this one has left. */
  readonly balancers: Balancers
}

const maxLogBytes = 1024 * 1024
const logCheckMs = 60_000
const folderCheckMs = 1000
/** Consecutive checks that find the data directory gone. */
const checksUntilGone = 3
/** Time for the answer to the request that ends the agent. */
const farewellMs = 100

/** Runs until it is stopped; SIGTERM and SIGINT end the agent alone, and leave its processes to the next one. */
export class AgentWork {
  readonly #options: AgentWorkOptions
  readonly #socketPath: string
  readonly #supervisor: Supervisor
  readonly #standby: Standby
  readonly #control: Control
  readonly #history = new TrafficHistory()
  #sequence = 1
  #revision = 0
  #isStopping = false
  #isOver = false

  constructor(options: AgentWorkOptions) {
    const { dataDir, version, log, balancers } = options
    this.#options = options
    this.#socketPath = socketPathFor(dataDir, 'agent.sock')
    this.#control = new Control(this)
    this.#supervisor = new Supervisor({
      dataDir,
      log,
      onChange: () => this.onTraffic(),
      onDown: (instanceId) => balancers.noteDown(instanceId),
    })
    this.#standby = new Standby({
      program: toAgentProgram(dataDir, version),
      traffic: () => balancers.traffic(),
      sockets: () => balancers.descriptors(),
      onChange: () => this.onTraffic(),
      log,
    })
  }

  async begin(): Promise<void> {
    const { dataDir, version, log } = this.#options
    const { server } = this.#control
    rmSync(this.#socketPath, { force: true })
    await listen(server, this.#socketPath)
    process.on('SIGTERM', () => this.#end('SIGTERM'))
    process.on('SIGINT', () => this.#end('SIGINT'))
    keepLogSmall(dataDir)
    setInterval(() => this.#sample(), samplePeriodMs).unref()
    watchFolder(dataDir, () => this.#stopWithoutFolder())
    keepSocket({
      server,
      pathOf: () => socketPathFor(dataDir, 'agent.sock'),
      listen: (path) => listen(server, path),
      log,
    })
    log.info({ pid: process.pid, version, dataDir }, 'the agent runs')
  }

  #sample(): void {
    const { balancers, log } = this.#options
    try {
      this.#history.record(Date.now(), balancers.takeCounts(), this.#supervisor.measureMemory())
    } catch (err) {
      log.error({ err }, 'the traffic of instances cannot be sampled')
    }
  }

  samples(): TrafficSamples {
    this.#history.count(this.#options.balancers.takeCounts())
    return this.#history.samples(Date.now())
  }

  /** The observed state has changed. */
  onTraffic(): void {
    this.#sequence += 1
    this.#control.changed()
    this.#standby.refreshSoon()
  }

  isDown(instanceId: string): boolean {
    return this.#supervisor.isDown(instanceId)
  }

  head(): ObservedHead {
    return {
      protocol: agentProtocol,
      version: this.#options.version,
      pid: process.pid,
      sequence: this.#sequence,
      revision: this.#revision,
      standby: this.#standby.pid,
    }
  }

  observe(): ObservedState {
    return {
      ...this.head(),
      instances: this.#supervisor.observe(),
      loadBalancers: this.#options.balancers.observe(),
    }
  }

  /** While the standby holds a port, it can be opened in no other way. */
  #applyTraffic({ loadBalancers, fronts }: Pick<DesiredState, 'loadBalancers' | 'fronts'>): void {
    const { balancers } = this.#options
    const before = portsOf(balancers.traffic())
    if (portsOf({ loadBalancers, fronts }) !== before) this.#standby.release()
    balancers.apply(loadBalancers, { fronts })
    this.#standby.refreshSoon()
  }

  apply(state: DesiredState): boolean {
    if (state.revision < this.#revision || this.#isStopping) return false
    if (state.revision > this.#revision) {
      // First, so that no request goes to an instance that is about to be stopped.
      this.#applyTraffic(state)
      this.#supervisor.apply(state.instances)
      // Last, so that a state that failed on its way is taken when the client sends it again.
      this.#revision = state.revision
    }
    return true
  }

  consolePart(instanceId: string, wish: ConsoleWish, maxBytes: number): ConsolePart | undefined {
    return this.#supervisor.consolePart(instanceId, wish, maxBytes)
  }

  find(instanceId: string): ProgramInstance | undefined {
    return this.#supervisor.find(instanceId)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#applyTraffic({ loadBalancers: [] })
    await this.#supervisor.stop()
    this.#end('everything is stopped')
  }

  #stopWithoutFolder(): void {
    const { dataDir, log } = this.#options
    if (this.#isOver || this.#isStopping) return
    log.warn({ dataDir }, 'the data directory is gone: everything is stopped')
    this.stop().catch((err: unknown) => {
      log.error({ err }, 'not everything could be stopped')
      this.#end('the data directory is gone')
    })
  }

  #end(reason: string): void {
    const { log, balancers, lock } = this.#options
    if (this.#isOver) process.exit(0)
    this.#isOver = true
    log.info({ pid: process.pid }, `the agent ends: ${reason}`)
    this.#supervisor.close()
    this.#standby.end()
    balancers.close()
    rmSync(this.#socketPath, { force: true })
    this.#control.server.close()
    setTimeout(() => {
      lock.close()
      process.exit(0)
    }, farewellMs)
  }

  /** Connections that are open stay with this process, which ends with the last of them. */
  handOver(program: AgentProgram): number | undefined {
    const { log, balancers, lock } = this.#options
    const { server } = this.#control
    const successor = startAgent(program, balancers.descriptors()).pid
    if (successor === undefined) {
      this.#end('another agent takes over')
      return undefined
    }
    log.info(
      { pid: process.pid, successor },
      'another agent takes over; this one ends with its last connection',
    )
    this.#standby.end()
    this.#isOver = this.#isStopping = true
    this.#supervisor.close()
    // It removes the file of the socket: only then may the successor make its own.
    server.close()
    setTimeout(() => server.closeAllConnections(), farewellMs)
    lock.close()
    void Promise.all([balancers.yieldPorts(), sleep(farewellMs)]).then(() => process.exit(0))
    return successor
  }
}

/** Ports of a front stay open while its sites change. */
function portsOf({
  loadBalancers,
  fronts,
}: Pick<DesiredState, 'loadBalancers' | 'fronts'>): string {
  const own = loadBalancers.map(({ listeners }) => listeners)
  return JSON.stringify([own, fronts?.fronts.map(listenersOf) ?? []])
}

function keepLogSmall(dataDir: string): void {
  const check = () => {
    try {
      boundLog(join(dataDir, agentLogName), maxLogBytes)
    } catch {
      // It is gone, with the data directory: `watchFolder` notices.
    }
  }
  check()
  setInterval(check, logCheckMs).unref()
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
  const mask = process.umask(0o177)
  server.listen(socketPath)
  process.umask(mask)
  await once(server, 'listening')
  chmodSync(socketPath, 0o600)
}
