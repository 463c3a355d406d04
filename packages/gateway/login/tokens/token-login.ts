/** Login by API token, for programs, without a session. */
import type { IncomingHttpHeaders } from 'node:http'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { findNameObjection } from '@fairlead/base/names/user-name.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyRequest } from 'fastify'
import type { ListenerKind, User } from '../../http/request-state.ts'
import type { Permissions } from '../../permissions/fiat-permissions.ts'
import { permissionsUnavailable } from '../../permissions/permission-errors.ts'
import { parseBasic } from '../basic-credentials.ts'
import type { CurrentUser, EntryPoint, LoginMethod, LoginOutcome } from '../login-method.ts'
import type { PrepareUser } from '../prepare-user.ts'
import { joinNames, type LoginCredentials, type Trace } from '../trace.ts'
import { createUser } from '../user.ts'
import type { StoredToken } from './token-store.ts'
import { isTokenText } from './token-text.ts'
import type { Tokens } from './tokens.ts'

interface TokenLoginOptions {
  tokens: Tokens
  permissions: Permissions
  prepareUser: PrepareUser
  /** The methods by which users log in who create tokens. */
  methods: readonly LoginMethod[]
  legacyPortLogin: boolean
}

const maxReported = 10_000
const notMine: LoginOutcome = { kind: 'not-mine' }
const apiTokenPaths = /^\/auth\/apiTokens(?:\/|$)/

export class TokenLogin implements LoginMethod {
  readonly name = 'token'
  /** Whom the permission service does not know is refused here, with a 401 and not with the login page. */
  readonly filtered = false
  readonly challenge = 'Bearer'
  readonly #options: TokenLoginOptions
  readonly #reportedStamps = new BoundedMap<string, string>(maxReported)

  constructor(options: TokenLoginOptions) {
    this.#options = options
  }

  guards(listener: ListenerKind): boolean {
    return listener !== 'legacy' || this.#options.legacyPortLogin
  }

  /** A token brings no roles, and reporting none would overwrite those of the last login. */
  reportOf(): undefined {
    return undefined
  }

  /** The paths where tokens are managed are for programs too, which a login page does not help. */
  claims(path: string): boolean {
    return apiTokenPaths.test(path)
  }

  entryPoint(): EntryPoint {
    return {
      kind: 'refusal',
      error: new GatewayError('LOGIN_REQUIRED', 'Log in first, or send an API token.'),
    }
  }

  /** @throws {GatewayError} TOKENS_UNAVAILABLE, LOGIN_UNAVAILABLE */
  authenticate(request: FastifyRequest): LoginOutcome | Promise<LoginOutcome> {
    const { prefix } = this.#options.tokens.settings
    const text = takeToken(request.raw.headers, prefix)
    if (text !== undefined) return this.#authenticateToken(request, text)
    return isSentAsPassword(request.raw.headers, prefix) ? sentAsPassword() : notMine
  }

  async #authenticateToken(request: FastifyRequest, text: string): Promise<LoginOutcome> {
    const { tokens } = this.#options
    const recognised = await tokens.recognise(text)
    if (recognised.kind === 'refused') return refusal(recognised.reason)
    const { token } = recognised
    const outcome = await this.#admit(token)
    if (outcome.kind !== 'user') return outcome
    const { readOnly, applications, operations } = token.limits
    request.state.token = { id: token.id, readOnly, applications, operations }
    return { ...outcome, stillCounts: () => this.#stillCounts(text) }
  }

  async #stillCounts(text: string): Promise<boolean> {
    const recognised = await this.#options.tokens.verify(text)
    return recognised.kind === 'token' && (await this.#admit(recognised.token)).kind === 'user'
  }

  async explain(credentials: LoginCredentials, trace: Trace): Promise<LoginOutcome> {
    const { tokens } = this.#options
    if (credentials.kind !== 'token' || !credentials.text.startsWith(tokens.settings.prefix))
      return { kind: 'not-mine' }
    const recognised = await tokens.verify(credentials.text)
    if (recognised.kind === 'refused') return recognised
    const { id, name, principal, method, expiresAtMs, limits } = recognised.token
    const end =
      expiresAtMs === undefined
        ? 'it never expires'
        : `it expires at ${new Date(expiresAtMs).toISOString()}`
    trace('yes', `this is the API token "${name}" (${id}); ${end}`)
    trace(
      'note',
      `it speaks for ${principal.type === 'USER' ? `the user ${principal.id}` : `the service account ${principal.id}`}`,
    )
    if (method !== undefined)
      trace('note', `the user had logged in by ${method} when the token was created`)
    if (limits.readOnly) trace('note', 'it may only read')
    if (limits.applications !== undefined)
      trace('note', `it counts for the applications ${joinNames(limits.applications)}`)
    if (limits.operations !== undefined)
      trace('note', `it counts for the operations ${joinNames(limits.operations)}`)
    const outcome = await this.#admit(recognised.token)
    if (outcome.kind === 'user')
      trace(
        'note',
        'a token brings no roles of its own; the permission service knows those of its owner',
      )
    return outcome
  }

  /** The name comes from the record of the token, so no identity provider has a say in its case. */
  async #admit(token: StoredToken): Promise<LoginOutcome> {
    const { permissions, prepareUser, tokens } = this.#options
    const objection = findNameObjection(token.principal.id)
    if (objection !== undefined)
      return refusal(`the API token ${token.id} speaks for a user whose name ${objection}`)
    const user = await this.#findUser(token).catch(toUnavailable)
    if (user instanceof GatewayError) return { kind: 'refused', reason: user.message, error: user }
    if (typeof user === 'string') return refusal(user)
    if (permissions.enabled) {
      const answer = await permissions.lookUp(user)
      if (answer.kind === 'unavailable')
        return {
          kind: 'refused',
          reason: 'its permissions are unknown',
          error: permissionsUnavailable(answer.cause),
        }
      if (answer.kind === 'unknown')
        return refusal(`the permission service does not know ${user.username}`)
      const { admin, roles } = answer.view
      if (tokens.settings.rejectWithoutRoles && !admin && roles.length === 0) {
        return refusal(`${user.username} has no role any more`)
      }
    }
    return { kind: 'user', user: await prepareUser(user, undefined, 'insensitive') }
  }

  async #findUser({ id, principal, method, era }: StoredToken): Promise<User | string> {
    const known =
      principal.type === 'USER'
        ? this.#options.methods.find(({ name }) => name === method)
        : undefined
    const current = known?.currentUser?.(principal.id)
    if (known === undefined || current === undefined) {
      if ((await known?.isActive?.(principal.id)) !== false) return toUser(principal.id)
      return `the owner of the API token ${id} has no active account in the directory`
    }
    if (current === 'gone') return `the user of the API token ${id} does not exist any more`
    if (current.tokenEra !== era)
      return `the API token ${id} belongs to a former user of that name, or was withdrawn`
    await this.#reportChange(current, known.reportOf(current.user))
    return { ...current.user, method: this.name }
  }

  /** Roles that were taken away count at once, although the user does not log in. */
  async #reportChange(
    { user, stamp }: CurrentUser,
    report: LoginReport | undefined,
  ): Promise<void> {
    if (report === undefined || this.#reportedStamps.get(user.username) === stamp) return
    await this.#options.permissions.reportLogin(user, report)
    this.#reportedStamps.set(user.username, stamp)
  }
}

/** @throws any other error */
function toUnavailable(error: unknown): GatewayError {
  if (error instanceof GatewayError && error.code === 'LOGIN_UNAVAILABLE') return error
  throw error
}

/** Takes the token out of the headers, so that nothing that comes later sees it. */
function takeToken(headers: IncomingHttpHeaders, prefix: string): string | undefined {
  const own = headers['x-spinnaker-token']
  const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const isOurs = bearer?.startsWith(prefix) === true
  delete headers['x-spinnaker-token']
  if (isOurs) delete headers.authorization
  if (own !== undefined) return String(own).trim()
  return isOurs ? bearer : undefined
}

/** Programs would take it for a wrong password, whose repetition makes the user wait. */
function isSentAsPassword({ authorization }: IncomingHttpHeaders, prefix: string): boolean {
  const credentials = parseBasic(authorization)
  if (credentials === undefined || credentials === 'unreadable') return false
  return isTokenText(credentials.password, prefix) || isTokenText(credentials.username, prefix)
}

function sentAsPassword(): LoginOutcome {
  const message =
    'HTTP Basic takes no API token. Send it as "Authorization: Bearer" or in the header X-Spinnaker-Token.'
  return {
    kind: 'refused',
    reason: 'an API token was sent as a password',
    error: new GatewayError('CREDENTIALS_REFUSED', message),
  }
}

function refusal(reason: string): LoginOutcome {
  const message = 'The API token is unknown, expired or revoked. Create another one.'
  const headers = { 'www-authenticate': 'Bearer error="invalid_token"' }
  return {
    kind: 'refused',
    reason,
    error: new GatewayError('CREDENTIALS_REFUSED', message, { headers }),
  }
}

/** Roles stay out: whatever the user held when the token was created may be history. */
function toUser(username: string): User {
  return createUser('token', username, { email: username.includes('@') ? username : null })
}
