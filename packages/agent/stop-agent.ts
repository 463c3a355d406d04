/** Ends the agent of a data directory with everything it runs. */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { agentLockName, instancesFolderName } from '@fairlead/base/names/agent-files.ts'
import { lockFile } from '@fairlead/base/storage/file-lock.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import { askAgent, isAbsent } from './agent-request.ts'
import type { AgentLog } from './log.ts'
import { Supervisor } from './supervisor.ts'

/** Programs have their own time to end; this is longer than any sensible one. */
const longestStopMs = 3_600_000

/**
 * Resolves when the last process has ended. Without an agent, processes that one has left are ended all the same.
 *
 * @returns whether there was something to end
 * @throws {Error} when the agent cannot end them
 */
export async function stopAgent(folder: string, log: AgentLog): Promise<boolean> {
  const dataDir = resolve(folder)
  const instances = join(dataDir, instancesFolderName)
  const socketPath = socketPathFor(dataDir, 'agent.sock')
  try {
    const signal = AbortSignal.timeout(longestStopMs)
    const { status, text } = await askAgent({ socketPath, method: 'POST', path: '/stop', signal })
    if (status === 200) return true
    throw new Error(`The agent cannot stop everything: ${text}`)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  if (!existsSync(instances) || readdirSync(instances).length === 0) return false
  const lock = lockFile(join(dataDir, agentLockName))
  try {
    await new Supervisor({ dataDir, log, onChange: () => {} }).stop()
    return true
  } finally {
    lock.close()
  }
}
