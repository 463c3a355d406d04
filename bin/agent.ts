/** `fairlead agent`: runs the agent in the foreground, for service managers. Otherwise Fairlead starts it when it is needed. */
import { runAgent } from '../src/agent/agent.ts'
import { createAgentLog } from '../src/agent/log.ts'
import { createDataDir } from '../src/backends/hosting/lock.ts'
import { LockedError } from '../src/storage/file-lock.ts'
import { readArguments } from './arguments.ts'
import { configOption, readConfig } from './read-config.ts'
import { packageVersion } from './version.ts'

export const usage = `Usage: fairlead agent [options]

  --config FILE   another configuration file; may be repeated, later wins

Runs the agent, which owns the deployed programs and load balancers of this machine. Fairlead starts it by itself when it is needed.
SIGTERM ends the agent alone: programs go on, and the next agent adopts them.
`

export async function run(args: readonly string[]): Promise<number | undefined> {
  readArguments(args, { command: 'agent', options: configOption })
  const { config } = await readConfig(args)
  const { dataDir } = config.backends
  createDataDir(dataDir)
  const log = createAgentLog((line) => void process.stderr.write(line))
  try {
    await runAgent({ dataDir, version: packageVersion(), log })
    return undefined
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
    process.stderr.write(`Another agent works on the data directory ${dataDir}.\n`)
    return 1
  }
}
