/** `fairlead agent`: runs the agent in the foreground, for service managers. Otherwise Fairlead starts it when it is needed. */
import { resolve } from 'node:path'
import { runAgent } from '@fairlead/agent/agent.ts'
import { askAgent, isAbsent } from '@fairlead/agent/agent-request.ts'
import { createAgentLog } from '@fairlead/agent/log.ts'
import { createDataDir } from '@fairlead/app/hosting/lock.ts'
import { LockedError } from '@fairlead/base/storage/file-lock.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import { readArguments } from './arguments.ts'
import { configOption, readConfig } from './read-config.ts'
import { reportTo } from './service-manager.ts'
import { packageVersion } from './version.ts'

const answerMs = 10_000

export async function run(args: readonly string[]): Promise<number | undefined> {
  readArguments(args, { command: 'agent', options: configOption })
  // The configuration may need secrets, which an agent has not.
  const given = process.env['FAIRLEAD_DATA_DIR']
  const dataDir = given ? resolve(given) : (await readConfig(args)).config.backends.dataDir
  createDataDir(dataDir)
  const log = createAgentLog((line) => void process.stderr.write(line))
  const manager = reportTo(log)
  const yielded = async () => {
    const pid = manager.isPresent ? await findAgent(dataDir) : undefined
    if (pid !== undefined) await manager.yieldTo(pid, 'running; a former agent has started it')
    return pid !== undefined
  }
  try {
    if (await yielded()) return 0
    await runAgent({ dataDir, version: packageVersion(), log })
    void manager.ready('running')
    return undefined
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
    // It may just have begun.
    if (await yielded()) return 0
    process.stderr.write(`Another agent works on the data directory ${dataDir}.\n`)
    return 1
  }
}

async function findAgent(dataDir: string): Promise<number | undefined> {
  const socketPath = socketPathFor(dataDir, 'agent.sock')
  try {
    const { text } = await askAgent({
      socketPath,
      method: 'GET',
      path: '/',
      signal: AbortSignal.timeout(answerMs),
    })
    return (JSON.parse(text) as { pid: number }).pid
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}
