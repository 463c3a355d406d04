/** Strict arguments of commands; errors suggest the word that was probably meant. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { nearestName } from '@fairlead/base/names/edit-distance.ts'

/** Arguments that a command cannot take; the process ends with 2. */
export class Misuse extends Error {
  readonly command: string

  /** @param command Empty for the program itself. */
  constructor(command: string, message: string) {
    super(message)
    this.command = command
  }
}

interface Reading<O extends ParseArgsOptionsConfig> {
  readonly command: string
  readonly options: O
  /** How many words may follow that are no options. */
  readonly words?: number
  readonly hint?: string
}

/** @throws {Misuse} for an option that the command does not have, one without a value, or too many words */
export function readArguments<const O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  { command, options, words = 0, hint }: Reading<O>,
) {
  const parsed = parseOrRefuse(args, { command, options, hint })
  const [surplus] = parsed.positionals.slice(words)
  if (surplus !== undefined) throw new Misuse(command, `"${surplus}" is too much.`)
  // Most often the value was a variable of the shell that is not set.
  const [empty] =
    Object.entries(parsed.values).find(([, value]) => [value].flat().includes('')) ?? []
  if (empty !== undefined) throw new Misuse(command, `The value of --${empty} is empty.`)
  return parsed
}

function parseOrRefuse<const O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  { command, options, hint }: Reading<O>,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const [, written = ''] = /^Unknown option '(-[^']*)'/.exec(message) ?? []
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || written === '') {
      const [, option] = /'(?:-\w, )?(--[^ ']+) <value>' argument missing/.exec(message) ?? []
      throw new Misuse(
        command,
        option === undefined
          ? `${message.split(/[.\n] ?/)[0]}.`
          : `The value of ${option} is missing.`,
      )
    }
    const near = nearestName(Object.keys(options), written.replace(/^-+/, ''))
    const advice = near === undefined ? hint : `Did you mean --${near}?`
    throw new Misuse(
      command,
      `There is no option ${written}.${advice === undefined ? '' : ` ${advice}`}`,
    )
  }
}

/** The entry of a table that the user has named. @throws {Misuse} when there is none */
export function choose<T>(table: Readonly<Record<string, T>>, written: string, command: string): T {
  const found = Object.hasOwn(table, written) ? table[written] : undefined
  if (found !== undefined) return found
  const names = Object.keys(table)
  const near = nearestName(names, written)
  const offered = near === undefined ? `There is ${names.join(', ')}.` : `Did you mean ${near}?`
  if (written === '')
    throw new Misuse(command, `The command is incomplete. There is ${names.join(', ')}.`)
  throw new Misuse(
    command,
    `There is no command "${[command, written].join(' ').trim().slice(0, 100)}". ${offered}`,
  )
}
