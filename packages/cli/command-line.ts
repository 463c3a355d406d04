/** Reads the words of a command line with commander, runs the command, and reports how it ended. */
import { nearestName } from '@fairlead/base/names/edit-distance.ts'
import { Command, CommanderError, Option } from 'commander'
import type { Client } from './client.ts'
import { type CommandEntry, groups, type OptionSpec } from './command.ts'
import { commands } from './commands/all.ts'
import { connectTo } from './connect-to.ts'
import { exitCodes, Failure, misuse, toFailure } from './failure.ts'
import { Interrupts } from './interrupts.ts'
import { isOperatorCommand, operatorCommands } from './operator-commands.ts'
import { Output } from './output.ts'
import { Questions } from './questions.ts'
import { type GlobalFlags, Session } from './session.ts'
import { parseSpan } from './span.ts'
import { warnOfTokenEnd } from './token-end.ts'

interface Chosen {
  readonly entry: CommandEntry
  readonly words: readonly string[]
  readonly values: Readonly<Record<string, unknown>>
  readonly flags: GlobalFlags
}

/** @param args Without the names of Node and the program. @returns the exit code */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  // A reader such as `head` has seen enough.
  process.stdout.on('error', endOfOutput)
  const interrupts = new Interrupts()
  interrupts.listen()
  const end = args.indexOf('--')
  const own = end === -1 ? args : args.slice(0, end)
  let output = new Output({ json: asksForJson(own), verbose: false })
  try {
    const chosen = await choose(own)
    if (chosen === undefined) return exitCodes.done
    const { entry, words, values, flags } = chosen
    output = new Output({ json: flags.output === 'json', verbose: flags.verbose === true })
    const session = new Session(flags, process.env, process.cwd())
    let client: Client | undefined
    try {
      const code = await entry.run(
        {
          words,
          rest: end === -1 ? [] : args.slice(end + 1),
          session,
          output,
          questions: new Questions({ yes: flags.yes === true, env: process.env }),
          interrupts,
          env: process.env,
          cwd: process.cwd(),
          connect: async () => {
            if (client !== undefined) return client
            const target = session.target()
            warnOfTokenEnd(target, output)
            client = await connectTo(target, output)
            return client
          },
        },
        values,
      )
      return code ?? exitCodes.done
    } finally {
      client?.close()
    }
  } catch (error) {
    const failure = toFailure(error)
    output.failure(failure)
    return failure.exit
  }
}

/** For errors of the line itself, which are found before its options are read. */
function asksForJson(args: readonly string[]): boolean {
  return args.includes('--output=json') || args[args.indexOf('--output') + 1] === 'json'
}

/** @returns undefined when it was a question for help. @throws {Failure} with 3 */
async function choose(args: readonly string[]): Promise<Chosen | undefined> {
  let chosen: Chosen | undefined
  const program = createProgram((found) => {
    chosen = found
  })
  if (args.length === 0) {
    process.stderr.write(program.helpInformation())
    throw misuse('No command is given.', 'Start with: fairlead login, or fairlead init')
  }
  try {
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return undefined
    throw explain(error, args)
  }
  return chosen
}

function createProgram(found: (chosen: Chosen) => void): Command {
  const program = prepare(new Command('fairlead'))
    .configureHelp({ formatHelp: overview })
    .enablePositionalOptions()
    .allowExcessArguments()
    .option('-v, --version', 'print the version')
  addGlobalOptions(program)
  program.action((_options, command: Command) => {
    const version = commands.find(({ name }) => name === 'version')
    const { version: asked, ...flags } = command.opts<GlobalFlags & { version?: boolean }>()
    const [word = '', ...names] = command.args
    if (word === 'help') return helpOf(program, names)
    if (asked !== true || version === undefined) throw unknownCommand(word)
    found({ entry: version, words: [], values: {}, flags })
  })
  for (const entry of commands) addCommand(program, entry, found)
  return program
}

/** `fairlead help context rename` is `fairlead context rename --help`. */
function helpOf(program: Command, names: readonly string[]): void {
  let command = program
  for (const name of names) {
    const next = command.commands.find((each) => each.name() === name)
    if (next === undefined) throw unknownCommand(names.join(' '))
    command = next
  }
  process.stdout.write(command.helpInformation())
}

function prepare(command: Command): Command {
  return command
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .helpCommand(false)
}

/** The help of the program: what can be done comes before the options. */
function overview(): string {
  const width = 11
  const list = (rows: readonly (readonly [string, string])[]) =>
    rows.map(([name, summary]) => `  ${name.padEnd(width)} ${summary}`).join('\n')
  const sections = Object.entries(groups).map(([group, title]) => {
    const entries = commands.filter((entry) => entry.group === group && !entry.isHidden)
    return entries.length === 0
      ? ''
      : `${title}\n${list(entries.map(({ name, summary }) => [name, summary]))}\n\n`
  })
  return `Usage: fairlead <command> [options]

Deploys and operates applications at an instance, here or far away.

${sections.join('')}On the machine of an instance
${list(Object.entries(operatorCommands))}

Options of all commands
  --app A --env E      application and environment; else those of .fairlead/app.yml
  --context C --url U  instance; else that of the last login
  --output json        for programs; errors are JSON as well
  --yes                agree to all questions
  --help               this text, or what a command takes: fairlead login --help

docs/guides/command-line.md explains the commands, docs/reference/settings.md the settings of an instance.
`
}

function addCommand(parent: Command, entry: CommandEntry, found: (chosen: Chosen) => void): void {
  const command = prepare(new Command(entry.name))
    .summary(entry.summary)
    .description(`${entry.summary.charAt(0).toUpperCase()}${entry.summary.slice(1)}.`)
  if (entry.words !== '') for (const word of entry.words.split(' ')) command.argument(word)
  for (const [name, spec] of Object.entries(entry.options)) command.addOption(toOption(name, spec))
  addGlobalOptions(command)
  if (entry.help !== undefined) command.addHelpText('after', `\n${entry.help}`)
  if (entry.passesThrough) command.passThroughOptions()
  if (entry.actions.length > 0) command.enablePositionalOptions()
  for (const action of entry.actions) addCommand(command, action, found)
  command.action(() => {
    const flags = command.optsWithGlobals<GlobalFlags>()
    found({
      entry,
      words: command.args,
      values: toValues(entry, command.opts()),
      flags: {
        ...flags,
        ...definedOf(command.opts()),
      },
    })
  })
  parent.addCommand(command)
}

function addGlobalOptions(command: Command): void {
  const options = [
    new Option('--app <name>', 'application'),
    new Option('--env <name>', 'environment'),
    new Option('--context <name>', 'known instance, instead of the current one'),
    new Option('--url <url>', 'address of the instance'),
    new Option('--output <format>', 'text, or json for programs').choices(['text', 'json']),
    new Option('--yes', 'agree to all questions'),
    new Option('--verbose', 'note each request'),
  ]
  for (const option of options) command.addOption(option.helpGroup('Options of all commands:'))
  command.helpOption('-h, --help', 'this text')
}

function definedOf(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

function toOption(name: string, { type, summary, short, value, choices }: OptionSpec): Option {
  const flags = `${short === undefined ? '' : `-${short}, `}--${name}${type === 'switch' ? '' : ` <${value}>`}`
  const option = new Option(flags, summary)
  if (choices !== undefined) option.choices([...choices])
  if (type === 'list')
    option.argParser<string[]>((text, before) => [...(Array.isArray(before) ? before : []), text])
  if (type === 'number') option.argParser((text) => toNumber(name, text))
  if (type === 'span') option.argParser((text) => parseSpan(`--${name}`, text))
  return option
}

function toNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw misuse(`--${name} is a whole number, not "${text}".`)
}

/** By the names of the declaration; commander writes them in camel case. */
function toValues(entry: CommandEntry, given: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(entry.options).map(([name, { type }]) => {
      // Commander keeps `--no-build` as the value of `build`, which is true without it.
      if (name.startsWith('no-')) return [name, given[name.slice('no-'.length)] === false]
      const value = given[name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())]
      return [name, value ?? (type === 'switch' ? false : type === 'list' ? [] : undefined)]
    }),
  )
}

/** Commander reports in its own words; ours say what to type. */
function explain({ code, message }: CommanderError, args: readonly string[]): Failure {
  const text = message.replace(/^error: /, '').replace(/\.?$/, '.')
  const sentence = text.charAt(0).toUpperCase() + text.slice(1)
  const words = args.filter((word) => !word.startsWith('-'))
  const entry = commands.find(({ name }) => name === words[0])
  if (code === 'commander.unknownCommand') return unknownCommand(words.at(-1) ?? '')
  const help = `Help: fairlead ${entry === undefined ? '' : `${entry.name} `}--help`
  const [, written] = /^error: unknown option '(-[^'=]*)/.exec(message) ?? []
  if (written !== undefined) {
    const names = [
      ...Object.keys(entry?.options ?? {}),
      'app',
      'env',
      'context',
      'url',
      'output',
      'yes',
      'verbose',
      'help',
    ]
    const near = nearestName(names, written.replace(/^-+/, ''))
    return misuse(
      `There is no option ${written}.`,
      near === undefined ? help : `Did you mean --${near}?`,
    )
  }
  return misuse(
    sentence
      .split('\n')
      .map((line) => line.trim())
      .join(' '),
    help,
  )
}

function unknownCommand(written: string): Failure {
  if (isOperatorCommand(written))
    return misuse(
      `"${written}" comes with the server, which is not installed here.`,
      'Install the package fairlead on the machine of the instance.',
    )
  const near = nearestName(
    [...commands.map(({ name }) => name), ...Object.keys(operatorCommands)],
    written,
  )
  return new Failure(
    exitCodes.misuse,
    'UNKNOWN_COMMAND',
    `There is no command "${written.slice(0, 100)}".`,
    {
      remedy:
        near === undefined ? 'All commands: fairlead --help' : `Did you mean: fairlead ${near}`,
    },
  )
}

function endOfOutput({ code, message }: NodeJS.ErrnoException): never {
  if (code === 'EPIPE') process.exit()
  process.stderr.write(
    `Standard output cannot be written: ${message}. Write it to another place.\n`,
  )
  process.exit(1)
}
