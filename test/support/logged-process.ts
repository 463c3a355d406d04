/** Daemons that log into a file, and end with the process of the tests at the latest. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { waitUntil } from './wait-until.ts'

export interface LoggedProcess {
  readonly pid: number
  /** The end of its log. */
  log(): string
  /** Waits for a condition. @throws {Error} when the process ends before, with the end of its log. */
  until(holds: () => boolean | Promise<boolean>, what: string): Promise<void>
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>
}

/** Characters. */
const shownOfLog = 4_000

/** Starts a program in a folder, which also receives its log. */
export function startProcess(
  folder: string,
  program: string,
  args: readonly string[],
): LoggedProcess {
  const name = basename(program)
  const file = join(folder, `${name}.log`)
  const child = spawnBound(program, args, folder, file)
  const log = () => readFileSync(file, 'utf8').slice(-shownOfLog)
  const kill = () => killChild(child)
  const endNow = () => void child.kill('SIGKILL')
  // Before the folder is removed.
  process.prependOnceListener('exit', endNow)
  child.once('exit', () => process.off('exit', endNow))
  const until: LoggedProcess['until'] = async (holds, what) => {
    await waitUntil(
      async () => {
        if (isOver(child))
          throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}:\n${log()}`)
        return holds()
      },
      () => `${what}:\n${log()}`,
    )
  }
  return { pid: child.pid ?? 0, log, until, kill }
}

/** Linux ends such a child with its parent, even when that is killed. */
function spawnBound(
  program: string,
  args: readonly string[],
  cwd: string,
  logFile: string,
): ChildProcess {
  const output = openSync(logFile, 'a')
  const bound =
    process.platform === 'linux' ? ['setpriv', '--pdeathsig', 'KILL', '--', program] : [program]
  const [command = program, ...before] = bound
  // Without the proxies of the environment, which reach nothing on loopback.
  const child = spawn(command, [...before, ...args], {
    cwd,
    // Collecting less often costs memory, of which there is enough.
    env: { PATH: process.env['PATH'], HOME: cwd, GOGC: '400' },
    stdio: ['ignore', output, output],
  })
  child.once('error', () => {})
  closeSync(output)
  return child
}

async function killChild(child: ChildProcess): Promise<void> {
  if (isOver(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function isOver({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null
}
