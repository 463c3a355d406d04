/** Names of what the agent keeps in the data directory. */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'

/** Its log; standard error of its process. */
export const agentLogName = 'agent.log'

/** Held by the agent that works on the data directory. */
export const agentLockName = 'agent.lock'

/** Signs the marks of processes; for the agent's user alone. */
export const agentKeyName = 'agent.key'

/** Load balancers and the health of their instances, for the agent that takes the place of one that died. */
export const trafficName = 'agent-traffic.json'

/** The folder that has a folder for each instance. */
export const instancesFolderName = 'instances'

/** What marks processes as belonging to a data directory; the same however its path is written. */
export function markOfDataDir(dataDir: string): string {
  return createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16)
}
