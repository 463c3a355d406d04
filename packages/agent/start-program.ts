/** Starts a program in its own process group, with its limits, after it is recorded. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import type { Program } from '@fairlead/base/net/agent-protocol.ts'
import { findOnPath, isExecutable, isFile } from '@fairlead/base/runtime/find-program.ts'
import { openConsole } from './console.ts'
import { closeAll, type InstanceFiles, openStatus, unstarted } from './instance-files.ts'
import { markName } from './processes.ts'

/** A start that fails in the same way each time. */
export class StartError extends Error {}

interface StartedProgram {
  readonly pid: number
  readonly child: ChildProcess
  /** Resolves when its whole output is in the console, or with how the pump ended that should have moved it there. */
  readonly drained: Promise<string | undefined>
  readonly pumpPid: number
  /** Lets the program begin. Until then a shell waits, which ends by itself when the agent dies. */
  begin(): void
}

interface StartOptions {
  readonly program: Program
  readonly files: InstanceFiles
  /** Value of the environment variable that marks the process. */
  readonly mark: string
  /** A shell stays and writes the exit code to the status file. */
  readonly keepsStatus: boolean
}

/** What the agent's own environment gives to programs that do not set it. */
const inherited = ['PATH', 'HOME', 'LANG']
export const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Resolves when the operating system has created the process.
 *
 * @throws {StartError} when the program is missing or may not be started
 * @throws {Error} for another cause, such as too many processes
 */
export async function startProgram({
  program,
  files,
  mark,
  keepsStatus,
}: StartOptions): Promise<StartedProgram> {
  const environment = toEnvironment(program, mark)
  const [name = '', ...args] = program.command
  const file = findProgram(name, files.work, environment['PATH'] ?? defaultPath)
  const status = keepsStatus ? [openStatus(files.status)] : []
  const opened = [...status]
  try {
    const {
      descriptors,
      drained,
      pid: pumpPid,
    } = await openConsole(files.console, program.limits.consoleBytes)
    opened.push(...descriptors)
    // It throws some faults, and reports others as an event.
    const child = spawn('/bin/sh', ['-c', toScript(program, keepsStatus), name, file, ...args], {
      cwd: files.work,
      detached: true,
      env: environment,
      stdio: ['pipe', ...descriptors, ...status],
      ...program.user,
    })
    await once(child, 'spawn')
    // A shell that has ended already is reported by its exit.
    child.stdin?.on('error', () => {})
    return {
      pid: child.pid as number,
      child,
      drained,
      pumpPid,
      begin: () => void child.stdin?.end('\n'),
    }
  } catch (error) {
    throw toStartFault(error as NodeJS.ErrnoException)
  } finally {
    closeAll(opened)
  }
}

/** The shell waits for a line, so that nothing runs that no record names; end of file means that the agent has died. */
function toScript({ limits, container }: Program, keepsStatus: boolean): string {
  const openFiles =
    limits.openFiles === undefined ? '' : `ulimit -n ${Math.floor(limits.openFiles)} || exit 126; `
  // Helpers of podman that outlive a container, and serve others, must not look like a part of it.
  const limit = container === undefined ? openFiles : `unset ${markName}; `
  if (!keepsStatus) return `read -r go || exit 125; ${limit}exec "$@" </dev/null`
  // Traps with a command, unlike ignored signals, are not passed on to the program.
  const begin = `trap : TERM INT HUP QUIT; read -r go || { echo ${unstarted} >&3; exit 125; }; ${limit}`
  return `${begin}"$@" </dev/null 3>&-; code=$?; echo "$code" >&3; exit "$code"`
}

export function toEnvironment(
  { environment, container }: Program,
  mark: string,
): Record<string, string> {
  if (container !== undefined)
    return { ...container.runtimeEnvironment, ...environment, [markName]: mark }
  const own = inherited.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { PATH: defaultPath, ...Object.fromEntries(own), ...environment, [markName]: mark }
}

/** The working directory comes first, then `PATH`. @throws {StartError} */
export function findProgram(name: string, work: string, path: string): string {
  if (name === '') throw new StartError('The command is empty.')
  if (name.startsWith('/')) return checkProgram(name, name)
  const own = join(work, name)
  if (name.includes('/') || isFile(own)) return checkProgram(own, name)
  // Folders of the image may come first, such as those of its packages.
  const folders = path.split(':').map((folder) => (folder === '' ? folder : resolve(work, folder)))
  const found = findOnPath(name, folders.join(':'))
  if (found !== undefined) return found
  throw new StartError(
    `The program "${shorten(name)}" was not found: it is neither in the working directory nor in PATH (${path}).`,
  )
}

function checkProgram(file: string, name: string): string {
  if (!isFile(file))
    throw new StartError(
      `The program "${shorten(name)}" was not found. Check the command and what the image contains.`,
    )
  if (!isExecutable(file))
    throw new StartError(`The program "${name}" may not be executed. Give it the right: chmod +x.`)
  return file
}

const lastingFaults: Readonly<Record<string, string>> = {
  EPERM:
    'Only root may start programs as another user: remove the user, or start Fairlead as root.',
  E2BIG:
    'Its command and its environment are larger than this machine allows: put what is large into a file of the image.',
}

function toStartFault(error: NodeJS.ErrnoException): Error {
  const text = lastingFaults[error.code ?? '']
  return text === undefined ? error : new StartError(text)
}
