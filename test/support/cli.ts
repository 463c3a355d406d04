/** Runs `fairlead` as people do: as a process, with a home of its own. */
import { spawn } from 'node:child_process'
import { program, sharedEnvironment } from './program.ts'

export interface CliRun {
  /** 128 and more for a signal, as a shell reports it. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface CliOptions {
  /** Of the process; `HOME` keeps the configuration. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Written to standard input, which is a pipe. */
  readonly input?: string
}

/** Without a terminal. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const { env = {}, cwd, input = '' } = options
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { ...sharedEnvironment, ...env },
    stdio: 'pipe',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // It may have ended before it has read all.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) =>
      resolve({ code: code ?? (signal === 'SIGINT' ? 130 : 143), stdout, stderr }),
    )
  })
}
