/** An agent with its client in a data directory of its own. Whatever a test starts with it ends with the test. */

import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { type AgentClient, openAgent } from '../../packages/agent/client.ts'
import type { AgentLog } from '../../packages/agent/log.ts'
import { parseMark } from '../../packages/agent/marks.ts'
import { openProcessTable, type ProcessEntry } from '../../packages/agent/processes.ts'
import type {
  DesiredInstance,
  DesiredLoadBalancer,
  ObservedInstance,
  ObservedState,
  Program,
} from '../../packages/base/net/agent-protocol.ts'
import { markOfDataDir } from '../../packages/base/storage/socket-path.ts'
import './program.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'
import { waitFor, waitUntil } from './wait-until.ts'

export interface TestAgent {
  readonly client: AgentClient
  readonly dataDir: string
  /** Sends a desired state with the next revision, and waits until the agent works on it. */
  desire(
    instances: readonly DesiredInstance[],
    loadBalancers?: readonly DesiredLoadBalancer[],
  ): Promise<void>
  /** Waits until the agent reports an instance for which this holds. */
  until(id: string, holds: (instance: ObservedInstance) => boolean): Promise<ObservedInstance>
  instance(id: string): ObservedInstance | undefined
  /** Ends the agent with SIGKILL, and waits until it is gone. The client starts another. */
  kill(): Promise<void>
  /** Processes of instances that exist. */
  processes(): ProcessEntry[]
}

export const silentLog: AgentLog = { info: () => {}, warn: () => {}, error: () => {} }

const table = openProcessTable()
/** Of looking for processes that end with this one. */
const lastRounds = 50

/** The agent starts with the first desired state. */
export function openTestAgent(
  t: TestContext,
  { dataDir = createFolder('agent'), version = '0.0.0-test' } = {},
): TestAgent {
  const client = openAgent({ dataDir, log: silentLog, version })
  let revision = 0
  const processes = endWithTest(t, dataDir, () => client.close())
  t.after(() => removeFolder(dataDir))
  const instance = (id: string) => client.observed()?.instances.find((found) => found.id === id)
  const describe = () => `${JSON.stringify(client.observed(), null, 1)} ${client.problem() ?? ''}`
  return {
    client,
    dataDir,
    instance,
    async desire(instances, loadBalancers = []) {
      revision = Math.max(revision, client.observed()?.revision ?? 0) + 1
      client.setDesired({ revision, instances, loadBalancers })
      await waitUntil(
        () => client.observed()?.revision === revision,
        () => `revision ${revision} in ${describe()}`,
      )
    },
    until: (id, holds) =>
      waitFor(
        () => {
          const found = instance(id)
          return found !== undefined && holds(found) ? found : undefined
        },
        () => `${id} in ${describe()}`,
      ),
    async kill() {
      const { pid } = client.observed() as ObservedState
      process.kill(pid, 'SIGKILL')
      await waitUntil(() => table.find(pid)?.isZombie ?? true, 'the end of the agent')
    },
    processes,
  }
}

/** An instance that runs a program of the shell or of Node; everything else can be said besides. */
export function toInstance(
  id: string,
  command: readonly string[],
  {
    program,
    ...rest
  }: Partial<Omit<DesiredInstance, 'program'>> & { program?: Partial<Program> } = {},
): DesiredInstance {
  return {
    id,
    generation: 1,
    restart: 'always',
    readiness: undefined,
    stopGraceMs: 10_000,
    timeLimitMs: undefined,
    ...rest,
    program: {
      command,
      content: undefined,
      environment: {},
      user: undefined,
      ...program,
      limits: {
        memoryBytes: undefined,
        processes: undefined,
        openFiles: undefined,
        diskBytes: undefined,
        consoleBytes: 64 * 1024,
        ...program?.limits,
      },
    },
  }
}

/**
 * Ends every agent of a data directory, and everything that it runs, with the test or at the latest with this process.
 *
 * @param close Stops what would start another agent.
 * @returns lists the processes of instances
 */
export function endWithTest(
  t: TestEnd,
  dataDir: string,
  close: () => Promise<void>,
): () => ProcessEntry[] {
  // A test may remove the folder before its processes are ended.
  const [words, agentMark] = [[dataDir, realpathSync(dataDir)], markOfDataDir(dataDir)]
  const endAll = () => endEverything(words, agentMark)
  // Agents first, then what they ran; the end of this process waits for neither.
  const endNow = () => {
    for (let round = 0; round < lastRounds && endAll() > 0; round++) {}
  }
  process.once('exit', endNow)
  t.after(async () => {
    await close()
    await waitUntil(() => endAll() === 0, 'the end of every process of the agent')
    process.off('exit', endNow)
  })
  return () => markedProcesses(agentMark)
}

function markedProcesses(agentMark: string): ProcessEntry[] {
  return table
    .list()
    .filter((entry) => !entry.isZombie && parseMark(table.markOf(entry))?.agentMark === agentMark)
}

/**
 * Kills agents first, so that they start nothing again.
 *
 * @param words The data directory, as it may stand in the command of its agent.
 * @returns how many processes there were
 */
function endEverything(words: readonly string[], agentMark: string): number {
  const agents = endProcesses((command) => command.some((word) => words.includes(word)))
  return agents > 0 ? agents : killAll(markedProcesses(agentMark).map(({ pid }) => pid))
}

/** @returns how many processes there were with such a command */
export function endProcesses(isMeant: (command: readonly string[]) => boolean): number {
  const pids = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && name !== String(process.pid) && isMeant(readCommand(name)),
  )
  return killAll(pids.map(Number))
}

function killAll(pids: readonly number[]): number {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
  return pids.length
}

/** Words of the command of a process; the last one is empty. */
export function readCommand(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}
