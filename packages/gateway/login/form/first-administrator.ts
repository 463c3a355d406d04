/** The first user of an empty store, which opens a fresh installation to one person. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { shellWord } from '@fairlead/base/names/shell-word.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import type { StartSteps } from '../login-method.ts'
import { generatePassword } from './generate-password.ts'
import type { Users } from './users.ts'

export interface FirstAdministrator {
  readonly name: string
  /** Undefined: a password is generated and announced. */
  readonly password: string | undefined
  readonly roles: readonly string[]
  readonly command: (words: string) => string
  /** Shows a text on the terminal; it holds a password and must not reach a log that is kept. */
  readonly announce: (text: string) => void
  readonly warn: (text: string) => void
}

/**
 * A generated password counts, and is shown, when the start has succeeded: one that a failed start has shown would be taken for it.
 *
 * @throws {GatewayError} BAD_ARGUMENT when name or password cannot be used
 */
export async function prepareFirstAdministrator(
  users: Users,
  first: FirstAdministrator,
): Promise<StartSteps> {
  if (!users.isEmpty()) return { ready: () => void reportUnused(users, first) }
  const { name, password, roles, command, announce } = first
  const shown = password ?? generatePassword()
  const create = await users.prepareFirst(name, shown, roles).catch(nameSettings)
  if (password !== undefined) return { listening: () => void create() }
  return {
    ready: (address) => {
      const created = create()
      if (created === undefined) return
      announce(
        frame([
          'Your first login',
          '',
          `  address   ${address}`,
          `  user      ${created.name}`,
          `  password  ${shown}`,
          '',
          'This password is shown once. To change it:',
          `  ${command(`user passwd ${created.name}`)}`,
        ]),
      )
    },
  }
}

/** A password that is changed in the environment of a container changes nothing, which looks like a wrong password. */
async function reportUnused(
  users: Users,
  { name, password, roles, command, warn }: FirstAdministrator,
): Promise<void> {
  if (password === undefined) return
  const isRight = await users.hasPassword(name, password).catch(() => true)
  if (isRight) return
  const [what, advice] =
    isRight === undefined
      ? [
          'is ignored: there are users, but none of this name',
          `user add ${shellWord(name)}${roles.map((role) => ` --role ${shellWord(role)}`).join('')}`,
        ]
      : [
          'is not the password of this user, and changes nothing',
          `user passwd ${shellWord(toUserKey(name))}`,
        ]
  warn(
    `fairlead.admin.password (FAIRLEAD_ADMIN_PASSWORD) ${what}. Remove the setting, or enter the password with: ${command(advice)}`,
  )
}

/** Names the settings, because no command was typed here. */
function nameSettings(cause: unknown): never {
  if (!(cause instanceof GatewayError)) throw cause
  throw new GatewayError(
    cause.code,
    `The first administrator (fairlead.admin.user, fairlead.admin.password): ${cause.message}`,
    {
      cause,
    },
  )
}

/** Open at the right, so that a long command can be copied whole. */
function frame(lines: readonly string[]): string {
  const rule = '─'.repeat(60)
  return [rule, ...lines.map((line) => `  ${line}`.trimEnd()), rule, ''].join('\n')
}
