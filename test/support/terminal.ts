/** Runs `fairlead` in a pseudo-terminal, as a person who reads and types. */
import { spawn } from 'node:child_process'
import { shellWord } from '../../packages/base/names/shell-word.ts'
import { program, sharedEnvironment } from './program.ts'
import { waitUntil } from './wait-until.ts'

export interface Terminal {
  /** All that the terminal has shown. */
  shown(): string
  /** Resolves once the terminal shows it. */
  read(pattern: RegExp): Promise<void>
  type(text: string): void
  /** The exit code. */
  readonly ended: Promise<number>
}

export function runInTerminal(
  args: readonly string[],
  { env = {}, cwd }: { env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Terminal {
  // A shell in between would end as Ctrl C ends it.
  const line = ['exec', process.execPath, program, ...args].map(shellWord).join(' ')
  const child = spawn(
    'script',
    ['--quiet', '--flush', '--return', '--command', line, '/dev/null'],
    {
      cwd,
      env: { ...sharedEnvironment, TERM: 'xterm', ...env },
      stdio: 'pipe',
    },
  )
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  child.stdin.on('error', () => {})
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? -1))
  })
  return {
    shown: () => shown,
    read: (pattern) =>
      waitUntil(
        () => pattern.test(shown),
        () => `${pattern} in:\n${shown}`,
      ),
    type: (text) => child.stdin.write(text),
    ended,
  }
}
