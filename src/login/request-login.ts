/** Login steps of every request: finds the user, enforces the login. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { callerOf, isBrowser } from '../http/caller.ts'
import type { ListenerKind, RequestState, RequestStep, User } from '../http/request-state.ts'
import type { Permissions } from '../permissions/permissions.ts'
import { permissionsUnavailable } from '../permissions/permissions-unavailable.ts'
import type { Session } from '../sessions/session.ts'
import { parseSessionCookie } from '../sessions/session-cookie.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { LoginCookies } from './login-cookies.ts'
import type { EntryPoint, LoginMethod, LoginOutcome, Visitor } from './login-method.ts'
import type { LoopBreaker } from './loop-breaker.ts'
import { createLoopError } from './loop-error.ts'
import { alwaysOpen, findOpenPath, type OpenPath } from './open-paths.ts'
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

/** What the steps of one request tell each other. */
interface Findings {
  open: OpenPath | undefined
  session?: Session
  /** The cookie names a session that is over. */
  endedSession?: boolean
  method?: LoginMethod
  refused?: Extract<LoginOutcome, { kind: 'refused' }>
  /** Why credentials that were read do not count. */
  objection?: string
}

/** What holds on one port. */
interface Guard {
  /** Those that count here. */
  readonly methods: readonly LoginMethod[]
  /** No login is required: no login method is configured, or this port is open. */
  readonly isOpen: boolean
  readonly openPaths: readonly OpenPath[]
  /** Login pages of methods that count on other ports only. */
  readonly foreignPaths: readonly OpenPath[]
  /** Sessions belong to logins with a browser; where there is none, cookies are not looked at. */
  readonly usesSessions: boolean
}

export class RequestLogin {
  readonly #options: RequestLoginOptions
  readonly #guards: Readonly<Record<ListenerKind, Guard>>
  readonly #findings = new WeakMap<RequestState, Findings>()

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

  /** The live session of the request. */
  sessionOf(state: RequestState): Session | undefined {
    return this.#findings.get(state)?.session
  }

  /** @throws {GatewayError} SESSIONS_UNAVAILABLE, and what a method throws whose provider cannot be asked */
  async #findUser(request: FastifyRequest): Promise<void> {
    const { state } = request
    const guard = this.#guards[state.listener]
    const findings: Findings = { open: findOpenPath(guard.openPaths, request.method, state.path) }
    this.#findings.set(state, findings)
    if (guard.isOpen) {
      state.user = this.#options.anonymous()
      return
    }
    if (findings.open?.identity === 'none') return
    await this.#askMethods(request, findings, true)
    if (state.user !== undefined || findings.refused !== undefined) return
    if (guard.usesSessions) await this.#askSession(request, findings)
    if (state.user === undefined) await this.#askMethods(request, findings, false)
  }

  async #askMethods(request: FastifyRequest, findings: Findings, beforeSession: boolean): Promise<void> {
    for (const method of this.#guards[request.state.listener].methods) {
      if (method.beforeSession !== beforeSession) continue
      const outcome = await authenticate(method, request)
      if (outcome.kind === 'not-mine') {
        if (outcome.objection !== undefined) findings.objection = outcome.objection
        continue
      }
      if (outcome.kind === 'user') {
        request.state.user = outcome.user
        findings.method = method
      } else {
        findings.refused = outcome
        request.state.auditNote = { kind: 'refused', method: method.name, reason: outcome.reason, user: outcome.user }
        request.log.info({ method: method.name, reason: outcome.reason }, 'credentials were refused')
      }
      return
    }
  }

  async #askSession(request: FastifyRequest, findings: Findings): Promise<void> {
    const { sessions } = this.#options
    const { methods } = this.#guards[request.state.listener]
    const session = await sessions.find(request.headers.cookie)
    if (session === undefined) {
      findings.endedSession = parseSessionCookie(request.headers.cookie, sessions.cookieRules.settings.name).length > 0
      return
    }
    const { credentialStamp, user } = session.content
    const method = methods.find(({ name }) => name === user.method)
    if (method === undefined || (await method.stillValid?.(user, credentialStamp)) === false) {
      await sessions.end(session)
      findings.endedSession = true
      return
    }
    findings.session = session
    findings.method = method
    request.state.user = user
  }

  /**
   * A user whom the permission service does not know has to log in again, which tells it. While it cannot
   * be asked, sessions stay and protected paths wait.
   *
   * @throws {GatewayError} PERMISSIONS_UNAVAILABLE
   * @see docs/contracts/permissions.md#failure-of-the-permission-service, #session-filter
   */
  async #askPermissionService(request: FastifyRequest): Promise<void> {
    const { permissions, sessions } = this.#options
    const { state } = request
    const findings = this.#findings.get(state)
    const { user } = state
    if (user === undefined || findings?.method?.filtered !== true || !permissions.enabled || !permissions.sessionFilter) return
    const answer = await this.#lookUp(user, findings)
    if (answer.kind === 'view') return
    if (answer.kind === 'unknown') {
      if (findings.session !== undefined) await sessions.end(findings.session)
      findings.session = undefined
      findings.objection = `The permission service does not know the user ${user.username}.`
      state.user = undefined
      return
    }
    if (findings.open !== undefined) return
    throw permissionsUnavailable(answer.cause)
  }

  /** Credentials that come with each request cannot be sent to a login page: the login is reported once more instead. */
  async #lookUp(user: User, { session, method }: Findings) {
    const { permissions } = this.#options
    const answer = await permissions.lookUp(user)
    const report = method?.reportOf(user)
    if (answer.kind !== 'unknown' || session !== undefined || report === undefined) return answer
    await permissions.reportLogin(user, report)
    return permissions.lookUp(user)
  }

  /** A browser that returns to log in a third time within a minute gets an explanation instead of a redirect. */
  async #breakLoop(request: FastifyRequest): Promise<void> {
    const { loops } = this.#options
    const { state, method } = request
    const { open, session } = this.#findings.get(state) ?? {}
    if (state.user !== undefined) {
      if (session !== undefined) loops.settled(request)
      return
    }
    if (open === undefined || (method !== 'GET' && method !== 'HEAD')) return
    const loop = loops.check(request)
    if (loop === undefined) return
    request.log.warn({ loop, address: state.clientAddress }, 'a browser logs in again and again')
    throw createLoopError({ loop, baseUrl: state.baseUrl })
  }

  /**
   * A browser that opens a page is sent to the login page; a program learns what is wrong.
   *
   * @throws {GatewayError} LOGIN_REQUIRED, or the refusal of a method; SESSIONS_UNAVAILABLE
   */
  async #requireLogin(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { state, method } = request
    const findings = this.#findings.get(state) ?? { open: undefined }
    const { open, refused } = findings
    if (refused?.evenOnOpenPaths !== true && (state.user !== undefined || open !== undefined)) {
      if (findOpenPath(this.#guards[state.listener].foreignPaths, method, state.path) === undefined) return
      throw new GatewayError('NO_ROUTE', 'The login with a browser is not offered on this port.')
    }
    if (method === 'OPTIONS') {
      // An OPTIONS request without login gets its cross-origin answer and never reaches an operation.
      await reply.code(200).header('content-length', '0').send('')
      return
    }
    const caller = callerOf(request.headers)
    const entry = this.#entryPoint(state, { hadSession: caller === 'page' && findings.endedSession === true })
    const mayRedirect = refused === undefined || refused.sentByBrowsers === true
    if (entry.kind === 'refusal' || !mayRedirect || caller === 'program') {
      throw this.#refusalFor(request, entry, findings)
    }
    if (refused === undefined) await this.#saveTarget(request)
    await reply.redirect(entry.location, 302)
  }

  #refusalFor(request: FastifyRequest, entry: EntryPoint, { refused, objection }: Findings): GatewayError {
    const error = refused === undefined ? toRefusal(request, entry, objection) : (refused.error ?? notAccepted())
    if (error.status === 401 && error.details.headers?.['www-authenticate'] === undefined) {
      const challenges = this.#challengesFor(request)
      if (challenges.length > 0) request.state.answerHeaders['www-authenticate'] = challenges.join(', ')
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
    const schemes = new Set(methods.flatMap(({ challenge }) => (challenge === undefined ? [] : [challenge])))
    if (isBrowser(headers)) schemes.delete('Basic')
    const challenges = [...schemes].map((scheme) => `${scheme} realm="Fairlead"`)
    return challenges.length === 0 && usesSessions ? ['Cookie realm="Fairlead"'] : challenges
  }

  #entryPoint(state: RequestState, visitor: Visitor): EntryPoint {
    const { methods } = this.#guards[state.listener]
    const claimant = methods.find((method) => method.claims?.(state.path) === true)
    const method = claimant ?? methods.find(({ interactive }) => interactive) ?? methods.at(-1)
    if (method === undefined) throw new Error('a login is required although no login method is active')
    return method.entryPoint(state, visitor)
  }

  async #saveTarget(request: FastifyRequest): Promise<void> {
    const saved = toSavedRequest(request)
    if (saved !== undefined) await this.#options.cookies.saveTarget(request, saved)
  }
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

/** The response to a program without credentials, or without any that a method here accepts. */
function toRefusal({ headers, state }: FastifyRequest, entry: EntryPoint, objection: string | undefined): GatewayError {
  if (entry.kind === 'refusal') {
    const { code, message, details } = entry.error
    return objection === undefined ? entry.error : new GatewayError(code, `${message} ${objection}`, details)
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

function createGuard(options: RequestLoginOptions, listener: ListenerKind): Guard {
  const byDefault = listener === 'main' || (listener === 'legacy' && options.legacyPortLogin)
  const methods = options.methods.filter((method) => method.guards?.(listener) ?? byDefault)
  const openPaths = [
    ...alwaysOpen.filter(({ webhook }) => !(webhook && options.webhooksNeedLogin)),
    ...methods.flatMap((method) => method.openPaths),
  ]
  const others = options.methods.filter((method) => !methods.includes(method)).flatMap((method) => method.openPaths)
  return {
    methods,
    isOpen: options.methods.length === 0 || (listener === 'legacy' && !options.legacyPortLogin && methods.length === 0),
    openPaths,
    foreignPaths: others.filter(({ path }) => openPaths.every((open) => open.path !== path)),
    usesSessions: methods.some(({ interactive }) => interactive),
  }
}
