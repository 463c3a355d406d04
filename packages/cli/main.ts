/** Entry of the command line: operators' commands go to the server's program, all others are loaded here. */
import { enableCompileCache } from 'node:module'
import { isOperatorCommand } from './operator-commands.ts'

/** Runs the commands that come with the server. */
type OperatorProgram = (args: readonly string[]) => Promise<void>

/**
 * @param operator Undefined where only this package is installed
 * @throws {Error} with the code ERR_MODULE_NOT_FOUND when a package is missing
 */
export async function run(args: readonly string[], operator?: OperatorProgram): Promise<void> {
  const [first = '', second = ''] = args
  const name = first === 'help' || first === '--help' || first === '-h' ? second : first
  if (operator !== undefined && isOperatorCommand(name)) return operator(args)
  enableCompileCache()
  const { runCommandLine } = await import('./command-line.ts')
  process.exitCode = await runCommandLine(args)
}
