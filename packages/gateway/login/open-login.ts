/** Opens the configured login methods, and connects request steps, login page and logout. */
import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '@fairlead/base/errors.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import { allowedAccounts } from '@fairlead/model/rights/allowed-accounts.ts'
import type { PermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { setCookie } from '../http/cookies.ts'
import type { ListenerKind, RequestState, RequestStep, User } from '../http/request-state.ts'
import { askStore, type Sessions } from '../sessions/sessions.ts'
import { CompletedLogins } from './completed-logins.ts'
import type { FormUsers } from './form/form-users.ts'
import { LoginCookies, type PendingLogin } from './login-cookies.ts'
import { createFileKeys, createRedisKeys, type LoginSecrets } from './login-keys.ts'
import type { CompletedLogin, LoginEnding, LoginMethod, StartSteps } from './login-method.ts'
import { describeDestination } from './login-page.ts'
import { LoopBreaker } from './loop-breaker.ts'
import type { MethodContext, MethodKind } from './method-type.ts'
import {
  type AccountList,
  createNameRule,
  createUserPreparation,
  type PrepareUser,
} from './prepare-user.ts'
import type { UiAddress } from './redirect-target.ts'
import { RequestLogin } from './request-login.ts'
import type { LoginSettings } from './settings.ts'
import type { DeviceLogins } from './tokens/device-logins.ts'
import type { Tokens } from './tokens/tokens.ts'

type Given =
  | 'permissions'
  | 'learnsRolesFromLogins'
  | 'adminRoles'
  | 'origin'
  | 'certificates'
  | 'dataDir'
  | 'log'
  | 'keep'
  | 'now'

interface LoginOptions extends Pick<MethodContext, Given> {
  settings: LoginSettings
  sessions: Sessions
  accounts: AccountList
  serviceAccounts: () => Promise<readonly string[]>
  ui: UiAddress
  /** Empty, or a prefix such as `/api/v1`. */
  contextPath: string
  redis?: Redis
  command?: MethodContext['command']
}

type MethodOptions = Omit<LoginOptions, 'sessions'>

export interface LoginMethods {
  readonly methods: readonly LoginMethod[]
  readonly prepareUser: PrepareUser
  readonly tokens: Tokens | undefined
  /** Logins that wait for a confirmation in a browser; undefined without tokens. */
  readonly devices: DeviceLogins | undefined
}

export async function openLogin(options: LoginOptions): Promise<Login> {
  const secrets = createLoginSecrets(options)
  return new Login(options, await openMethods(options, secrets), secrets)
}

function createLoginSecrets({ redis, dataDir, now }: MethodOptions): LoginSecrets {
  return redis === undefined ? createFileKeys(dataDir) : createRedisKeys(redis, now)
}

const kinds: readonly MethodKind[] = ['page', 'proxy', 'certificate']

export async function openMethods(
  options: MethodOptions,
  secrets = createLoginSecrets(options),
): Promise<LoginMethods> {
  const context = createContext(options, secrets)
  const active = kinds.flatMap((kind) =>
    options.settings.methods.filter(({ type }) => type.kind === kind),
  )
  const methods: LoginMethod[] = []
  for (const { type, settings } of active) methods.push(await type.open(settings, context))
  const { prepareUser } = context
  const forTokens = await openTokenLogin(options, methods, prepareUser)
  if (forTokens === undefined)
    return { methods, prepareUser, tokens: undefined, devices: undefined }
  const { tokens, devices, method } = forTokens
  return { methods: [method, ...methods], prepareUser, tokens, devices }
}

function createContext(options: MethodOptions, secrets: LoginSecrets): MethodContext {
  const { settings, accounts, serviceAccounts, contextPath, ui, ...others } = options
  const { redis, command = (words) => `fairlead ${words}` } = options
  const objectionTo = createNameRule(settings)
  return {
    ...others,
    redis,
    command,
    page: { contextPath, ui, brand: settings.page },
    isAlone: settings.methods.length === 1,
    prepareUser: createUserPreparation({ ...others, objectionTo, accounts }),
    objectionTo,
    isServiceAccount: createServiceAccountCheck(options),
    secrets,
  }
}

/** Tokens are no way in by themselves: they are asked first where another method guards. */
async function openTokenLogin(
  { settings, permissions, dataDir, redis, log, keep, now }: MethodOptions,
  methods: readonly LoginMethod[],
  prepareUser: PrepareUser,
): Promise<{ tokens: Tokens; devices: DeviceLogins; method: LoginMethod } | undefined> {
  if (settings.tokens === undefined || methods.length === 0) return undefined
  const [{ openTokens }, { openDeviceLogins }, { TokenLogin }] = await Promise.all([
    import('./tokens/tokens.ts'),
    import('./tokens/device-logins.ts'),
    import('./tokens/token-login.ts'),
  ])
  const eraOf = (username: string, methodName: string) => {
    const current = methods.find(({ name }) => name === methodName)?.currentUser?.(username)
    return current === 'gone' ? undefined : current?.tokenEra
  }
  const tokens = keep(openTokens({ settings: settings.tokens, dataDir, redis, log, eraOf, now }))
  const devices = keep(openDeviceLogins({ dataDir, redis, log, now }))
  const { legacyPortLogin } = settings
  return {
    tokens,
    devices,
    method: new TokenLogin({ tokens, permissions, prepareUser, methods, legacyPortLogin }),
  }
}

function createServiceAccountCheck({ permissions, serviceAccounts, log }: MethodOptions) {
  return async (name: string): Promise<boolean | undefined> => {
    if (!permissions.enabled) return undefined
    try {
      return (await serviceAccounts()).some((known) => toUserKey(known) === toUserKey(name))
    } catch (error) {
      log.warn(
        { err: error },
        'the service accounts are not known; the one that logs in counts as a person',
      )
      return undefined
    }
  }
}

/** The login as other parts use it: request steps and `/auth` operations. */
export class Login implements LoginEnding {
  /**
   * Steps, in order, that find the user of a request and refuse protected paths without one. A step that answers the
   * request itself, with a redirect to the login, has sent the reply when it returns.
   */
  readonly steps: readonly RequestStep[]
  readonly sessions: Sessions
  readonly #options: LoginOptions
  readonly #methods: readonly LoginMethod[]
  readonly #prepareUser: PrepareUser
  readonly #requests: RequestLogin
  readonly #loops: LoopBreaker
  readonly #cookies: LoginCookies
  readonly #completed: CompletedLogins
  readonly #returned = new WeakMap<RequestState, { id: string; target: string | undefined }>()
  readonly tokens: Tokens | undefined
  readonly devices: DeviceLogins | undefined

  constructor(
    options: LoginOptions,
    { methods, prepareUser, tokens, devices }: LoginMethods,
    keys: LoginSecrets,
  ) {
    const { sessions, permissions, accounts, settings, redis, now } = options
    this.#options = options
    this.sessions = sessions
    this.tokens = tokens
    this.devices = devices
    this.#methods = methods
    this.#prepareUser = prepareUser
    this.#loops = new LoopBreaker({ contextPath: options.contextPath, now })
    this.#cookies = new LoginCookies({ rules: sessions.cookieRules, keys, now })
    this.#completed = new CompletedLogins({ redis, now })
    this.#requests = new RequestLogin({
      methods,
      sessions,
      permissions,
      webhooksNeedLogin: settings.webhooksNeedLogin,
      legacyPortLogin: settings.legacyPortLogin,
      anonymous: createAnonymousUser(
        () => accounts.list(),
        () => permissions.enabled,
      ),
      loops: this.#loops,
      cookies: this.#cookies,
    })
    this.steps = this.#requests.steps
  }

  /** False when all requests are served as the user anonymous. */
  get active(): boolean {
    return this.#methods.length > 0
  }

  /** Users of the login form that Fairlead keeps; undefined where users come from elsewhere. */
  get users(): FormUsers | undefined {
    return this.#methods.find(({ users }) => users !== undefined)?.users
  }

  /**
   * Forgets the wrong passwords of a user, who need not wait any more.
   *
   * @throws {GatewayError} NOT_FOUND without a login with passwords, SESSIONS_UNAVAILABLE
   */
  async unlock(username: string): Promise<void> {
    const method = this.#methods.find(({ unlock }) => unlock !== undefined)
    if (method?.unlock === undefined)
      throw new GatewayError(
        'NOT_FOUND',
        'No login with passwords is configured here, so no user has to wait.',
      )
    try {
      await method.unlock(username)
    } catch (cause) {
      throw new GatewayError(
        'SESSIONS_UNAVAILABLE',
        'This cannot be noted at present. Try again later.',
        { cause },
      )
    }
  }

  /** Names of the methods that guard a port, for the start-up line; none: all requests are served as the user anonymous. */
  methodsOf(listener: ListenerKind): readonly string[] {
    return this.#requests.methodsOf(listener).map(({ name }) => name)
  }

  get routes(): { method: string; path: string; login: string }[] {
    return this.#methods.flatMap(({ routes = [], name }) =>
      routes.map((route) => ({ ...route, login: name })),
    )
  }

  mount(server: FastifyInstance): void {
    for (const method of this.#methods) method.mount?.(server, this)
  }

  /**
   * Ends the session that the headers name, informs the permission service, and has the answer clear the cookie.
   *
   * @throws {GatewayError} SESSIONS_UNAVAILABLE
   */
  async logout(state: RequestState, headers: IncomingHttpHeaders): Promise<void> {
    const { sessions, permissions } = this.#options
    if (!this.#requests.usesSessions(state)) return
    const session = await sessions.find(headers.cookie)
    if (session !== undefined) await sessions.end(session)
    setCookie(state, sessions.clearedCookie(state.scheme === 'https'))
    const user = session?.content.user
    if (user === undefined) return
    state.auditNote = { kind: 'logout', user: user.username, method: user.method }
    if (!(await this.#isStillPresent(user.username))) await permissions.reportLogout(user.username)
  }

  /** Other sessions and API tokens of the user need what the permission service knows. */
  async #isStillPresent(username: string): Promise<boolean> {
    try {
      const { sessions } = await this.sessions.ofUser(username, { offset: 0, limit: 1 })
      if (sessions.length > 0) return true
      return ((await this.tokens?.ofPrincipal({ type: 'USER', id: username })) ?? []).length > 0
    } catch {
      // A store that cannot be asked may hold some.
      return true
    }
  }

  /** The session that a request belongs to, by its key; undefined for credentials that need none. */
  sessionKeyOf(state: RequestState): string | undefined {
    return this.#requests.sessionOf(state)?.key
  }

  /**
   * Whether the login of a request that goes on still counts. A session is not prolonged by that. Credentials that every request
   * brings anew, other than tokens, count until the request ends.
   *
   * @throws {GatewayError} SESSIONS_UNAVAILABLE, TOKENS_UNAVAILABLE
   */
  stillCounts(state: RequestState): Promise<boolean> {
    return this.#requests.stillCounts(state)
  }

  /** Changes whenever sessions or tokens end by a request to this process, or to one that shares its data directory. */
  version(): number {
    const ofMethods = this.#methods.reduce((sum, method) => sum + (method.changes?.() ?? 0), 0)
    return this.sessions.endings + (this.tokens?.endings ?? 0) + ofMethods
  }

  /** @see docs/contracts/authentication.md#order-of-a-login, steps 3 and 4 */
  async complete(
    request: FastifyRequest,
    reply: FastifyReply,
    login: CompletedLogin,
  ): Promise<void> {
    const { sessions } = this
    const { state } = request
    const report = this.#methods
      .find(({ name }) => name === login.user.method)
      ?.reportOf(login.user)
    const user = await this.#prepareUser(login.user, report, login.nameCase).catch(
      (error: unknown) => {
        noteRefusal(state, login.user.method, error)
        throw error
      },
    )
    const returned = this.#returned.get(state)
    const target =
      login.path ?? returned?.target ?? (await this.#cookies.findTarget(request)) ?? '/'
    if (returned !== undefined) await this.#checkFirstUse(returned.id)
    const { id } = await sessions.replace(await sessions.find(request.headers.cookie), {
      user,
      loggedInAtMs: this.#options.now(),
      loginOrigin: originOfLogin(request),
      credentialStamp: login.credentialStamp,
    })
    setCookie(state, sessions.cookie(id, state.scheme === 'https'))
    await login.onSession?.()
    this.#loops.completed(request)
    state.auditNote = { kind: 'login', user: user.username, method: user.method }
    this.#options.log.info(
      { user: user.username, method: user.method, address: state.clientAddress },
      'a user logged in',
    )
    this.#cookies.forgetTarget(request)
    await reply.redirect(state.baseUrl + target, 302)
  }

  async remember(request: FastifyRequest, id: string, pending: PendingLogin): Promise<void> {
    await this.#cookies.remember(request, id, pending)
    this.#loops.sent(request)
  }

  async destinationOf(request: FastifyRequest): Promise<string | undefined> {
    // The form is of use without it.
    const target = await this.#cookies.findTarget(request).catch(() => undefined)
    return target && describeDestination(target, this.#options.ui, request.state.baseUrl)
  }

  async take(request: FastifyRequest, id: string): Promise<PendingLogin | undefined> {
    const found = await this.#cookies.find(request, id)
    this.#cookies.forget(request, id)
    if (found === undefined || !(await askStore(() => this.#completed.begin(id)))) return undefined
    this.#returned.set(request.state, { id, target: found.target })
    return found.pending
  }

  /** The cookie of a completed login is cleared, but an attacker may have kept it. @throws {GatewayError} CREDENTIALS_REFUSED */
  async #checkFirstUse(id: string): Promise<void> {
    if (await askStore(() => this.#completed.complete(id))) return
    throw new GatewayError(
      'CREDENTIALS_REFUSED',
      'This login has been completed already. Start again.',
    )
  }

  /** Runs before the gateway listens. @throws {GatewayError} BAD_ARGUMENT for the first administrator */
  async prepareStart(): Promise<Required<StartSteps>> {
    const prepared = await Promise.all(this.#methods.map((method) => method.prepareStart?.()))
    return {
      listening: () => {
        for (const steps of prepared) steps?.listening?.()
      },
      ready: (address) => {
        for (const steps of prepared) steps?.ready?.(address)
      },
    }
  }
}

/** The method has accepted the login, so nothing but the name of the user can be refused. */
function noteRefusal(state: RequestState, method: string, error: unknown): void {
  if (error instanceof GatewayError && error.code === 'USER_NAME_REFUSED')
    state.auditNote = { kind: 'refused', method, reason: error.message }
}

/** What distinguishes the sessions for users; other headers are not stored. */
function originOfLogin({ state, headers }: FastifyRequest): {
  address: string
  userAgent?: string
} {
  const userAgent = headers['user-agent']?.replaceAll(/[^\x20-\x7e]/g, '').slice(0, 300)
  return { address: state.clientAddress, ...(userAgent ? { userAgent } : {}) }
}

/**
 * A function that gives the anonymous user. Without a permission service it may use the unrestricted accounts.
 *
 * @param accounts The cached list, replaced and never changed in place
 * @see docs/contracts/authentication.md#no-login-method
 */
function createAnonymousUser(
  accounts: () => readonly PermissionRecord[],
  permissionsEnabled: () => boolean,
): () => User {
  const base = {
    username: 'anonymous',
    email: 'anonymous',
    firstName: null,
    lastName: null,
    roles: [],
    method: 'anonymous',
  }
  let known: readonly PermissionRecord[] | undefined
  let unrestricted: string[] = []
  return () => {
    const list = permissionsEnabled() ? [] : accounts()
    if (list !== known) {
      known = list
      unrestricted = allowedAccounts('off', list, [])
    }
    return { ...base, allowedAccounts: unrestricted }
  }
}
