/** Login at an OAuth 2.0 or OpenID Connect provider, and bearer tokens. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../http/caller.ts'
import type { Page, Site } from '../../http/page.ts'
import type { RequestState, User } from '../../http/request-state.ts'
import { queryOf } from '../../http/request-target.ts'
import { VerifiedCredentials } from '../basic-credentials.ts'
import type { EntryPoint, LoginEnding, LoginMethod, LoginOutcome } from '../login-method.ts'
import { createChoicePage } from '../login-page.ts'
import type { MethodContext } from '../method-type.ts'
import type { OpenPath } from '../open-paths.ts'
import type { LoginCredentials, Trace } from '../trace.ts'
import { parseBearer } from './bearer-token.ts'
import { WrongIssuer } from './discovery.ts'
import { LoginFailure } from './login-failure.ts'
import { OAuth2Provider, type ProviderUser } from './provider.ts'
import { createProviderCalls } from './provider-http.ts'
import type { OAuth2Settings } from './settings.ts'
import { methodName } from './to-user.ts'

interface OAuth2LoginOptions extends Pick<MethodContext, 'prepareUser' | 'log' | 'now'> {
  /** At least one; the first verifies bearer tokens. */
  providers: readonly OAuth2Provider[]
  entryAddress: string | undefined
  site: Site
}

/**
 * Asks every issuer that is configured, at once. One that does not answer does not hold up the start beyond the time-outs.
 *
 * @throws {Error} when an issuer publishes what cannot belong to the configuration
 */
export async function openOAuth2(
  settings: OAuth2Settings,
  { isServiceAccount, log, keep, now, page: site, prepareUser }: MethodContext,
): Promise<LoginMethod> {
  const { registrations, entryAddress, audiences } = settings
  const call = createProviderCalls(settings)
  const providers = registrations.map((registration) =>
    keep(new OAuth2Provider({ registration, call, log, now, audiences, isServiceAccount })),
  )
  try {
    await Promise.all(providers.map((provider) => provider.open()))
  } catch (error) {
    if (!(error instanceof WrongIssuer)) throw error
    throw new Error(`${settings.key}: ${error.message}.`, { cause: error })
  }
  return new OAuth2Login({ providers, entryAddress, site, prepareUser, log, now })
}

/** A login that has not come back after this time has to begin again. */
const pendingMs = 10 * 60_000
const stateForm = /^[\w-]{43}$/

class OAuth2Login implements LoginMethod {
  readonly name = methodName
  readonly interactive = true
  readonly challenge = 'Bearer'
  readonly openPaths: readonly OpenPath[] = [
    { path: '/login', methods: ['GET'], identity: 'if-known' },
    { path: '/login/oauth2/code/**', methods: ['GET'], identity: 'if-known' },
    { path: '/oauth2/authorization/**', methods: ['GET'], identity: 'none' },
  ]
  readonly routes = [
    { method: 'GET', path: '/login' },
    { method: 'GET', path: '/login/oauth2/code/{id}' },
    { method: 'GET', path: '/oauth2/authorization/{id}' },
  ]
  readonly #options: OAuth2LoginOptions
  readonly #verified: VerifiedCredentials<User>
  readonly #serviceAccounts = new WeakSet<User>()
  /** What the bearer token of a request was good for, for the pages that turn it into a session. */
  readonly #bearers = new WeakMap<FastifyRequest, LoginOutcome>()

  constructor(options: OAuth2LoginOptions) {
    this.#options = options
    this.#verified = new VerifiedCredentials(options.now)
  }

  reportOf(user: User): LoginReport | undefined {
    return this.#serviceAccounts.has(user) ? undefined : { call: 'roles-if-any', attempts: 5 }
  }

  entryPoint({ baseUrl }: RequestState): EntryPoint {
    return { kind: 'redirect', location: this.#options.entryAddress ?? `${baseUrl}/login` }
  }

  async authenticate(request: FastifyRequest): Promise<LoginOutcome> {
    const token = parseBearer(request.headers.authorization)
    if (token === undefined) return { kind: 'not-mine' }
    const outcome =
      token === 'unreadable'
        ? refusal('there is no readable bearer token')
        : await this.#verifyBearer(token)
    this.#bearers.set(request, outcome)
    return outcome
  }

  async explain(credentials: LoginCredentials, trace: Trace): Promise<LoginOutcome> {
    try {
      const admitted = await this.#explain(credentials, trace)
      if (admitted === undefined) return { kind: 'not-mine' }
      if (admitted.isServiceAccount) this.#serviceAccounts.add(admitted.user)
      return { kind: 'user', user: admitted.user, nameCase: admitted.nameCase }
    } catch (error) {
      if (!(error instanceof LoginFailure)) throw error
      return { kind: 'refused', reason: error.message }
    }
  }

  /** @throws {LoginFailure} */
  async #explain(credentials: LoginCredentials, trace: Trace): Promise<ProviderUser | undefined> {
    const [first] = this.#options.providers
    if (credentials.kind === 'token') {
      const token = parseBearer(`Bearer ${credentials.text}`)
      if (token === 'unreadable')
        throw new LoginFailure('refused', 'this is no readable bearer token')
      return token === undefined ? undefined : first?.identify(token, trace)
    }
    if (credentials.kind !== 'id-token' && credentials.kind !== 'claims') return undefined
    const provider =
      credentials.registration === undefined ? first : this.#find(credentials.registration)
    if (provider === undefined)
      throw new LoginFailure('refused', `there is no registration ${credentials.registration}`)
    trace('note', `checked by the registration ${provider.registration.id}`)
    return credentials.kind === 'claims'
      ? provider.checkClaims(credentials.claims, trace)
      : provider.verifyIdToken(credentials.text, trace)
  }

  mount(server: FastifyInstance, ending: LoginEnding): void {
    server.get('/login', (request, reply) => this.#answerLogin(request, reply, ending))
    server.head('/login', (_request, reply) =>
      reply.code(200).headers(this.#choicePage().headers).send(),
    )
    server.get<{ Params: { id: string } }>('/login/oauth2/code/:id', (request, reply) =>
      this.#answerCallback(request, reply, ending, request.params.id),
    )
    server.get<{ Params: { id: string } }>('/oauth2/authorization/:id', (request, reply) =>
      this.#start(request, reply, ending, request.params.id),
    )
  }

  /** Start page, callback of early releases, and the place where a bearer token becomes a session. The web UI's scripts get a page. */
  async #answerLogin(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
  ): Promise<FastifyReply> {
    const parameters = queryOf(request.url)
    if (['code', 'state', 'error'].some((name) => parameters.has(name))) {
      return this.#complete(request, reply, ending, undefined)
    }
    const known = await this.#welcome(request, reply, ending)
    if (known !== undefined) return known
    const [first, ...more] = this.#options.providers
    if (first !== undefined && more.length === 0 && callerOf(request.headers) !== 'web-ui')
      return this.#start(request, reply, ending, first.registration.id)
    const { html, headers } = this.#choicePage()
    return reply.code(200).headers(headers).send(html)
  }

  #choicePage(): Page {
    const { providers, site } = this.#options
    const choices = providers.map(({ registration: { id, label } }) => ({
      label,
      path: pathTo`/oauth2/authorization/${id}`,
    }))
    return createChoicePage(site, choices)
  }

  async #answerCallback(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
    id: string,
  ): Promise<FastifyReply> {
    if (queryOf(request.url).size === 0) {
      const known = await this.#welcome(request, reply, ending)
      if (known !== undefined) return known
    }
    return this.#complete(request, reply, ending, id)
  }

  /** A logged-in user continues; a bearer token is turned into a session first. */
  async #welcome(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
  ): Promise<FastifyReply | undefined> {
    const bearer = this.#bearers.get(request)
    if (bearer?.kind === 'refused' && bearer.error !== undefined) throw bearer.error
    if (bearer?.kind === 'user') {
      const nameCase = this.#options.providers[0]?.registration.nameCase ?? 'unknown'
      await ending.complete(request, reply, { user: bearer.user, nameCase, path: '/' })
      return reply
    }
    const { state } = request
    return state.user && reply.redirect(`${state.baseUrl}/`, 302)
  }

  async #start(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
    id: string,
  ): Promise<FastifyReply> {
    const provider = this.#find(id)
    if (provider === undefined)
      throw new GatewayError(
        'NOT_FOUND',
        'There is no such login. GET /login offers those that exist.',
      )
    try {
      const { location, state, values } = await provider.start(request.state.baseUrl)
      await ending.remember(request, state, {
        method: methodName,
        startedAtMs: this.#options.now(),
        values,
      })
      return reply.redirect(location, 302)
    } catch (error) {
      return this.#refuse(request, error, id)
    }
  }

  /** @param id The registration that the path names; undefined on the path of early releases */
  async #complete(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
    id: string | undefined,
  ): Promise<FastifyReply> {
    try {
      const { user, isServiceAccount, nameCase } = await this.#verifyCallback(request, ending, id)
      if (isServiceAccount) this.#serviceAccounts.add(user)
      await ending.complete(request, reply, { user, nameCase })
      return reply
    } catch (error) {
      return this.#refuse(request, error, id)
    }
  }

  /** @throws {LoginFailure} */
  async #verifyCallback(
    request: FastifyRequest,
    ending: LoginEnding,
    id: string | undefined,
  ): Promise<ProviderUser> {
    const parameters = queryOf(request.url)
    const [state = '', ...more] = parameters.getAll('state')
    if (more.length > 0 || !stateForm.test(state))
      throw new LoginFailure('refused', 'the answer carries no readable state')
    const pending = await ending.take(request, state)
    if (pending?.method !== methodName)
      throw new LoginFailure('refused', 'this browser has no such login under way')
    if (this.#options.now() - pending.startedAtMs > pendingMs)
      throw new LoginFailure('refused', 'the login took too long')
    const provider = this.#find(pending.values['registration'] ?? '')
    if (provider === undefined || (id !== undefined && id !== provider.registration.id)) {
      throw new LoginFailure('refused', 'the answer came to the address of another registration')
    }
    return provider.complete(parameters, state, pending.values)
  }

  #find(id: string): OAuth2Provider | undefined {
    return this.#options.providers.find(({ registration }) => registration.id === id)
  }

  async #verifyBearer(token: string): Promise<LoginOutcome> {
    try {
      const user = await this.#verified.get({ username: methodName, password: token }, () =>
        this.#identify(token),
      )
      return user === undefined ? refusal('the provider names no user') : { kind: 'user', user }
    } catch (error) {
      if (!(error instanceof LoginFailure)) throw error
      return refusal(error.message)
    }
  }

  async #identify(token: string): Promise<User | undefined> {
    const [provider] = this.#options.providers
    const admitted = await provider?.identify(token)
    if (admitted === undefined) return undefined
    if (admitted.isServiceAccount) this.#serviceAccounts.add(admitted.user)
    const user = await this.#options.prepareUser(
      admitted.user,
      this.reportOf(admitted.user),
      admitted.nameCase,
    )
    if (admitted.isServiceAccount) this.#serviceAccounts.add(user)
    return user
  }

  /** Never a redirect, which providers would answer for ever. @throws {GatewayError} */
  #refuse(request: FastifyRequest, thrown: unknown, id: string | undefined): never {
    const error = thrown instanceof LoginFailure ? toError(thrown) : thrown
    if (!(error instanceof GatewayError)) throw error
    const { state } = request
    state.errorCode = error.code
    state.auditNote = {
      kind: 'refused',
      method: methodName,
      reason: (thrown as Error).message,
      failed: error.status >= 500,
    }
    this.#options.log.warn(
      {
        requestId: state.requestId,
        method: methodName,
        ...(id !== undefined && { registration: id }),
        address: state.clientAddress,
        reason: thrown instanceof Error ? thrown.message : undefined,
      },
      'a login was refused',
    )
    throw error
  }
}

function toError({ kind, message }: LoginFailure): GatewayError {
  if (kind === 'unavailable') {
    return new GatewayError(
      'LOGIN_UNAVAILABLE',
      'The identity provider does not answer. Try again in a moment.',
      {
        cause: new Error(message),
      },
    )
  }
  return new GatewayError(
    'CREDENTIALS_REFUSED',
    'The identity provider did not confirm the login, or you are not among those who are let in.',
  )
}

function refusal(reason: string): LoginOutcome {
  const error = new GatewayError(
    'CREDENTIALS_REFUSED',
    'The bearer token is not accepted. Get a new one and try again.',
    {
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    },
  )
  return { kind: 'refused', reason, error }
}
