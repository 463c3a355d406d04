/** Fairlead's side of the agent: starts it, sends the desired state, follows the observed state. */
import type { ChildProcess } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { socketPathFor } from '../storage/socket-path.ts'
import { type AgentAnswer, type AgentRequest, askAgent, isAbsent, readAgentLines } from './agent-request.ts'
import type { ConsolePart, ConsoleWish } from './console.ts'
import type { AgentLog } from './log.ts'
import { ObservedCopy, type ObservedLine } from './observed-lines.ts'
import { agentLogName, instancesFolderName } from './places.ts'
import { agentProtocol, type DesiredState, type ObservedState } from './protocol.ts'
import { agentPauseMs, stableMs } from './restart-pause.ts'
import { ownAgentFile, startAgent, toAgentProgram } from './start-agent.ts'

export interface AgentClientOptions {
  readonly dataDir: string
  readonly log: AgentLog
  /** The version of the package. */
  readonly version: string
  /** The agent's program, unless it is the one beside this file. */
  readonly agentFile?: URL | undefined
}

export interface AgentClient {
  /** Replaces the desired state. It is sent now, and again to every agent that takes the place of this one. */
  setDesired(state: DesiredState): void
  /** The latest state that an agent reported; undefined before the first. */
  observed(): ObservedState | undefined
  /** Why the agent cannot be reached at the moment, for people. */
  problem(): string | undefined
  /** Calls the listener after each change of `observed` or `problem`. @returns ends the calls */
  onChange(listener: () => void): () => void
  /** The newest bytes of what an instance wrote; undefined when there is no such console, or no agent. */
  console(instanceId: string, tailBytes: number): Promise<string | undefined>
  /** A part of it, in at most `maxBytes`; undefined as for `console`. */
  consolePart(instanceId: string, wish: ConsoleWish, maxBytes: number): Promise<ConsolePart | undefined>
  /** Leaves the agent running. */
  close(): Promise<void>
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
/** Until then a connection is tried often: a successor may be starting. */
const quickPauseMs = 50

export function openAgent({ dataDir: folder, log, version, agentFile = ownAgentFile() }: AgentClientOptions): AgentClient {
  const dataDir = resolve(folder)
  const socketPath = socketPathFor(dataDir, 'agent.sock')
  const closing = new AbortController()
  const listeners = new Set<() => void>()
  let desired: DesiredState | undefined
  let desiredChanged = Promise.withResolvers<void>()
  let latest: ObservedState | undefined
  let problem: string | undefined
  let starting: ChildProcess | undefined
  /** The latest start of an agent, and how many in a row did not live long. */
  let startedMs = Number.NEGATIVE_INFINITY
  let quickEnds = 0
  /** Process id of the agent that takes over from another one, as long as it may take to start. */
  let successor: number | undefined
  let successorUntilMs = 0

  type Ask = (method: AgentRequest['method'], path: string, body?: string) => Promise<AgentAnswer>

  /** Requests that end with the signal. */
  function askUntil(end: AbortSignal, withinMs = answerMs): Ask {
    return (method, path, body) =>
      within(withinMs, end, (signal) => askAgent({ socketPath, method, path, signal, ...(body !== undefined && { body }) }))
  }

  const ask = askUntil(closing.signal)

  async function askConsole(path: string): Promise<string | undefined> {
    try {
      const { status, text } = await ask('GET', path)
      return status === 200 ? text : undefined
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw new Error(explainAbsence(error), { cause: error })
    }
  }

  function tell(): void {
    for (const listener of [...listeners]) listener()
  }

  function setProblem(text: string | undefined): void {
    if (problem === text) return
    problem = text
    if (text !== undefined) log.warn({ dataDir }, text)
    tell()
  }

  async function run(): Promise<void> {
    let lostMs = performance.now()
    for (let pauseMs = firstPauseMs; !closing.signal.aborted; ) {
      let fault: unknown
      try {
        if (await connect()) {
          setProblem(undefined)
          pauseMs = firstPauseMs
          await follow().finally(() => {
            lostMs = performance.now()
            // It starts by itself.
            if (successor === undefined) expect(latest?.standby)
          })
        }
      } catch (error) {
        fault = error
      }
      if (closing.signal.aborted) return
      if (!isNeeded() && fault === undefined) {
        await Promise.race([desiredChanged.promise, aborted(closing.signal)])
        // Nothing was lost while no agent was needed.
        lostMs = performance.now()
      } else if (performance.now() - lostMs > reconnectGraceMs) setProblem(explainAbsence(fault))
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {})
      const isRecent = performance.now() - lostMs < reconnectGraceMs
      pauseMs = Math.min(pauseMs * 2, isRecent ? quickPauseMs : longestPauseMs)
    }
  }

  /** @returns whether an agent runs with which this client can speak */
  async function connect(): Promise<boolean> {
    const agent = await greet(ask)
    if (agent === undefined) {
      if (isNeeded() && !isStarting()) start()
      return false
    }
    successor = undefined
    if (agent.protocol === agentProtocol && agent.version === version) return true
    log.info(agent, 'an agent of another version is asked to hand over its processes and ports')
    const { status, text } = await ask('POST', '/hand-over', JSON.stringify(toAgentProgram(dataDir, version, agentFile)))
    if (status === 200) {
      expect((JSON.parse(text) as { successor?: number }).successor)
      return false
    }
    throw new Error(`the agent of version ${agent.version} (process ${agent.pid}) does not hand over; run fairlead stop --all`)
  }

  /** One that ends time and again is started after growing pauses. */
  function start(): void {
    const ageMs = performance.now() - startedMs
    const ends = ageMs < stableMs ? quickEnds + 1 : 0
    if (ageMs < agentPauseMs(ends)) return
    quickEnds = ends
    startedMs = performance.now()
    log.info({ dataDir }, 'the agent is started')
    starting = startAgent(toAgentProgram(dataDir, version, agentFile))
  }

  function expect(pid: number | undefined): void {
    successor = pid
    successorUntilMs = performance.now() + successorMs
  }

  function isStarting(): boolean {
    if (successor !== undefined && performance.now() < successorUntilMs && isAlive(successor)) return true
    return starting !== undefined && !hasEnded(starting)
  }

  /** Without an agent there may be processes of one that has died. */
  function isNeeded(): boolean {
    if (desired === undefined) return false
    if (desired.instances.length + desired.loadBalancers.length > 0) return true
    const instances = join(dataDir, instancesFolderName)
    try {
      return readdirSync(instances).length > 0
    } catch (error) {
      // A folder that cannot be read may hold something.
      return (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }

  /** Works with one agent until it fails or this client is closed. */
  async function follow(): Promise<never> {
    const session = new AbortController()
    const end = AbortSignal.any([session.signal, closing.signal])
    try {
      return await Promise.race([watchObserved(end), keepSending(end)])
    } finally {
      session.abort()
    }
  }

  async function watchObserved(end: AbortSignal): Promise<never> {
    const copy = new ObservedCopy()
    for (let before: ObservedState | undefined; ; ) {
      const state = await receiveChanges(copy, before, end)
      end.throwIfAborted()
      // A new agent knows of no instance until it has the desired state; what was known before is closer to the truth.
      const isMeaningful = state.revision > 0 || desired === undefined
      if (isMeaningful && (state.sequence !== before?.sequence || state.pid !== before.pid)) {
        latest = state
        tell()
      }
      before = state
    }
  }

  /** Line by line, as it arrives: a whole state may be megabytes. @throws {Error} when the answer breaks off */
  async function receiveChanges(copy: ObservedCopy, before: ObservedState | undefined, end: AbortSignal): Promise<ObservedState> {
    const path = `/observed-changes?pid=${before?.pid ?? 0}&after=${before?.sequence ?? 0}&waitMs=${waitMs}`
    return within(waitMs + answerMs, end, async (signal) => {
      for await (const line of readAgentLines({ socketPath, method: 'GET', path, signal })) {
        const state = copy.receive(line as ObservedLine)
        if (state !== undefined) return state
      }
      throw new Error('the report of the agent broke off')
    })
  }

  async function keepSending(end: AbortSignal): Promise<never> {
    const put = askUntil(end)
    let sent: DesiredState | undefined
    for (;;) {
      const { promise: changed } = desiredChanged
      if (desired === sent) await changed
      end.throwIfAborted()
      sent = desired
      if (sent === undefined) continue
      const answer = await put('PUT', '/desired', JSON.stringify(sent))
      if (answer.status >= 500) throw new Error(`it failed at revision ${sent.revision} of the desired state: ${answer.text}`)
      setProblem(explainRefusal(sent, answer))
    }
  }

  function explainAbsence(fault: unknown): string {
    const cause = fault === undefined ? 'it does not answer' : (fault as Error).message
    return `The agent, which runs the deployed programs, cannot be reached: ${cause}. Its log is ${join(dataDir, agentLogName)}.`
  }

  const running = run()
  return {
    setDesired(state) {
      desired = state
      desiredChanged.resolve()
      desiredChanged = Promise.withResolvers()
    },
    observed: () => latest,
    problem: () => problem,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    console: (instanceId, tailBytes) => askConsole(`/console/${toSegment(instanceId)}?tailBytes=${tailBytes}`),
    async consolePart(instanceId, wish, maxBytes) {
      const wanted = 'tail' in wish ? `tail=${wish.tail}` : `offset=${wish.offset}`
      const text = await askConsole(`/console-part/${toSegment(instanceId)}?${wanted}&maxBytes=${maxBytes}`)
      return text === undefined ? undefined : (JSON.parse(text) as ConsolePart)
    },
    async close() {
      closing.abort()
      listeners.clear()
      await running
    },
  }
}

/** @throws {Error} in words when the time is over, as `run` otherwise */
async function within<T>(limitMs: number, end: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(limitMs)
  try {
    return await run(AbortSignal.any([end, limit]))
  } catch (cause) {
    throw limit.aborted && !end.aborted ? new Error(`it did not answer within ${limitMs / 1000} s`, { cause }) : cause
  }
}

interface Greeting {
  readonly protocol: number
  readonly version: string
  readonly pid: number
}

/** Undefined when no agent runs. */
async function greet(ask: (method: 'GET', path: string) => Promise<AgentAnswer>): Promise<Greeting | undefined> {
  try {
    return JSON.parse((await ask('GET', '/')).text) as Greeting
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
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
function explainRefusal({ revision }: DesiredState, { status, text }: AgentAnswer): string | undefined {
  if (status === 200) return undefined
  const answer = JSON.parse(text) as { revision?: number; error?: string }
  if (status !== 409) return `The agent rejects revision ${revision} of the desired state: ${answer.error}`
  const advice = 'Was an older copy of the data directory put back? Run fairlead stop --all, then start Fairlead again.'
  return `The agent already works on revision ${answer.revision} of the desired state, newer than ${revision}. ${advice}`
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve: end } = Promise.withResolvers<void>()
  if (signal.aborted) end()
  else signal.addEventListener('abort', () => end(), { once: true })
  return promise
}

function toSegment(id: string): string {
  return encodeURIComponent(id.toWellFormed())
}
