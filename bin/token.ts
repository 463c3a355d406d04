/** `fairlead token`: manages API tokens in their store, also while the gateway runs. */
import type { Config } from '@fairlead/app/config/config.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { findNameObjection } from '@fairlead/base/names/user-name.ts'
import { formMethod } from '@fairlead/gateway/login/form/method.ts'
import { methodSettingsOf } from '@fairlead/gateway/login/settings.ts'
import type { Principal, StoredToken } from '@fairlead/gateway/login/tokens/token-store.ts'
import type { Tokens } from '@fairlead/gateway/login/tokens/tokens.ts'
import { choose, Misuse, readArguments } from './arguments.ts'
import { command } from './command-name.ts'
import { findUser, openConfiguredTokens } from './open-tokens.ts'
import { configOption, readConfig } from './read-config.ts'

const options = {
  user: { type: 'string' },
  'service-account': { type: 'string' },
  days: { type: 'string' },
  'read-only': { type: 'boolean' },
  application: { type: 'string', multiple: true },
  operation: { type: 'string', multiple: true },
  'overlap-hours': { type: 'string' },
  ...configOption,
} as const

type Values = ReturnType<typeof parse>['values']

interface CommandInput {
  /** Name of a new token, or id of one that exists. */
  readonly subject: string
  readonly values: Values
  readonly config: Config
}

const createdBy = 'command line'
const hourMs = 3_600_000
const dayMs = 24 * hourMs

const actions: Readonly<Record<string, (tokens: Tokens, asked: CommandInput) => Promise<void>>> = {
  async create(tokens, { subject, values, config }) {
    const asked = toPrincipal(values)
    if (asked === undefined)
      throw new GatewayError(
        'BAD_ARGUMENT',
        'Say whom the token is for: --user or --service-account.',
      )
    const objection = findNameObjection(asked.id)
    if (objection !== undefined)
      throw new GatewayError('BAD_ARGUMENT', `The name that the token is for ${objection}.`)
    if (asked.type === 'SERVICE_ACCOUNT') checkListed(asked.id, config)
    const owner = asked.type === 'USER' ? findOwner(asked.id, config) : undefined
    const principal = { ...asked, id: owner?.name ?? asked.id }
    const days = toNumber('days', values.days)
    const { token, text } = await tokens.create({
      name: subject,
      principal,
      method: owner === undefined ? undefined : 'form',
      createdBy,
      expiresAtMs: days === undefined ? undefined : Date.now() + days * dayMs,
      limits: {
        readOnly: values['read-only'] === true,
        applications: values.application,
        operations: await checkOperations(values.operation),
      },
    })
    say(
      `token ${token.id} created for ${principal.id}, ${describeEnd(token)}; it is shown this once:`,
    )
    process.stdout.write(`${text}\n`)
  },
  async list(tokens, { values }) {
    const principal = toPrincipal(values)
    const found =
      principal === undefined
        ? [...(await tokens.listAll('USER')), ...(await tokens.listAll('SERVICE_ACCOUNT'))]
        : await tokens.ofPrincipal(principal)
    process.stdout.write(found.map((token) => `${describe(token)}\n`).join(''))
  },
  async rotate(tokens, { subject, values }) {
    const hours = toNumber('overlap-hours', values['overlap-hours'])
    const overlapMs = hours === undefined ? undefined : hours * hourMs
    const { token, text } = await tokens.rotate(subject, { by: createdBy, renews: true, overlapMs })
    const { former } = token.secret
    say(
      `the former secret is accepted ${former === undefined ? 'no longer' : `until ${new Date(former.untilMs).toISOString()}`}`,
    )
    say(`token ${token.id} rotated, ${describeEnd(token)}; the new secret is shown this once:`)
    process.stdout.write(`${text}\n`)
  },
  async revoke(tokens, { subject }) {
    await tokens.revoke(subject, createdBy)
    say(`token ${subject} revoked`)
  },
}

export async function run(args: readonly string[]): Promise<number> {
  const { positionals, values } = parse(args)
  const [action = '', subject = ''] = positionals
  const act = choose(actions, action, 'token')
  if (subject === '' && action !== 'list') {
    throw new Misuse(
      'token',
      action === 'create' ? 'Say the name of the token.' : 'Say the id of the token.',
    )
  }
  const { config } = await readConfig(args)
  const { tokens, close } = await openConfiguredTokens(config)
  try {
    await act(tokens, { subject, values, config })
    return 0
  } finally {
    await close()
  }
}

/** An unknown option may be a limit mistyped: a token without it would be worse than none. @throws {Misuse} */
function parse(args: readonly string[]) {
  return readArguments(args, { command: 'token', options, words: 2 })
}

function toPrincipal({ user, 'service-account': account }: Values): Principal | undefined {
  if (user !== undefined && account !== undefined) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      'A token is for a user or for a service account, not for both.',
    )
  }
  if (user !== undefined) return { type: 'USER', id: user.trim() }
  return account === undefined ? undefined : { type: 'SERVICE_ACCOUNT', id: account.trim() }
}

/** The users of the form are known, so a token for an unknown user is an error. Undefined with other logins. @throws {GatewayError} NOT_FOUND */
function findOwner(username: string, { login, backends }: Config): { name: string } | undefined {
  const form = methodSettingsOf(login, formMethod)
  if (form === undefined) return undefined
  const { configuredUser } = form
  const owner =
    configuredUser?.name === username ? configuredUser : findUser(backends.dataDir, username)
  if (owner !== undefined) return owner
  throw new GatewayError(
    'NOT_FOUND',
    `There is no user "${username.slice(0, 100)}". All of them: ${command('user list')}`,
  )
}

/** An external front50 lists them itself, and may not be reachable from here. @throws {GatewayError} NOT_FOUND */
function checkListed(account: string, { upstreams, backends }: Config): void {
  if (
    upstreams.services.front50.kind !== 'embedded' ||
    backends.serviceAccounts.some(({ name }) => name === account)
  )
    return
  const known = backends.serviceAccounts.map(({ name }) => name).join(', ') || 'none'
  throw new GatewayError(
    'NOT_FOUND',
    `There is no service account "${account.slice(0, 100)}". service-accounts lists ${known}.`,
  )
}

/** @throws {GatewayError} BAD_ARGUMENT for an id that no operation has */
async function checkOperations(
  ids: readonly string[] | undefined,
): Promise<readonly string[] | undefined> {
  if (ids === undefined) return undefined
  // Most of these commands need no operations, and loading them doubles the time of a command.
  const { allOperations } = await import('@fairlead/gateway/operations/all.ts')
  const unknown = ids.find((id) => !allOperations.some((operation) => operation.id === id))
  if (unknown === undefined) return ids
  throw new GatewayError(
    'BAD_ARGUMENT',
    `There is no operation "${unknown}". All of them: ${command('openapi')}`,
  )
}

/** @throws {GatewayError} BAD_ARGUMENT */
function toNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,5}$/.test(text)) return Number(text)
  throw new GatewayError('BAD_ARGUMENT', `--${name} is a number.`)
}

function describe(token: StoredToken): string {
  const { id, name, principal, limits, lastUsedAtMs } = token
  return [
    id,
    name,
    principal.type === 'USER' ? principal.id : `service account ${principal.id}`,
    describeEnd(token),
    lastUsedAtMs === undefined ? 'never used' : `used ${new Date(lastUsedAtMs).toISOString()}`,
    ...(limits.readOnly ? ['read-only'] : []),
    ...(limits.applications === undefined
      ? []
      : [`applications ${limits.applications.join(', ')}`]),
    ...(limits.operations === undefined ? [] : [`operations ${limits.operations.join(', ')}`]),
  ].join('\t')
}

function describeEnd({ expiresAtMs }: StoredToken): string {
  return expiresAtMs === undefined
    ? 'never expires'
    : `expires ${new Date(expiresAtMs).toISOString()}`
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
