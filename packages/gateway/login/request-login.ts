/** Login steps of every request: finds the user, enforces the login. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import type { PermissionAnswer } from '@fairlead/model/rights/permissions.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf, isBrowser } from '../http/caller.ts'
import type { ListenerKind, RequestState, RequestStep, User } from '../http/request-state.ts'
import type { Permissions } from '../permissions/fiat-permissions.ts'
import { permissionsUnavailable } from '../permissions/permission-errors.ts'
import type { Session } from '../sessions/session.ts'
import { parseSessionCookie } from '../sessions/session-cookie.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { LoginCookies } from './login-cookies.ts'
import type { EntryPoint, LoginMethod, LoginOutcome, Visitor } from './login-method.ts'
import { createLoopError, type LoopBreaker } from './loop-breaker.ts'
import { alwaysOpen, type OpenPath, OpenPathIndex } from './open-paths.ts'
import { toSavedRequest } from './saved-request.ts'

interface RequestLoginOptions {
  /** In the order in which they are tried; empty: no login is required. */
  methods: readonly LoginMethod[]
  sessions: Sessions
  permissions: Permissions
  webhooksNeedLogin: boolean
  /** Whether the extra port without TLS is guarded like the main one. */
  legacyPortLogin: boolean
  anonymous: () => User
  loops: LoopBreaker
  cookies: LoginCookies
}

interface LoginFindings {
  open: OpenPath | undefined
  session?: Session
  /** The cookie names a session that is over. */
  endedSession?: boolean
  method?: LoginMethod
  stillCounts?: (() => Promise<boolean>) | undefined
  refused?: Extract<LoginOutcome, { kind: 'refused' }>
  /** Why credentials that were read do not count. */
  objection?: string
}

interface LoginGuard {
  readonly methods: readonly LoginMethod[]
  /** The methods whose credentials win over a session, and those whose credentials count without one. */
  readonly beforeSession: readonly LoginMethod[]
  readonly afterSession: readonly LoginMethod[]
  /** No login is required: no login method is configured, or this port is open. */
  readonly isOpen: boolean
  readonly openPaths: OpenPathIndex
  /** Login pages of methods that count on other ports only. */
  readonly foreignPaths: OpenPathIndex
  /** Sessions belong to logins with a browser; where there is none, cookies are not looked at. */
  readonly usesSessions: boolean
}

declare module '../http/request-state.ts' {
  interface RequestState {
    loginFindings?: LoginFindings
  }
}

export class RequestLogin {
  readonly #options: RequestLoginOptions
  readonly #guards: Readonly<Record<ListenerKind, LoginGuard>>

  constructor(options: RequestLoginOptions) {
    this.#options = options
    this.#guards = {
      main: createGuard(options, 'main'),
      api: createGuard(options, 'api'),
      legacy: createGuard(options, 'legacy'),
    }
  }

  methodsOf(listener: ListenerKind): readonly LoginMethod[] {
    return this.#guards[listener].methods
  }

  usesSessions({ listener }: RequestState): boolean {
    return this.#guards[listener].usesSessions
  }

  get steps(): RequestStep[] {
    return [
      { name: 'findUser', run: (request) => this.#findUser(request) },
      { name: 'askPermissionService', run: (request) => this.#askPermissionService(request) },
      { name: 'breakLoop', run: (request) => this.#breakLoop(request) },
      { name: 'requireLogin', run: (request, reply) => this.#requireLogin(request, reply) },
    ]
  }

  sessionOf(state: RequestState): Session | undefined {
    return state.loginFindings?.session
  }

  async stillCounts(state: RequestState): Promise<boolean> {
    const { session, method, stillCounts } = state.loginFindings ?? {}
    if (session === undefined) return stillCounts === undefined || (await stillCounts())
    const { user, credentialStamp } = session.content
    return (
      (await this.#options.sessions.isLive(session)) &&
      (await method?.stillValid?.(user, credentialStamp)) !== false
    )
  }

  /** @throws {GatewayError} SESSIONS_UNAVAILABLE, and what a method throws whose provider cannot be asked */
  async #findUser(request: FastifyRequest): Promise<void> {
    const { state } = request
    const guard = this.#guards[state.listener]
    const findings: LoginFindings = { open: guard.openPaths.find(request.method, state.path) }
    state.loginFindings = findings
    if (guard.isOpen) {
      state.user = this.#options.anonymous()
      return
    }
    if (findings.open?.identity === 'none') return
    if (
      guard.beforeSession.length > 0 &&
      (await askMethods(request, findings, guard.beforeSession))
    )
      return
    if (guard.usesSessions && (await this.#findSession(request, findings, guard))) return
    await askMethods(request, findings, guard.afterSession)
  }

  /** Whether there is a session that counts. */
  async #findSession(
    request: FastifyRequest,
    findings: LoginFindings,
    guard: LoginGuard,
  ): Promise<boolean> {
    const { sessions } = this.#options
    const { cookie } = request.headers
    const found = sessions.find(cookie)
    const session = found instanceof Promise ? await found : found
    if (session === undefined) {
      findings.endedSession =
        parseSessionCookie(cookie, sessions.cookieRules.settings.name).length > 0
      return false
    }
    const { credentialStamp, user } = session.content
    const method = guard.methods.find(({ name }) => name === user.method)
    const validity = method?.stillValid?.(user, credentialStamp)
    if (
      method !== undefined &&
      (validity instanceof Promise ? await validity : validity) !== false
    ) {
      findings.session = session
      findings.method = method
      request.state.user = user
      return true
    }
    await sessions.end(session)
    findings.endedSession = true
    return false
  }

  /**
   * A user whom the permission service does not know has to log in again, which is reported to it. While it cannot
   * be asked, sessions stay and protected paths wait.
   *
   * @throws {GatewayError} PERMISSIONS_UNAVAILABLE
   * @see docs/contracts/permissions.md#failure-of-the-permission-service, #session-filter
   */
  #askPermissionService({ state }: FastifyRequest): Promise<void> | undefined {
    const { permissions } = this.#options
    const { user, loginFindings: findings } = state
    if (
      user === undefined ||
      findings?.method === undefined ||
      !permissions.enabled ||
      !permissions.sessionFilter
    ) {
      return undefined
    }
    if (findings.method.filtered === false) return undefined
    const known = permissions.lookUp(user)
    return 'view' in known ? undefined : this.#checkKnownUser(state, user, findings, known)
  }

  async #checkKnownUser(
    state: RequestState,
    user: User,
    findings: LoginFindings,
    known: PermissionAnswer | Promise<PermissionAnswer>,
  ): Promise<void> {
    const { sessions } = this.#options
    const answer = await this.#reportOnce(user, findings, await known)
    if (answer.kind === 'view') return
    if (answer.kind === 'unknown') {
      if (findings.session !== undefined) await sessions.end(findings.session)
      findings.session = undefined
      findings.objection = `The permission service does not know the user ${user.username}.`
      state.user = undefined
      return
    }
    if (findings.open === undefined) throw permissionsUnavailable(answer.cause)
  }

  /** Credentials that come with each request cannot be sent to a login page: the login is reported once more instead. */
  async #reportOnce(
    user: User,
    { session, method }: LoginFindings,
    answer: PermissionAnswer,
  ): Promise<PermissionAnswer> {
    const { permissions } = this.#options
    const report = method?.reportOf(user)
    if (answer.kind !== 'unknown' || session !== undefined || report === undefined) return answer
    await permissions.reportLogin(user, report)
    return permissions.lookUp(user)
  }

  /** A browser that returns to log in a third time within a minute gets an explanation instead of a redirect. */
  #breakLoop(request: FastifyRequest): void {
    const { loops } = this.#options
    const { state, method } = request
    const { open, session } = state.loginFindings ?? {}
    if (state.user !== undefined) {
      if (session !== undefined) loops.settled(request)
      return
    }
    if (open === undefined || !isReadMethod(method)) return
    const loop = loops.check(request)
    if (loop === undefined) return
    request.log.warn(
      { requestId: state.requestId, loop, address: state.clientAddress },
      'a browser logs in again and again',
    )
    throw createLoopError({ loop, baseUrl: state.baseUrl })
  }

  /**
   * A browser that opens a page is sent to the login page; a program learns what is wrong.
   *
   * @throws {GatewayError} LOGIN_REQUIRED, or the refusal of a method; SESSIONS_UNAVAILABLE
   */
  #requireLogin(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    const { state, method } = request
    const findings = state.loginFindings ?? { open: undefined }
    const { open, refused } = findings
    if (refused?.evenOnOpenPaths !== true && (state.user !== undefined || open !== undefined)) {
      if (this.#guards[state.listener].foreignPaths.find(method, state.path) === undefined)
        return undefined
      throw new GatewayError('NO_ROUTE', 'The login with a browser is not offered on this port.')
    }
    return this.#sendToLogin(request, reply, findings)
  }

  async #sendToLogin(
    request: FastifyRequest,
    reply: FastifyReply,
    findings: LoginFindings,
  ): Promise<void> {
    const { state, method } = request
    const { refused } = findings
    if (method === 'OPTIONS') {
      // An OPTIONS request without login gets its cross-origin answer and never reaches an operation.
      await reply.code(200).header('content-length', '0').send('')
      return
    }
    const caller = callerOf(request.headers)
    const entry = this.#entryPoint(state, {
      hadSession: caller === 'page' && findings.endedSession === true,
    })
    const mayRedirect = refused === undefined || refused.sentByBrowsers === true
    if (
      entry.kind === 'refusal' ||
      !mayRedirect ||
      (caller === 'program' && !isProbe(request, findings))
    ) {
      throw this.#refusalFor(request, entry, findings)
    }
    if (refused === undefined) await this.#saveTarget(request)
    await reply.redirect(entry.location, 302)
  }

  #refusalFor(
    request: FastifyRequest,
    entry: EntryPoint,
    { refused, objection }: LoginFindings,
  ): GatewayError {
    const error =
      refused === undefined
        ? toRefusal(request, entry, objection)
        : (refused.error ?? notAccepted())
    if (error.status === 401 && error.details.headers?.['www-authenticate'] === undefined) {
      const challenges = this.#challengesFor(request)
      if (challenges.length > 0)
        request.state.answerHeaders['www-authenticate'] = challenges.join(', ')
    }
    return error
  }

  /**
   * What a program may answer with. To `Basic` browsers react with a dialog that hides the page, so they are not offered it.
   *
   * @see RFC 9110, section 11.6.1
   */
  #challengesFor({ state, headers }: FastifyRequest): string[] {
    const { methods, usesSessions } = this.#guards[state.listener]
    const schemes = new Set(
      methods.flatMap(({ challenge }) => (challenge === undefined ? [] : [challenge])),
    )
    if (isBrowser(headers)) schemes.delete('Basic')
    const challenges = [...schemes].map((scheme) => `${scheme} realm="Fairlead"`)
    return challenges.length === 0 && usesSessions ? ['Cookie realm="Fairlead"'] : challenges
  }

  #entryPoint(state: RequestState, visitor: Visitor): EntryPoint {
    const { methods } = this.#guards[state.listener]
    const claimant = methods.find((method) => method.claims?.(state.path) === true)
    const method = claimant ?? methods.find(({ interactive }) => interactive) ?? methods.at(-1)
    if (method === undefined)
      throw new Error('a login is required although no login method is active')
    return method.entryPoint(state, visitor)
  }

  async #saveTarget(request: FastifyRequest): Promise<void> {
    const saved = toSavedRequest(request)
    if (saved !== undefined) await this.#options.cookies.saveTarget(request, saved)
  }
}

/** Whether one of the methods takes or refuses the credentials of the request. */
async function askMethods(
  request: FastifyRequest,
  findings: LoginFindings,
  methods: readonly LoginMethod[],
): Promise<boolean> {
  for (const method of methods) {
    if (takeOutcome(request, findings, method, await authenticate(method, request))) return true
  }
  return false
}

/** A user whose name is rejected is anonymous, on open paths too. */
async function authenticate(method: LoginMethod, request: FastifyRequest): Promise<LoginOutcome> {
  try {
    return await method.authenticate(request)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'USER_NAME_REFUSED') throw error
    return { kind: 'refused', reason: error.message, error }
  }
}

/** Whether the credentials of a request that goes on would let it in again. */
async function isUserOf(
  request: FastifyRequest,
  method: LoginMethod,
  { username }: User,
): Promise<boolean> {
  const outcome = await authenticate(method, request)
  return outcome.kind === 'user' && outcome.user.username === username
}

/** Whether the credentials are those of the method, and decide. */
function takeOutcome(
  request: FastifyRequest,
  findings: LoginFindings,
  method: LoginMethod,
  outcome: LoginOutcome,
): boolean {
  const { state } = request
  if (outcome.kind === 'not-mine') {
    if (outcome.objection !== undefined) findings.objection = outcome.objection
    return false
  }
  if (outcome.kind === 'user') {
    state.user = outcome.user
    findings.method = method
    findings.stillCounts = outcome.stillCounts ?? (() => isUserOf(request, method, outcome.user))
  } else {
    findings.refused = outcome
    state.auditNote = {
      kind: 'refused',
      method: method.name,
      reason: outcome.reason,
      user: outcome.user,
    }
    const { requestId } = state
    request.log.info(
      { requestId, method: method.name, reason: outcome.reason },
      'credentials were refused',
    )
  }
  return true
}

/** Load balancers probe the root without credentials, and take the redirect that Gate sends for an instance that is up. */
function isProbe({ state, method }: FastifyRequest, { refused }: LoginFindings): boolean {
  return state.path === '/' && refused === undefined && isReadMethod(method)
}

/** The response to a program without credentials, or without any that a method here accepts. */
function toRefusal(
  { headers, state }: FastifyRequest,
  entry: EntryPoint,
  objection: string | undefined,
): GatewayError {
  if (entry.kind === 'refusal') {
    const { code, message, details } = entry.error
    return objection === undefined
      ? entry.error
      : new GatewayError(code, `${message} ${objection}`, details)
  }
  if (objection !== undefined) return new GatewayError('CREDENTIALS_REFUSED', objection)
  if (headers.authorization !== undefined) {
    return new GatewayError(
      'CREDENTIALS_REFUSED',
      'No login method of this gateway reads the Authorization header that was sent.',
    )
  }
  return new GatewayError(
    'LOGIN_REQUIRED',
    `Send credentials with the request, or log in with a browser at ${state.baseUrl}/login.`,
  )
}

function notAccepted(): GatewayError {
  return new GatewayError('CREDENTIALS_REFUSED', 'The credentials are not accepted.')
}

function createGuard(options: RequestLoginOptions, listener: ListenerKind): LoginGuard {
  const byDefault = listener === 'main' || (listener === 'legacy' && options.legacyPortLogin)
  const methods = options.methods.filter((method) => method.guards?.(listener) ?? byDefault)
  const openPaths = [
    ...alwaysOpen.filter(({ webhook }) => !(webhook && options.webhooksNeedLogin)),
    ...methods.flatMap(({ openPaths = [] }) => openPaths),
  ]
  const others = options.methods
    .filter((method) => !methods.includes(method))
    .flatMap((method) => method.openPaths ?? [])
  return {
    methods,
    beforeSession: methods.filter(({ interactive }) => !interactive),
    afterSession: methods.filter(({ interactive }) => interactive),
    isOpen:
      options.methods.length === 0 ||
      (listener === 'legacy' && !options.legacyPortLogin && methods.length === 0),
    openPaths: new OpenPathIndex(openPaths),
    foreignPaths: new OpenPathIndex(
      others.filter(({ path }) => openPaths.every((open) => open.path !== path)),
    ),
    usesSessions: methods.some(({ interactive }) => interactive),
  }
}
