/** `fairlead user`: manages the users of the login form in the data directory. */
import { createInterface } from 'node:readline/promises'
import type { Config } from '@fairlead/app/config/config.ts'
import { isNewData } from '@fairlead/app/hosting/data-age.ts'
import { createDataDir } from '@fairlead/app/hosting/lock.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { openRedis } from '@fairlead/base/redis/open-redis.ts'
import { openLog } from '@fairlead/base/telemetry/log.ts'
import { toRoleNames } from '@fairlead/engine/permissions/roles.ts'
import { areRolesBuiltIn, builtInAdvice } from '@fairlead/engine/permissions/settings.ts'
import { formMethod } from '@fairlead/gateway/login/form/method.ts'
import { openUsers, type Users } from '@fairlead/gateway/login/form/users.ts'
import { methodSettingsOf } from '@fairlead/gateway/login/settings.ts'
import type { Tokens } from '@fairlead/gateway/login/tokens/tokens.ts'
import { Unlocks } from '@fairlead/gateway/login/unlocks.ts'
import { deployers, reachOf, readers } from '@fairlead/model/rights/built-in-roles.ts'
import { choose, Misuse, readArguments } from './arguments.ts'
import { command } from './command-name.ts'
import { openConfiguredTokens } from './open-tokens.ts'
import { configOption, readConfig } from './read-config.ts'
import { readPassword } from './read-password.ts'

interface CommandInput {
  readonly name: string
  readonly roles: string[]
  readonly revokesTokens: boolean | undefined
  readonly config: Config
}

type Action = (users: Users, asked: CommandInput) => Promise<string> | string

const revokedBy = 'command line'

const actions: Readonly<Record<string, Action>> = {
  add: async (users, { name, roles: given, config }) => {
    const roles = given.length > 0 ? given : await chooseRoles(name)
    await users.add(name, await readPassword(), roles)
    return `user ${name} created with ${roles.join(', ')}: ${describeReach(roles, config)}`
  },
  passwd: async (users, asked) => {
    const { name, config } = asked
    if (users.find(name) === undefined)
      throw new GatewayError('NOT_FOUND', `There is no user "${name.slice(0, 100)}".`)
    const count = await countTokens(asked)
    const revokes = asked.revokesTokens ?? (await confirmRevocation(name, count))
    await users.setPassword(name, await readPassword(), revokes ? 'withdraw' : 'keep')
    if (revokes) return `password of ${name} changed; ${await revokeTokens(name, config)}`
    if (count === 0) return `password of ${name} changed`
    const kept =
      count === undefined
        ? 'API tokens of the user, which cannot be listed,'
        : `${count} API ${tokenWord(count)} of the user`
    return `password of ${name} changed; ${kept} still count; to end them, add --revoke-tokens`
  },
  roles: (users, { name, roles }) => {
    users.setRoles(name, roles)
    return `${name} now has ${roles.length > 0 ? roles.join(', ') : 'no role'}`
  },
  unlock: async (users, { name, config }) => {
    checkLockable(users, name, config)
    await noteUnlock(name, config)
    return `${name} may log in again within a second; wrong passwords until now do not count`
  },
  list: (users) =>
    users
      .list()
      .map((user) => `${user.name}\t${user.roles.join(', ')}`)
      .join('\n'),
  remove: async (users, { name, config }) => {
    users.remove(name)
    return `user ${name} removed; ${await revokeTokens(name, config)}`
  },
}

const options = {
  role: { type: 'string', multiple: true },
  'revoke-tokens': { type: 'boolean' },
  'keep-tokens': { type: 'boolean' },
  ...configOption,
} as const

export async function run(args: readonly string[]): Promise<number> {
  const { act, name, roles, revokesTokens } = toOrder(args)
  const { config } = await readConfig(args)
  const { dataDir } = config.backends
  createDataDir(dataDir)
  const users = openUsers(dataDir)
  try {
    process.stdout.write(`${await act(users, { name, roles, revokesTokens, config })}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    // Another data directory than that of the gateway is the likeliest reason.
    const place =
      error.code === 'NOT_FOUND'
        ? ` The users of ${dataDir} are listed by: ${command('user list')}`
        : ''
    throw new GatewayError(error.code, error.message + place, { cause: error })
  } finally {
    users.close()
  }
}

const passwordHint =
  'Passwords are read from standard input, where no list of processes shows them.'

/** An option that is passed over would be a role that no user gets. @throws {Misuse} */
function toOrder(args: readonly string[]) {
  const { positionals, values } = readArguments(args, {
    command: 'user',
    options,
    words: Infinity,
    hint: passwordHint,
  })
  const [action = '', name = '', ...more] = positionals
  const act = choose(actions, action, 'user')
  if (name === '' && action !== 'list') throw new Misuse('user', 'Say the name of the user.')
  if (more.length > 0) {
    throw new Misuse(
      'user',
      `One user at a time; "${more.join(' ')}" is too much. Roles are given with --role. ${passwordHint}`,
    )
  }
  const { 'revoke-tokens': revoke, 'keep-tokens': keep } = values
  if (action !== 'passwd' && (revoke || keep))
    throw new Misuse('user', '--revoke-tokens and --keep-tokens belong to passwd.')
  if (revoke && keep) throw new Misuse('user', 'API tokens are either revoked or kept, not both.')
  return {
    act,
    name,
    roles: values.role ?? [],
    revokesTokens: revoke ? true : keep ? false : undefined,
  }
}

/** A script is not asked. */
async function chooseRoles(name: string): Promise<string[]> {
  if (!process.stdin.isTTY) return [readers]
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const asked = `Role of ${name}: ${readers} look on, ${deployers} change and run applications, admins do everything. [${readers}] `
    const roles = (await terminal.question(asked)).split(/[\s,]+/).filter((role) => role !== '')
    return roles.length > 0 ? roles : [readers]
  } finally {
    terminal.close()
  }
}

function describeReach(roles: readonly string[], { backends }: Config): string {
  const { adminRoles, permissions, dataDir } = backends
  const held = toRoleNames(roles)
  if (held.some((role) => adminRoles.includes(role)))
    return 'an administrator, who may do everything'
  if (permissions === undefined) return 'the permission service says what that allows'
  if (!areRolesBuiltIn(permissions, isNewData(dataDir)))
    return `may read, change and run every application that names no roles, and programs on this machine; ${builtInAdvice}`
  const { applications, ownAccounts } = reachOf(held, { areBuiltIn: true, admin: false })
  if (applications.includes('WRITE'))
    return 'may change and run every application that names no roles; accounts of this machine without `user` are for administrators'
  const own = ownAccounts.includes('WRITE')
    ? ', and there runs programs as the own user of Fairlead'
    : ''
  return `may read, and changes only applications that name ${held.join(' or ')} in their permissions${own}`
}

/** A name that nothing knows is probably mistyped; a directory is not asked. @throws {GatewayError} NOT_FOUND */
function checkLockable(users: Users, name: string, { login }: Config): void {
  const form = methodSettingsOf(login, formMethod)
  if (form === undefined && login.methods.some(({ type }) => type.checksPasswords)) return
  if (form === undefined)
    throw new GatewayError(
      'NOT_FOUND',
      'No login with passwords is configured here, so no user has to wait.',
    )
  if (users.find(name) !== undefined || form.configuredUser?.name === name) return
  throw new GatewayError('NOT_FOUND', `There is no user "${name.slice(0, 100)}".`)
}

/** In Redis where replicas share it. @throws {GatewayError} SESSIONS_UNAVAILABLE */
async function noteUnlock(name: string, config: Config): Promise<void> {
  const { log } = openLog('silent')
  const redis = config.redis && (await openRedis(config.redis, log))
  const unlocks = new Unlocks({ dataDir: config.backends.dataDir, redis, log, now: Date.now })
  try {
    await unlocks.add(name)
  } catch (cause) {
    if (redis === undefined) throw cause
    const message = `Redis cannot be asked: ${(cause as Error).message}. Check redis.connection; for more, run: ${command('doctor')}`
    throw new GatewayError('SESSIONS_UNAVAILABLE', message, { cause })
  } finally {
    unlocks.close()
    await redis?.close()
  }
}

async function countTokens({
  name,
  revokesTokens,
  config,
}: CommandInput): Promise<number | undefined> {
  if (revokesTokens !== undefined) return 0
  try {
    return await withTokens(
      config,
      async (tokens) => (await tokens.ofPrincipal({ type: 'USER', id: name })).length,
    )
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return undefined
  }
}

/** A script is not asked: programs that use tokens go on, and the output says so. */
async function confirmRevocation(name: string, count: number | undefined): Promise<boolean> {
  if (count === 0 || !process.stdin.isTTY) return false
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const what = count === undefined ? 'The API tokens' : `${count} API ${tokenWord(count)}`
    return /^y(es)?$/i.test(
      (await terminal.question(`${what} of ${name} would still count. Revoke, too? [y/N] `)).trim(),
    )
  } finally {
    terminal.close()
  }
}

/** The tokens have ended already: the gateway compares them with the user. This takes them out of the lists. */
async function revokeTokens(name: string, config: Config): Promise<string> {
  try {
    const count = await withTokens(config, (tokens) =>
      tokens.revokeAllOf({ type: 'USER', id: name }, revokedBy),
    )
    return count === 0 ? 'there were no API tokens' : `${count} API ${tokenWord(count)} revoked`
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `the API tokens have ended, but stay listed: ${error.message}`
  }
}

/** Nothing is opened while tokens are switched off. @throws {GatewayError} TOKENS_UNAVAILABLE */
async function withTokens(
  config: Config,
  work: (tokens: Tokens) => Promise<number>,
): Promise<number> {
  if (config.login.tokens === undefined) return 0
  const { tokens, close } = await openConfiguredTokens(config)
  try {
    return await work(tokens)
  } finally {
    await close()
  }
}

function tokenWord(count: number): string {
  return count === 1 ? 'token' : 'tokens'
}
