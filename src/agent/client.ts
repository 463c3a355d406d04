/** Fairlead's side of the agent: starts it, sends the desired state, follows the observed state. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { socketPathFor } from '../storage/socket-path.ts'
import { type AgentAnswer, type AgentRequest, askAgent, isAbsent } from './agent-request.ts'
import { type ConsolePart, type ConsoleWish, openConsole } from './console.ts'
import type { AgentLog } from './log.ts'
import { agentLogName, instancesFolderName } from './places.ts'
import { agentProtocol, type DesiredState, type ObservedState } from './protocol.ts'

export interface AgentClientOptions {
  readonly dataDir: string
  readonly log: AgentLog
  /** Of the package. */
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
/** Measured with 50 instances: without these and one malloc arena, the agent needs 10 MB more. */
export const agentNodeOptions = ['--max-semi-space-size=2', '--v8-pool-size=1']
/** The agent gets no other variable of Fairlead, whose environment may hold secrets. */
const passedOn = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'NODE_COMPILE_CACHE']

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

  type Ask = (method: AgentRequest['method'], path: string, body?: string) => Promise<AgentAnswer>

  /** Requests that end with the signal. */
  function askUntil(end: AbortSignal, withinMs = answerMs): Ask {
    return (method, path, body) => {
      const signal = AbortSignal.any([end, AbortSignal.timeout(withinMs)])
      return askAgent({ socketPath, method, path, signal, ...(body !== undefined && { body }) })
    }
  }

  const ask = askUntil(closing.signal)

  async function askConsole(path: string): Promise<string | undefined> {
    try {
      const { status, text } = await ask('GET', path)
      return status === 200 ? text : undefined
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw error
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
          })
        }
      } catch (error) {
        fault = error
      }
      if (closing.signal.aborted) return
      if (!isNeeded() && fault === undefined) await Promise.race([desiredChanged.promise, aborted(closing.signal)])
      else if (performance.now() - lostMs > reconnectGraceMs) setProblem(explainAbsence(fault))
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {})
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    }
  }

  /** @returns whether an agent runs with which this client can speak */
  async function connect(): Promise<boolean> {
    const agent = await greet(ask)
    if (agent === undefined) {
      if (isNeeded() && (starting === undefined || hasEnded(starting))) {
        log.info({ dataDir }, 'the agent is started')
        starting = startAgent(dataDir, version, agentFile)
      }
      return false
    }
    if (agent.protocol === agentProtocol) {
      if (agent.version !== version) log.info(agent, 'an agent of another version goes on: it speaks the same protocol')
      return true
    }
    log.info(agent, 'an agent of another version is asked to hand over its processes')
    const { status } = await ask('POST', '/hand-over')
    if (status === 200) return false
    throw new Error(`the agent of version ${agent.version} (process ${agent.pid}) does not hand over; run fairlead stop --all`)
  }

  /** Without an agent there may be processes of one that has died. */
  function isNeeded(): boolean {
    if (desired === undefined) return false
    if (desired.instances.length + desired.loadBalancers.length > 0) return true
    const instances = join(dataDir, instancesFolderName)
    return existsSync(instances) && readdirSync(instances).length > 0
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
    const poll = askUntil(end, waitMs + answerMs)
    for (let sequence = 0; ; ) {
      const { text } = await poll('GET', `/observed?after=${sequence}&waitMs=${waitMs}`)
      end.throwIfAborted()
      const state = JSON.parse(text) as ObservedState
      // A new agent knows of no instance until it has the desired state; what was known before is closer to the truth.
      const isMeaningful = state.revision > 0 || desired === undefined
      if (isMeaningful && state.sequence !== sequence) {
        latest = state
        tell()
      }
      sequence = state.sequence
    }
  }

  async function keepSending(end: AbortSignal): Promise<never> {
    const put = askUntil(end)
    let sent: DesiredState | undefined
    for (;;) {
      const { promise: changed } = desiredChanged
      if (desired === sent) await changed
      end.throwIfAborted()
      sent = desired
      if (sent !== undefined) setProblem(explainRefusal(sent, await put('PUT', '/desired', JSON.stringify(sent))))
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
    console: (instanceId, tailBytes) => askConsole(`/console/${encodeURIComponent(instanceId)}?tailBytes=${tailBytes}`),
    async consolePart(instanceId, wish, maxBytes) {
      const wanted = 'tail' in wish ? `tail=${wish.tail}` : `offset=${wish.offset}`
      const text = await askConsole(`/console-part/${encodeURIComponent(instanceId)}?${wanted}&maxBytes=${maxBytes}`)
      return text === undefined ? undefined : (JSON.parse(text) as ConsolePart)
    },
    async close() {
      closing.abort()
      listeners.clear()
      await running
    },
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

function ownAgentFile(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './agent.js', import.meta.url)
}

/** In a session of its own: neither Ctrl-C at Fairlead's terminal nor a signal to Fairlead reaches it. */
function startAgent(dataDir: string, version: string, file: URL): ChildProcess {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const output = openConsole(join(dataDir, agentLogName))
  try {
    const child = spawn(process.execPath, [...agentNodeOptions, fileURLToPath(file), dataDir, version], {
      cwd: dataDir,
      detached: true,
      env: agentEnvironment(),
      stdio: ['ignore', output, output],
    })
    // Without a process, the next attempt follows.
    child.on('error', () => {})
    child.unref()
    return child
  } finally {
    closeSync(output)
  }
}

function agentEnvironment(): NodeJS.ProcessEnv {
  // From sources, compiled modules also save the compiler of types.
  const own = { MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: getCompileCacheDir() }
  return {
    ...own,
    ...Object.fromEntries(passedOn.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))),
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
