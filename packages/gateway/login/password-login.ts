/** Login with user name and password, by form or HTTP Basic. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { findNameObjection } from '@fairlead/base/names/user-name.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readForm } from '../http/read-form.ts'
import type { User } from '../http/request-state.ts'
import { queryOf } from '../http/request-target.ts'
import { type Credentials, parseBasic, VerifiedCredentials } from './basic-credentials.ts'
import type { FormUsers } from './form/form-users.ts'
import type { Guess, GuessDecision, Guesses } from './form/guess-limit.ts'
import type { KnownBrowsers } from './known-browsers.ts'
import type {
  CurrentUser,
  EntryPoint,
  LoginEnding,
  LoginMethod,
  LoginOutcome,
  StartSteps,
  Visitor,
} from './login-method.ts'
import { createLoginPage, inMinutes, type LoginNotice, type PageNotice } from './login-page.ts'
import type { MethodContext } from './method-type.ts'
import type { OpenPath } from './open-paths.ts'
import type { LoginCredentials, Trace } from './trace.ts'
import type { TypedName } from './typed-name.ts'
import type { Unlocks } from './unlocks.ts'

interface PasswordMatch {
  user: User
  credentialStamp?: string
}

/** The password is right, but the user may not sign in; the form shows the reason. */
interface SignInRefusal {
  notice: 'expired' | 'restricted'
}

/** What knows the passwords: the users of this gateway, or a directory. */
export interface PasswordSource
  extends Pick<
    LoginMethod,
    'name' | 'reportOf' | 'stillValid' | 'isActive' | 'changes' | 'prepareStart' | 'users'
  > {
  /** The user, or undefined when the password is wrong. Both are non-empty. @throws {GatewayError} LOGIN_UNAVAILABLE */
  check(credentials: Credentials): Promise<PasswordMatch | SignInRefusal | undefined>
  currentUser?(username: string): CurrentUser | 'gone'
  /** Follows how a user is checked, also without a password; changes nothing. */
  explain?(
    credentials: { username: string; password: string | undefined },
    trace: Trace,
  ): Promise<PasswordMatch | SignInRefusal | undefined>
  /** Whether wrong HTTP Basic credentials are answered even where none are needed. */
  readonly refusesOnOpenPaths: boolean
}

interface PasswordLoginOptions extends Pick<MethodContext, 'page' | 'prepareUser' | 'log' | 'now'> {
  browsers: KnownBrowsers
  typedName: TypedName
  unlocks: Unlocks
  guesses: Guesses
}

type FormOutcome =
  | PasswordMatch
  | (PageNotice & { readonly notice: Exclude<LoginNotice, 'signed-out' | 'session-expired'> })

const maxFormBytes = 16 * 1024

/** What is typed only finds a user, and directories compare names without case. */
const nameCase = 'insensitive'

export class PasswordLogin implements LoginMethod {
  readonly interactive = true
  readonly challenge = 'Basic'
  readonly openPaths: readonly OpenPath[] = [
    { path: '/login', methods: ['GET', 'POST'], identity: 'none' },
  ]
  readonly routes = [
    { method: 'GET', path: '/login' },
    { method: 'POST', path: '/login' },
  ]
  readonly #source: PasswordSource
  readonly #options: PasswordLoginOptions
  readonly #guesses: Guesses
  readonly #verified: VerifiedCredentials<PasswordMatch>

  constructor(source: PasswordSource, options: PasswordLoginOptions) {
    this.#source = source
    this.#options = options
    this.#guesses = options.guesses
    this.#verified = new VerifiedCredentials(options.now)
  }

  get name(): string {
    return this.#source.name
  }

  get users(): FormUsers | undefined {
    return this.#source.users
  }

  unlock(username: string): Promise<void> {
    return this.#options.unlocks.add(username)
  }

  reportOf(user: User): LoginReport | undefined {
    return this.#source.reportOf(user)
  }

  /** HTTP Basic, for scripts: checked with each request, without a session. */
  async authenticate(request: FastifyRequest): Promise<LoginOutcome> {
    const credentials = parseBasic(request.headers.authorization)
    if (credentials === undefined) return { kind: 'not-mine' }
    if (credentials === 'unreadable') return this.#refusal('the Authorization header names no user')
    try {
      const known = await this.#recall(credentials, request.state.clientAddress)
      if (known !== undefined) return { kind: 'user', ...known, ...this.#countsLater(known) }
      return {
        ...this.#refusal('wrong user name or password'),
        user: this.#nameOf(credentials.username),
      }
    } catch (error) {
      if (isTooMany(error)) {
        const user = this.#nameOf(credentials.username)
        request.state.auditNote = { kind: 'refused', method: this.name, reason: 'wait', user }
      }
      if (!isUnavailable(error)) throw error
      return {
        ...this.#refusal('the credentials cannot be checked at present'),
        error,
        sentByBrowsers: false,
      }
    }
  }

  /** A changed password that is tried again would count as a guess. */
  #countsLater({ user, credentialStamp }: PasswordMatch): { stillCounts?: () => Promise<boolean> } {
    if (this.#source.stillValid === undefined) return {}
    return { stillCounts: async () => this.stillValid(user, credentialStamp) }
  }

  async #recall(credentials: Credentials, address: string): Promise<PasswordMatch | undefined> {
    const verify = () =>
      this.#verified.get(credentials, () => this.#verifyBasic(credentials, address))
    const known = await verify()
    if (known === undefined || (await this.stillValid(known.user, known.credentialStamp)))
      return known
    this.#verified.forget(credentials)
    return verify()
  }

  stillValid(user: User, credentialStamp: string | undefined): boolean | Promise<boolean> {
    return this.#source.stillValid?.(user, credentialStamp) ?? true
  }

  currentUser(username: string): CurrentUser | 'gone' | undefined {
    return this.#source.currentUser?.(username)
  }

  async isActive(username: string): Promise<boolean> {
    return (await this.#source.isActive?.(username)) ?? true
  }

  changes(): number {
    return this.#source.changes?.() ?? 0
  }

  async explain(credentials: LoginCredentials, trace: Trace): Promise<LoginOutcome> {
    if (credentials.kind !== 'password' || this.#source.explain === undefined)
      return { kind: 'not-mine' }
    const known = await this.#source.explain(credentials, trace)
    if (known === undefined) {
      const reason =
        credentials.password === undefined
          ? 'no such user is found'
          : 'user name and password are not accepted'
      return { kind: 'refused', reason }
    }
    if ('notice' in known)
      return { kind: 'refused', reason: `the account may not sign in (${known.notice})` }
    return { kind: 'user', ...known, nameCase }
  }

  entryPoint({ baseUrl }: { baseUrl: string }, { hadSession }: Visitor): EntryPoint {
    return { kind: 'redirect', location: `${baseUrl}/login${hadSession ? '?expired' : ''}` }
  }

  mount(server: FastifyInstance, ending: LoginEnding): void {
    server.get('/login', (request, reply) => this.#showForm(request, reply, ending))
    server.head('/login', (request, reply) => this.#showForm(request, reply, ending))
    server.post('/login', (request, reply) => this.#takeForm(request, reply, ending))
  }

  async prepareStart(): Promise<StartSteps> {
    return (await this.#source.prepareStart?.()) ?? {}
  }

  async #showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
  ): Promise<FastifyReply> {
    const { page, typedName } = this.#options
    const { html, headers } = createLoginPage(page, {
      notice: noticeOf(queryOf(request.url)),
      username:
        request.method === 'GET'
          ? await typedName.take(request.state, request.headers.cookie)
          : undefined,
      destination: await ending.destinationOf(request),
    })
    return reply.code(200).headers(headers).send(html)
  }

  async #takeForm(
    request: FastifyRequest,
    reply: FastifyReply,
    ending: LoginEnding,
  ): Promise<FastifyReply> {
    const { state } = request
    const credentials = await readCredentials(request)
    const outcome: FormOutcome =
      credentials === undefined
        ? { notice: 'refused' }
        : await this.#verifyForm(credentials, request)
    if ('user' in outcome) {
      const onSession = () => this.#options.browsers.remember(state, credentials?.username ?? '')
      await ending.complete(request, reply, { ...outcome, nameCase, onSession })
      return reply
    }
    const { notice, minutes } = outcome
    const user = this.#nameOf(credentials?.username)
    state.auditNote = {
      kind: 'refused',
      method: this.name,
      reason: notice,
      user,
      failed: notice === 'unavailable',
    }
    this.#options.log.info(
      { method: this.name, address: state.clientAddress, reason: notice },
      'a login was refused',
    )
    await this.#options.typedName.keep(state, credentials?.username ?? '')
    const query = `error${notice === 'refused' ? '' : `=${notice}`}${minutes === undefined ? '' : `&minutes=${minutes}`}`
    return reply.redirect(`${state.baseUrl}/login?${query}`, 302)
  }

  /** Only if there is such a user: people type passwords in the wrong field. */
  #nameOf(username = ''): string | undefined {
    const current = this.#source.currentUser?.(username)
    return current === undefined || current === 'gone' ? undefined : current.user.username
  }

  async #verifyForm(
    credentials: Credentials,
    { state, headers }: FastifyRequest,
  ): Promise<FormOutcome> {
    if (!isUsable(credentials)) return { notice: 'refused' }
    const { username } = credentials
    const browser = await this.#options.browsers.find(headers.cookie, username)
    try {
      const known = await this.#ask(credentials, {
        username,
        address: state.clientAddress,
        browser,
      })
      return known ?? { notice: 'refused' }
    } catch (error) {
      if (error instanceof TooManyGuesses) return { notice: 'wait', minutes: error.minutes }
      if (isUnavailable(error)) return { notice: 'unavailable' }
      throw error
    }
  }

  /** Asks the source, unless the limit of guesses is reached. @throws {TooManyGuesses} and what the source throws */
  async #ask(
    credentials: Credentials,
    guess: Guess,
  ): Promise<PasswordMatch | SignInRefusal | undefined> {
    const attempt = await this.#begin(guess)
    if (attempt.kind === 'wait') throw new TooManyGuesses(attempt.waitMs)
    try {
      const known = await this.#source.check(credentials)
      if (known !== undefined && 'user' in known) attempt.succeed()
      return known
    } catch (error) {
      attempt.withdraw()
      throw error
    }
  }

  /** An administrator may have unlocked the user meanwhile, which matters to those who would have to wait. */
  async #begin(guess: Guess): Promise<GuessDecision> {
    const attempt = await this.#guesses.begin(guess)
    if (attempt.kind === 'counted') return attempt
    const { unlocks, log } = this.#options
    try {
      const unlockedAtMs = await unlocks.find(guess.username)
      return unlockedAtMs === undefined ? attempt : this.#guesses.begin(guess, unlockedAtMs)
    } catch (error) {
      log.warn(
        { err: error },
        'unlocked users are not known, so the limit of guesses counts for all',
      )
      return attempt
    }
  }

  /** @throws {GatewayError} RATE_LIMITED, and what the source and the preparation of the user throw */
  async #verifyBasic(
    credentials: Credentials,
    address: string,
  ): Promise<PasswordMatch | undefined> {
    if (!isUsable(credentials)) return undefined
    const known = await this.#ask(credentials, {
      username: credentials.username,
      address,
      browser: undefined,
    })
    if (known === undefined || 'notice' in known) return undefined
    return {
      ...known,
      user: await this.#options.prepareUser(known.user, this.reportOf(known.user), nameCase),
    }
  }

  #refusal(reason: string): Extract<LoginOutcome, { kind: 'refused' }> {
    const error = new GatewayError('CREDENTIALS_REFUSED', 'The user name or the password is wrong.')
    return {
      kind: 'refused',
      reason,
      error,
      sentByBrowsers: true,
      evenOnOpenPaths: this.#source.refusesOnOpenPaths,
    }
  }
}

class TooManyGuesses extends GatewayError {
  readonly minutes: number

  constructor(waitMs: number) {
    const minutes = Math.ceil(waitMs / 60_000)
    super(
      'RATE_LIMITED',
      `Too many wrong passwords. Try again in ${inMinutes(minutes)}, or ask an administrator.`,
      {
        headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) },
      },
    )
    this.minutes = minutes
  }
}

/** What no source can accept is not passed to one: neither it nor the limit of guesses sees two spellings of one name. */
function isUsable({ username, password }: Credentials): boolean {
  return password !== '' && findNameObjection(username) === undefined
}

function isTooMany(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'RATE_LIMITED'
}

function isUnavailable(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.code === 'LOGIN_UNAVAILABLE'
}

/** Parameters of the query count as well, as in Spring: scripts send them there. */
async function readCredentials(request: FastifyRequest): Promise<Credentials | undefined> {
  const form = await readForm(request, maxFormBytes)
  const query = queryOf(request.url)
  if (form === undefined && !query.has('username')) return undefined
  const read = (name: string) => form?.get(name) ?? query.get(name) ?? ''
  return { username: read('username').trim(), password: read('password') }
}

function noticeOf(query: URLSearchParams): PageNotice | undefined {
  const error = query.get('error')
  if (error === 'wait') return { notice: error, minutes: minutesOf(query.get('minutes')) }
  if (error === 'unavailable' || error === 'expired' || error === 'restricted')
    return { notice: error }
  if (error !== null) return { notice: 'refused' }
  if (query.has('expired')) return { notice: 'session-expired' }
  return query.has('logout') ? { notice: 'signed-out' } : undefined
}

function minutesOf(text: string | null): number | undefined {
  return /^[1-9]\d?$/.test(text ?? '') ? Number(text) : undefined
}
