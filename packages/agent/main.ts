/** Entry point of the agent's process: `main.ts DATA_DIR VERSION [ADDRESS...]`, the addresses of the sockets that it inherits. */
import { LockedError } from '@fairlead/base/storage/file-lock.ts'
import { runAgent } from './agent.ts'
import { createAgentLog } from './log.ts'
import { inheritedSockets } from './start-agent.ts'

const [dataDir = '', version = '', ...addresses] = process.argv.slice(2)
// A full disk must not end the agent.
process.stderr.on('error', () => {})
const log = createAgentLog((line) => void process.stderr.write(line))

runAgent({ dataDir, version, log, inherited: inheritedSockets(addresses) }).catch(
  (err: unknown) => {
    const isOther = err instanceof LockedError
    if (isOther) log.info({ dataDir }, 'another agent works on this data directory')
    else log.error({ err }, 'the agent cannot run')
    process.exit(isOther ? 0 : 1)
  },
)
