/** Fairlead's side of the agent: starts it, sends the desired state, follows the observed state. */
import type { ChildProcess } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { agentLogName, instancesFolderName } from '@fairlead/base/names/agent-files.ts'
import {
  type Agent,
  agentProtocol,
  type ConsolePart,
  type ConsoleWish,
  type DesiredState,
  type ObservedState,
  type OutputWish,
  type TimedPart,
  type TrafficSamples,
} from '@fairlead/base/net/agent-protocol.ts'
import type { ExecConnection, ExecRequest } from '@fairlead/base/net/exec-frames.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import {
  type AgentAnswer,
  type AgentRequest,
  askAgent,
  isAbsent,
  readAgentLines,
} from './agent-request.ts'
import { openExec } from './exec-client.ts'
import type { AgentLog } from './log.ts'
import { ObservedCopy, type ObservedLine } from './observed-lines.ts'
import { agentPauseMs, stableMs } from './restart-pause.ts'
import { type AgentProgram, startAgent, toAgentProgram } from './start-agent.ts'

interface AgentClientOptions {
  readonly dataDir: string
  readonly log: AgentLog
  /** The version of the package. */
  readonly version: string
  /** False where a service manager does. */
  readonly startsAgent?: boolean
}

/** A long poll for the observed state. */
const waitMs = 30_000
const answerMs = 10_000
const firstPauseMs = 25
const longestPauseMs = 1_000
/** A start takes a moment; after this time without an agent, Fairlead reports it. */
const reconnectGraceMs = 5_000
/** A process that has not become an agent within this time is another one. */
const successorMs = 10_000
/** Longest pause between connections while a successor may be starting. */
const quickPauseMs = 50

export function openAgent(options: AgentClientOptions): AgentClient {
  const client = new AgentClient(options)
  client.start()
  return client
}

interface AgentCallOptions {
  readonly body?: string
  /** Ends the request; by default the end of this client. */
  readonly end?: AbortSignal
}

export class AgentClient implements Agent {
  readonly #dataDir: string
  readonly #log: AgentLog
  readonly #version: string
  readonly #program: AgentProgram
  readonly #socketPath: string
  readonly #startsAgent: boolean
  readonly #closing = new AbortController()
  readonly #listeners = new Set<() => void>()
  #running: Promise<void> = Promise.resolve()
  #desired: DesiredState | undefined
  #changed = Promise.withResolvers<void>()
  #observed: ObservedState | undefined
  #problem: string | undefined
  #starting: ChildProcess | undefined
  /** The latest start of an agent, and how many in a row did not live long. */
  #startedMs = Number.NEGATIVE_INFINITY
  #quickEnds = 0
  /** Process id of the agent that takes over from another one, as long as it may take to start. */
  #successor: number | undefined
  #successorUntilMs = 0
  /** When the connection to the last agent ended. */
  #lostMs = performance.now()
  #pauseMs = firstPauseMs

  constructor({ dataDir, log, version, startsAgent = true }: AgentClientOptions) {
    this.#dataDir = resolve(dataDir)
    this.#log = log
    this.#startsAgent = startsAgent
    this.#version = version
    this.#program = toAgentProgram(this.#dataDir, version)
    this.#socketPath = socketPathFor(this.#dataDir, 'agent.sock')
  }

  start(): void {
    this.#running = this.#run()
  }

  setDesired(state: DesiredState): void {
    this.#desired = state
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  observed(): ObservedState | undefined {
    return this.#observed
  }

  problem(): string | undefined {
    return this.#problem
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  async samples(): Promise<TrafficSamples> {
    const answer = await this.#explained(this.#find('/samples'))
    return answer?.status === 200 ? (JSON.parse(answer.text) as TrafficSamples) : {}
  }

  async console(instanceId: string, tailBytes: number): Promise<string | undefined> {
    return (await this.consolePart(instanceId, { tail: Number.MAX_SAFE_INTEGER }, tailBytes))
      ?.output
  }

  async consolePart(
    instanceId: string,
    wish: ConsoleWish,
    maxBytes: number,
  ): Promise<ConsolePart | undefined> {
    const answer = await this.#explained(this.#find(consolePath(instanceId, wish, maxBytes)))
    return answer?.status === 200 ? (JSON.parse(answer.text) as ConsolePart) : undefined
  }

  async consolePartFrom(
    instanceId: string,
    offset: number,
    maxBytes: number,
  ): Promise<ConsolePart | undefined> {
    const path = consolePath(instanceId, { offset }, maxBytes)
    const ask = (place: string) => this.#explained(this.#ask('GET', place))
    let answer = await ask(path)
    if (answer.status === 404) {
      // An agent that has just begun knows of no instance yet.
      const { revision } = JSON.parse((await ask('/observed')).text) as Pick<
        ObservedState,
        'revision'
      >
      if (revision === 0)
        throw new Error('The agent has just started, and does not know its programs yet.')
      answer = await ask(path)
    }
    const { status, text } = answer
    if (status === 404) return undefined
    if (status !== 200)
      throw new Error(
        `The agent cannot read the console of ${instanceId}: it answers ${status}, ${text}`,
      )
    return JSON.parse(text) as ConsolePart
  }

  async timedPart(
    instanceId: string,
    wish: OutputWish,
    maxBytes: number,
  ): Promise<TimedPart | undefined> {
    const wanted = Object.entries(wish).map(([name, value]) => `${name}=${value}`)
    const path = `/output-part/${encodeURIComponent(instanceId)}?${wanted}&maxBytes=${maxBytes}`
    const answer = await this.#explained(this.#ask('GET', path))
    return answer.status === 200 ? (JSON.parse(answer.text) as TimedPart) : undefined
  }

  async *followOutput(
    instanceId: string,
    offset: number,
    signal: AbortSignal,
  ): AsyncGenerator<TimedPart> {
    const lines = readAgentLines({
      socketPath: this.#socketPath,
      method: 'GET',
      path: `/output-follow/${encodeURIComponent(instanceId)}?offset=${offset}`,
      signal: AbortSignal.any([signal, this.#closing.signal]),
    })
    for await (const line of lines) yield line as TimedPart
  }

  exec(instanceId: string, request: ExecRequest): Promise<ExecConnection> {
    const path = `/exec/${encodeURIComponent(instanceId)}`
    return this.#explained(openExec({ socketPath: this.#socketPath, path, request }))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#changed.resolve()
    this.#listeners.clear()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const fault = await this.#follow().catch((error: unknown) => error)
      if (signal.aborted) return
      if (!this.#isNeeded() && fault === undefined) {
        await this.#changed.promise
        // Nothing was lost while no agent was needed.
        this.#lostMs = performance.now()
      } else if (performance.now() - this.#lostMs > reconnectGraceMs)
        this.#setProblem(this.#explainAbsence(fault))
      await sleep(this.#pauseMs, undefined, { signal }).catch(() => {})
      const isRecent = performance.now() - this.#lostMs < reconnectGraceMs
      this.#pauseMs = Math.min(this.#pauseMs * 2, isRecent ? quickPauseMs : longestPauseMs)
    }
  }

  /** Works with one agent until it fails or this client is closed. Resolves at once when there is none yet. */
  async #follow(): Promise<void> {
    if (!(await this.#connect())) return
    this.#setProblem(undefined)
    this.#pauseMs = firstPauseMs
    const session = new AbortController()
    const end = AbortSignal.any([session.signal, this.#closing.signal])
    try {
      await Promise.race([this.#watchObserved(end), this.#keepSending(end)])
    } finally {
      session.abort()
      this.#lostMs = performance.now()
      // It starts by itself.
      if (this.#successor === undefined) this.#expect(this.#observed?.standby)
    }
  }

  /** @returns whether an agent runs with which this client can speak */
  async #connect(): Promise<boolean> {
    const greeting = await this.#find('/')
    if (greeting === undefined) {
      if (this.#startsAgent && this.#isNeeded() && !this.#isStarting()) this.#startAgent()
      return false
    }
    this.#successor = undefined
    const agent = JSON.parse(greeting.text) as Pick<ObservedState, 'protocol' | 'version' | 'pid'>
    if (agent.protocol === agentProtocol && agent.version === this.#version) return true
    this.#log.info(
      agent,
      'an agent of another version is asked to hand over its processes and ports',
    )
    const { status, text } = await this.#ask('POST', '/hand-over', {
      body: JSON.stringify(this.#program),
    })
    if (status === 200) {
      this.#expect((JSON.parse(text) as { successor?: number }).successor)
      return false
    }
    throw new Error(
      `the agent of version ${agent.version} (process ${agent.pid}) does not hand over; run fairlead stop --all`,
    )
  }

  /** One that ends time and again is started after growing pauses. */
  #startAgent(): void {
    const ageMs = performance.now() - this.#startedMs
    const ends = ageMs < stableMs ? this.#quickEnds + 1 : 0
    if (ageMs < agentPauseMs(ends)) return
    this.#quickEnds = ends
    this.#startedMs = performance.now()
    this.#log.info({ dataDir: this.#dataDir }, 'the agent is started')
    this.#starting = startAgent(this.#program)
  }

  #expect(pid: number | undefined): void {
    this.#successor = pid
    this.#successorUntilMs = performance.now() + successorMs
  }

  #isStarting(): boolean {
    if (
      this.#successor !== undefined &&
      performance.now() < this.#successorUntilMs &&
      isAlive(this.#successor)
    )
      return true
    return this.#starting !== undefined && !hasEnded(this.#starting)
  }

  /** Without an agent there may be processes of one that has died. */
  #isNeeded(): boolean {
    if (this.#desired === undefined) return false
    if (this.#desired.instances.length + this.#desired.loadBalancers.length > 0) return true
    try {
      return readdirSync(join(this.#dataDir, instancesFolderName)).length > 0
    } catch (error) {
      // A folder that cannot be read may hold something.
      return (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }

  async #watchObserved(end: AbortSignal): Promise<never> {
    const copy = new ObservedCopy()
    for (let before: ObservedState | undefined; ; ) {
      const state = await this.#receiveChanges(copy, before, end)
      end.throwIfAborted()
      // A new agent knows of no instance until it has the desired state; what was known before is closer to the truth.
      const isMeaningful = state.revision > 0 || this.#desired === undefined
      if (isMeaningful && (state.sequence !== before?.sequence || state.pid !== before.pid)) {
        this.#observed = state
        this.#tell()
      }
      before = state
    }
  }

  /** Line by line, as it arrives: a whole state may be megabytes. @throws {Error} when the answer breaks off */
  #receiveChanges(
    copy: ObservedCopy,
    before: ObservedState | undefined,
    end: AbortSignal,
  ): Promise<ObservedState> {
    const path = `/observed-changes?pid=${before?.pid ?? 0}&after=${before?.sequence ?? 0}&waitMs=${waitMs}`
    return within(waitMs + answerMs, end, async (signal) => {
      for await (const line of readAgentLines({
        socketPath: this.#socketPath,
        method: 'GET',
        path,
        signal,
      })) {
        const state = copy.receive(line as ObservedLine)
        if (state !== undefined) return state
      }
      throw new Error('the report of the agent broke off')
    })
  }

  async #keepSending(end: AbortSignal): Promise<never> {
    for (let sent: DesiredState | undefined; ; ) {
      const { promise: changed } = this.#changed
      if (this.#desired === sent) await changed
      end.throwIfAborted()
      sent = this.#desired
      // Before the first change, there is nothing to send to an agent that a service manager has started.
      if (sent === undefined || sent.revision === 0) continue
      const answer = await this.#ask('PUT', '/desired', { body: JSON.stringify(sent), end })
      if (answer.status >= 500)
        throw new Error(
          `it failed at revision ${sent.revision} of the desired state: ${answer.text}`,
        )
      this.#setProblem(explainRefusal(sent, answer))
    }
  }

  #ask(
    method: AgentRequest['method'],
    path: string,
    { body, end = this.#closing.signal }: AgentCallOptions = {},
  ): Promise<AgentAnswer> {
    return within(answerMs, end, (signal) =>
      askAgent({ socketPath: this.#socketPath, method, path, body, signal }),
    )
  }

  /** Undefined when no agent runs. */
  async #find(path: string): Promise<AgentAnswer | undefined> {
    try {
      return await this.#ask('GET', path)
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw error
    }
  }

  async #explained<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (cause) {
      throw new Error(this.#explainAbsence(cause), { cause })
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  #setProblem(text: string | undefined): void {
    if (this.#problem === text) return
    this.#problem = text
    if (text !== undefined) this.#log.warn({ dataDir: this.#dataDir }, text)
    this.#tell()
  }

  #explainAbsence(fault: unknown): string {
    const cause = fault === undefined ? 'it does not answer' : (fault as Error).message
    const log = join(this.#dataDir, agentLogName)
    return `The agent, which runs the deployed programs, cannot be reached: ${cause}. Its log is ${log}.`
  }
}

function consolePath(instanceId: string, wish: ConsoleWish, maxBytes: number): string {
  const wanted = 'tail' in wish ? `tail=${wish.tail}` : `offset=${wish.offset}`
  return `/console-part/${encodeURIComponent(instanceId.toWellFormed())}?${wanted}&maxBytes=${maxBytes}`
}

/** @throws {Error} in words when the time is over, as `run` otherwise */
async function within<T>(
  limitMs: number,
  end: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(limitMs)
  try {
    return await run(AbortSignal.any([end, limit]))
  } catch (cause) {
    throw limit.aborted && !end.aborted
      ? new Error(`it did not answer within ${limitMs / 1000} s`, { cause })
      : cause
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null
}

/** Undefined when the state was taken. */
function explainRefusal(
  { revision }: DesiredState,
  { status, text }: AgentAnswer,
): string | undefined {
  if (status === 200) return undefined
  const answer = JSON.parse(text) as { revision?: number; error?: string }
  if (status !== 409)
    return `The agent rejects revision ${revision} of the desired state: ${answer.error}`
  const advice =
    'Was an older copy of the data directory put back? Run fairlead stop --all, then start Fairlead again.'
  return `The agent already works on revision ${answer.revision} of the desired state, newer than ${revision}. ${advice}`
}
