/** The type of a command: its words and options are data, and `run` gets them typed. */
import type { Client } from './client.ts'
import type { Interrupts } from './interrupts.ts'
import type { Output } from './output.ts'
import type { Questions } from './questions.ts'
import type { Session } from './session.ts'

/** What an option holds, by its type; a `span` is in milliseconds. */
interface ValueTypes {
  readonly switch: boolean
  readonly text: string | undefined
  /** May be repeated. */
  readonly list: readonly string[]
  readonly number: number | undefined
  readonly span: number | undefined
}

export interface OptionSpec {
  readonly type: keyof ValueTypes
  readonly summary: string
  /** One letter. */
  readonly short?: string
  /** Placeholder in the help, `NAME`; needed by all but switches. */
  readonly value?: string
  readonly choices?: readonly string[]
}

type OptionSpecs = Readonly<Record<string, OptionSpec>>
type Values<O extends OptionSpecs> = { readonly [K in keyof O]: ValueTypes[O[K]['type']] }

/** Headings of the help, in its order. */
export const groups = {
  app: 'Deploy an application',
  runs: 'Pipelines and runs',
  files: 'Definitions as files',
  login: 'Instances and login',
  other: 'Other',
} as const

/** What a command works with. */
export interface CommandContext {
  /** Words before `--`, as `words` of the command declares them. */
  readonly words: readonly string[]
  /** All after `--`, untouched. */
  readonly rest: readonly string[]
  /** Who and where: instance, application, environment. */
  readonly session: Session
  readonly output: Output
  readonly questions: Questions
  readonly interrupts: Interrupts
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  /** The instance of the session. @throws {Failure} with 4 when there is none */
  connect(): Promise<Client>
}

interface CommandBase {
  readonly name: string
  /** A sentence without a full stop, for the list. */
  readonly summary: string
  /** Paragraphs and examples below the options. */
  readonly help?: string
  /** Called by scripts only, so the list leaves it out. */
  readonly isHidden?: boolean
}

interface RunnableCommand<O extends OptionSpecs> extends CommandBase {
  readonly group?: keyof typeof groups
  /** Words in commander's syntax: `<run>` is needed, `[service]` is optional, `[words...]` are several. */
  readonly words?: string
  readonly options?: O
  /** Options after the first word belong to that word: `run ls -l`. */
  readonly passesThrough?: boolean
  /** Actions below this command, `context list`; `run` is what happens without one. */
  readonly actions?: readonly CommandEntry[]
  /** @returns the exit code; nothing means 0 */
  readonly run: (context: CommandContext, values: Values<O>) => Promise<number | undefined>
}

/** A command as the list keeps it, whatever its options are. */
export interface CommandEntry extends CommandBase {
  readonly group: keyof typeof groups
  readonly words: string
  readonly options: OptionSpecs
  readonly passesThrough: boolean
  readonly actions: readonly CommandEntry[]
  readonly run: (
    context: CommandContext,
    values: Readonly<Record<string, unknown>>,
  ) => Promise<number | undefined>
}

/** Declares a command; its options give `values` their types. */
export function defineCommand<const O extends OptionSpecs = Record<never, OptionSpec>>(
  command: RunnableCommand<O>,
): CommandEntry {
  return {
    group: 'other',
    words: '',
    passesThrough: false,
    actions: [],
    ...command,
    options: command.options ?? {},
    run: (context, values) => command.run(context, values as Values<O>),
  }
}
