/** `fairlead user`: manages the users of the login form, in the data directory of the configuration. */
import { mkdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { GatewayError } from '../src/errors.ts'
import { openUsers, type Users } from '../src/login/form/users.ts'
import { readConfig } from './read-config.ts'
import { readPassword } from './read-password.ts'

export const usage = `Usage: fairlead user <action> [NAME] [options]

  add NAME [--role ROLE]…     create a user; the password is read from standard input
  passwd NAME                 set a new password, read from standard input
  roles NAME [--role ROLE]…   replace the roles of a user
  list                        names and roles of all users
  remove NAME                 delete a user

A running gateway sees the change at once: sessions of a user whose password, roles or account changed end.
`

type Action = (users: Users, name: string, roles: string[]) => Promise<string> | string

const actions: Readonly<Record<string, Action>> = {
  add: async (users, name, roles) => {
    await users.add(name, await readPassword(), roles)
    return `user ${name} created${roles.length > 0 ? ` with ${roles.join(', ')}` : ''}`
  },
  passwd: async (users, name) => {
    await users.setPassword(name, await readPassword())
    return `password of ${name} changed`
  },
  roles: (users, name, roles) => {
    users.setRoles(name, roles)
    return `${name} now has ${roles.length > 0 ? roles.join(', ') : 'no role'}`
  },
  list: (users) =>
    users
      .list()
      .map((user) => `${user.name}\t${user.roles.join(', ')}`)
      .join('\n'),
  remove: (users, name) => {
    users.remove(name)
    return `user ${name} removed`
  },
}

const options = { role: { type: 'string', multiple: true }, config: { type: 'string', multiple: true } } as const

export async function user(args: readonly string[]): Promise<number> {
  const given = readArguments(args)
  if (typeof given === 'string') {
    process.stderr.write(`${given}\n\n${usage}`)
    return 2
  }
  const { act, name, roles } = given
  const loaded = await readConfig(args)
  if (loaded === undefined) return 1
  const { dataDir } = loaded.config.backends
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const users = openUsers(dataDir)
  try {
    process.stdout.write(`${await act(users, name, roles)}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 1
  } finally {
    users.close()
  }
}

/** What was given, or what is wrong with it: an option that is passed over would be a role that nobody gets. */
function readArguments(args: readonly string[]) {
  try {
    const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [action = '', name = '', ...more] = positionals
    const act = Object.hasOwn(actions, action) ? actions[action] : undefined
    if (act === undefined) return `Say what to do: ${Object.keys(actions).join(', ')}.`
    if (name === '' && action !== 'list') return 'Say the name of the user.'
    if (more.length > 0) return `One user at a time; "${more.join(' ')}" is too much. Roles are given with --role.`
    return { act, name, roles: values.role ?? [] }
  } catch (error) {
    return `${(error as Error).message.split('. ')[0]}.`
  }
}
