/** Creates the first user of an empty store, so that a fresh installation can be entered, by one person. */
import { randomInt } from 'node:crypto'
import { GatewayError } from '../../errors.ts'
import type { StoredUser, Users } from './users.ts'

export interface FirstAdministrator {
  readonly name: string
  /** Undefined: a password is generated and announced. */
  readonly password: string | undefined
  readonly roles: readonly string[]
  /** Shows a text to whoever starts the gateway; it holds a password and must not reach a log that is kept. */
  readonly announce: (text: string) => void
}

/** Does nothing when there are users. @throws {GatewayError} BAD_ARGUMENT when name or password cannot be used */
export async function createFirstAdministrator(
  users: Users,
  { name, password, roles, announce }: FirstAdministrator,
): Promise<void> {
  if (!users.isEmpty()) return
  const generated = password ?? generatePassword()
  const created = await addFirst(users, name, generated, roles)
  if (created === undefined || password !== undefined) return
  announce(
    box([
      'Your first login',
      '',
      `  user      ${created.name}`,
      `  password  ${generated}`,
      '',
      'This is shown once. Change it with',
      `  fairlead user passwd ${created.name}`,
    ]),
  )
}

/** Says which settings are meant, because nobody has typed a command here. */
async function addFirst(users: Users, name: string, password: string, roles: readonly string[]): Promise<StoredUser | undefined> {
  try {
    return await users.addFirst(name, password, roles)
  } catch (cause) {
    if (!(cause instanceof GatewayError)) throw cause
    throw new GatewayError(
      cause.code,
      `The first administrator (fairlead.admin.user, fairlead.admin.password): ${cause.message}`,
      { cause },
    )
  }
}

/** 24 letters and digits that cannot be mistaken for each other: about 118 bits. */
function generatePassword(): string {
  const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
  const letters = Array.from({ length: 24 }, () => alphabet[randomInt(alphabet.length)])
  return [0, 6, 12, 18].map((from) => letters.slice(from, from + 6).join('')).join('-')
}

function box(lines: readonly string[]): string {
  const width = Math.max(...lines.map((line) => line.length))
  const rule = '─'.repeat(width + 4)
  return [`┌${rule}┐`, ...lines.map((line) => `│  ${line.padEnd(width)}  │`), `└${rule}┘`, ''].join('\n')
}
