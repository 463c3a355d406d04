/** The commands of operators: picks the command, hands it its arguments, and tells how it ended. */
import { enableCompileCache } from 'node:module'
import { choose, Misuse } from './arguments.ts'
import { command } from './command-name.ts'
import { usageOf } from './usages.ts'

// Compiled code is kept between starts, which halves the time of the second one.
enableCompileCache()

/** Each command answers with the exit status of the process; undefined while it goes on working. */
type Command = (args: readonly string[]) => Promise<number | undefined>

const commands: Readonly<Record<string, () => Promise<{ readonly run: Command }>>> = {
  serve: () => import('./serve.ts'),
  backends: () => import('./backends.ts'),
  stop: () => import('./stop.ts'),
  check: () => import('./check.ts'),
  health: () => import('./health.ts'),
  doctor: () => import('./doctor.ts'),
  explain: () => import('./explain.ts'),
  openapi: () => import('./openapi.ts'),
  user: () => import('./user.ts'),
  token: () => import('./token.ts'),
  image: () => import('./image.ts'),
  backup: () => import('./backup.ts'),
  restore: () => import('./restore.ts'),
  move: () => import('./move.ts'),
  dashboards: () => import('./dashboards.ts'),
  install: () => import('./install.ts'),
  setup: () => import('./setup.ts'),
  audit: () => import('./audit.ts'),
  agent: () => import('./agent.ts'),
}

/** @throws {Error} with the code ERR_MODULE_NOT_FOUND when a package is missing; all other errors are reported here */
export async function run(args: readonly string[]): Promise<void> {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // Who pipes into `head` has seen enough.
    if (code === 'EPIPE') process.exit()
    process.stderr.write(
      `Standard output cannot be written: ${message}. Write it to another place.\n`,
    )
    process.exit(1)
  })
  try {
    process.exitCode = await runCommand(args)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') throw error
    const { status, text } = await describeFailure(error)
    process.stderr.write(`${text}\n`)
    process.exitCode = status
    // A connection that was opened before must not keep the command from ending.
    setTimeout(() => process.exit(), 1000).unref()
  }
}

/** @throws {Error} what `describeFailure` tells */
export async function runCommand([first = '', ...args]: readonly string[]): Promise<
  number | undefined
> {
  const asksForHelp = first === '--help' || first === '-h' || first === 'help'
  const [name = '', ...words] = asksForHelp ? args : [first, ...args]
  const load = choose(commands, name, '')
  if (!asksForHelp && !words.includes('--help') && !words.includes('-h'))
    return (await load()).run(words)
  process.stdout.write(usageOf(name, words) + callNote())
  return 0
}

export async function describeFailure(error: unknown): Promise<{ status: number; text: string }> {
  if (error instanceof Misuse) {
    return {
      status: 2,
      text: `${error.message} Help: ${command(`${error.command} --help`.trim())}`,
    }
  }
  const { explainFailure } = await import('./failure.ts')
  return { status: 1, text: explainFailure(error) }
}

/** The command behind `fairlead` where the shell has none of that name. */
function callNote(): string {
  const typed = command('').trim()
  return typed === 'fairlead' ? '' : `\nHere, fairlead is typed as: ${typed}\n`
}

if (import.meta.main) await run(process.argv.slice(2))
