/** Starts of the agent's process: by Fairlead, or by the agent before it, whose listening sockets it inherits. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agentLogName } from '@fairlead/base/names/agent-files.ts'
import { compileCacheVariable } from '@fairlead/base/runtime/compile-cache.ts'
import { openAgentLog } from './log.ts'

/** How an agent is started; Fairlead tells it to the one that is to be replaced. */
export interface AgentProgram {
  readonly dataDir: string
  readonly command: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** They save 10 MB with 50 instances and one malloc arena; most others make V8 reject Node's compiled code. */
export const agentNodeOptions = ['--max-semi-space-size=2', '--v8-pool-size=1']
/** The agent gets no other variable of Fairlead, whose environment may hold secrets. */
const passedOn = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'NODE_COMPILE_CACHE']
/** After those for input, output and errors. */
const firstDescriptor = 3

/** The program of the agent: the one beside this file. Tests start that of the bundle instead: 0.15 s of processor time in place of 0.22 s. */
export const agentProgram = {
  file: new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './agent.js', import.meta.url),
}

export function toAgentProgram(dataDir: string, version: string): AgentProgram {
  return {
    dataDir,
    command: process.execPath,
    args: [...agentNodeOptions, fileURLToPath(agentProgram.file), dataDir, version],
    environment: agentEnvironment(),
  }
}

function agentEnvironment(): NodeJS.ProcessEnv {
  // From sources, compiled modules also save the compiler of types.
  const own = { MALLOC_ARENA_MAX: '1', ...compileCacheVariable() }
  return {
    ...own,
    ...Object.fromEntries(
      passedOn.flatMap((name) =>
        process.env[name] === undefined ? [] : [[name, process.env[name]]],
      ),
    ),
  }
}

/** @throws {SyntaxError} says what is wrong */
export function checkAgentProgram(body: unknown): AgentProgram {
  const { dataDir, command, args, environment } = (body ?? {}) as Partial<AgentProgram>
  const isProgram =
    typeof dataDir === 'string' && typeof command === 'string' && Array.isArray(args)
  if (!isProgram || !args.every((arg) => typeof arg === 'string'))
    throw new SyntaxError('This is no program of an agent.')
  return { dataDir, command, args, environment: environment ?? {} }
}

/**
 * In a session of its own: neither Ctrl-C at Fairlead's terminal nor a signal to Fairlead reaches it.
 *
 * @param sockets Listening sockets that it goes on with, by host and port
 */
export function startAgent(
  { dataDir, command, args, environment }: AgentProgram,
  sockets: ReadonlyMap<string, number> = new Map(),
  input: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const output = openAgentLog(join(dataDir, agentLogName))
  try {
    const child = spawn(command, [...args, ...sockets.keys()], {
      cwd: dataDir,
      detached: true,
      env: environment,
      stdio: [input, output, output, ...sockets.values()],
    })
    // Without a process, the next attempt follows.
    child.on('error', () => {})
    child.unref()
    return child
  } finally {
    closeSync(output)
  }
}

/** @param addresses The arguments that `startAgent` has added. */
export function inheritedSockets(addresses: readonly string[]): Map<string, number> {
  return new Map(addresses.map((address, index) => [address, firstDescriptor + index]))
}
