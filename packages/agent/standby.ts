/**
 * The standby: a small shell that holds the listening sockets and becomes the next agent when this one dies. Until then it waits for the
 * end of a pipe; meanwhile, connections wait in the sockets.
 */
import type { ChildProcess } from 'node:child_process'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { trafficName } from '@fairlead/base/names/agent-files.ts'
import { writePrivateFile } from '@fairlead/base/storage/private-files.ts'
import type { Traffic } from './balancers.ts'
import type { AgentLog } from './log.ts'
import { openProcessTable } from './processes.ts'
import { agentPauseMs, stableMs } from './restart-pause.ts'
import { type AgentProgram, startAgent } from './start-agent.ts'

interface StandbyOptions {
  readonly program: AgentProgram
  readonly traffic: () => Traffic
  /** Listening sockets by host and port. */
  readonly sockets: () => ReadonlyMap<string, number>
  /** It is another process, or none. */
  readonly onChange: () => void
  readonly log: AgentLog
}

/** Changes within this time are recorded together. */
const gatherMs = 20
/** Time for a process that was killed to close its sockets. */
const releaseMs = 200
/** Tells the next agent how many before it ended quickly, and when this one started, in seconds since the machine did. */
const beginName = 'FAIRLEAD_AGENT_BEGIN'

export class Standby {
  readonly #options: StandbyOptions
  readonly #table = openProcessTable()
  #child: ChildProcess | undefined
  /** The sockets that it holds. */
  #held = ''
  #written = ''
  #timer: NodeJS.Timeout | undefined
  #wait: NodeJS.Timeout | undefined
  #isOver = false
  readonly #startedAt = uptime()
  readonly #quickEnds = quickEndsBefore(this.#startedAt)
  /** No standby before: agents that end at once would follow each other without an end. */
  readonly #earliestMs = performance.now() + agentPauseMs(this.#quickEnds)

  constructor(options: StandbyOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Sockets or the health of instances may have changed. */
  refreshSoon(): void {
    if (!this.#isOver) this.#timer ??= setTimeout(() => this.#refresh(), gatherMs).unref()
  }

  /** Its sockets close at once, so that their ports are free. */
  release(): void {
    const child = this.#child
    if (child?.pid === undefined) return
    this.#forget(child)
    child.kill('SIGKILL')
    for (const endMs = performance.now() + releaseMs; performance.now() < endMs; ) {
      if (this.#table.find(child.pid)?.isZombie !== false) return
    }
  }

  /** There will be no other one. */
  end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.release()
  }

  #refresh(): void {
    this.#timer = undefined
    clearTimeout(this.#wait)
    this.#wait = undefined
    if (this.#isOver) return
    try {
      this.#write()
      const sockets = this.#options.sockets()
      const earlyMs = this.#earliestMs - performance.now()
      if (earlyMs > 0) {
        // Timers may run a little too early; then it waits again.
        this.#wait = setTimeout(() => this.#refresh(), earlyMs).unref()
        return
      }
      const held = [...sockets].map(([address, descriptor]) => `${address} ${descriptor}`).join()
      if (held === this.#held) return
      const former = this.#child
      this.#child = sockets.size === 0 ? undefined : this.#start(sockets)
      this.#held = held
      // The next one holds the sockets already.
      former?.stdin?.end('end\n')
      this.#options.onChange()
    } catch (err) {
      this.#options.log.error({ err }, 'no standby of the agent can be started')
    }
  }

  /** What the next agent believes until it knows better. */
  #write(): void {
    const text = JSON.stringify(this.#options.traffic())
    if (text === this.#written) return
    writePrivateFile(join(this.#options.program.dataDir, trafficName), text, false)
    this.#written = text
  }

  #start(sockets: ReadonlyMap<string, number>): ChildProcess {
    const { dataDir, command, args, environment } = this.#options.program
    const script = ['-c', 'read -r end && exit 0; exec "$@" </dev/null', 'fairlead-standby']
    const begin = { [beginName]: `${this.#quickEnds} ${this.#startedAt}` }
    const shell = {
      dataDir,
      command: '/bin/sh',
      args: [...script, command, ...args],
      environment: { ...environment, ...begin },
    }
    const child = startAgent(shell, sockets, 'pipe')
    child.on('error', () => this.#forget(child))
    child.once('exit', () => this.#forget(child))
    child.stdin?.on('error', () => {})
    return child
  }

  /** Another one is started with the next change. */
  #forget(child: ChildProcess): void {
    if (this.#child !== child) return
    this.#child = undefined
    this.#held = ''
    this.refreshSoon()
  }
}

/** Early ends in a row of the agents before this one; 0 when none of them died. */
function quickEndsBefore(now: number): number {
  const [quickEnds, startedAt] = (process.env[beginName] ?? '').split(' ').map(Number)
  return quickEnds === undefined || startedAt === undefined || (now - startedAt) * 1000 >= stableMs
    ? 0
    : quickEnds + 1
}
