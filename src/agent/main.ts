/** Entry point of the agent's process: `main.ts DATA_DIR VERSION`. */
import { LockedError } from '../storage/file-lock.ts'
import { runAgent } from './agent.ts'
import { createAgentLog } from './log.ts'

const [dataDir = '', version = ''] = process.argv.slice(2)
const log = createAgentLog((line) => void process.stderr.write(line))

runAgent({ dataDir, version, log }).catch((err: unknown) => {
  const isOther = err instanceof LockedError
  if (isOther) log.info({ dataDir }, 'another agent works on this data directory')
  else log.error({ err }, 'the agent cannot run')
  process.exit(isOther ? 0 : 1)
})
