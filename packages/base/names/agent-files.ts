/** Names of what the agent keeps in the data directory. */

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

/** The folder with the directories that programs keep. */
export const volumesFolderName = 'volumes'

/** The folder with the certificates of the fronts and their keys; for the agent's user alone. */
export const frontFolderName = 'front'
