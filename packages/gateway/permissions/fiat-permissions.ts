/** Client of the permission service: caches views, joins concurrent lookups, reports logins. */
import { hash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { createCache, type ExpiringCache } from '@fairlead/base/caches/expiring-cache.ts'
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { fallbackView, parsePermissionView } from '@fairlead/model/rights/permission-view.ts'
import type {
  Enforcement,
  LoginReport,
  PermissionAnswer,
  PermissionView,
} from '@fairlead/model/rights/permissions.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { User } from '../http/request-state.ts'
import {
  checkDone,
  readJson,
  type UpstreamAnswer,
  upstreamFailed,
} from '../upstreams/answer-form.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { UpstreamCall } from '../upstreams/upstream-call.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { permissionsUnavailable } from './permission-errors.ts'
import { loadServiceAccounts } from './service-accounts.ts'
import type { PermissionSettings } from './settings.ts'
import type { SwitchPositions } from './switches.ts'
import { type LookupResult, ViewLookups } from './view-lookups.ts'

interface PermissionsOptions {
  settings: PermissionSettings
  upstreams: Upstreams
  /** Where logins, logouts and synchronisation go when `dynamicEndpoints.login` names another address than for reads. */
  loginUpstreams?: Upstreams
  switches?: SwitchPositions
  log: FastifyBaseLogger
  /** Changes with every change of permissions that this process makes; what is remembered from before does not count. */
  version?: () => number
  onSynchronised?: (outcome: 'done' | 'failed') => void
  now?: () => number
}

interface CachedView {
  readonly answer: Extract<PermissionAnswer, { kind: 'view' }>
  readonly version: number
}

const reportIntervalMs = 2000
/** A logout is over for the user before the permission service has taken note of it. */
const logoutWaitMs = 500
/** Who starts a synchronisation learns its outcome if it is known this soon. */
const syncAnswerMs = 700

const always: LoginReport = { call: 'roles', attempts: 1 }

/** Without a permission service it answers that everything is allowed. */
export class Permissions {
  readonly #settings: PermissionSettings
  readonly #upstreams: Upstreams
  readonly #loginUpstreams: Upstreams
  readonly #log: FastifyBaseLogger
  readonly #version: () => number
  readonly #views: ExpiringCache<CachedView>
  readonly #switches: SwitchPositions
  readonly #lookups: ViewLookups
  readonly #onSynchronised: (outcome: 'done' | 'failed') => void
  readonly #synchroniseOnce = sharedWork(() => this.#synchronise())
  readonly #digests = new WeakMap<PermissionView, string>()
  readonly #closing = new AbortController()

  constructor(options: PermissionsOptions) {
    const {
      settings,
      upstreams,
      loginUpstreams = upstreams,
      log,
      version = () => 0,
      now = Date.now,
    } = options
    this.#version = version
    this.#settings = settings
    this.#views = createCache({
      maxSize: settings.cacheMaxEntries,
      ttlMs: settings.cacheTtlMs,
      now,
    })
    this.#switches = options.switches ?? settings
    this.#upstreams = upstreams
    this.#loginUpstreams = loginUpstreams
    this.#log = log
    this.#lookups = new ViewLookups({
      ask: (username, signal) => this.#askOnce(username, signal),
      cache: (key, view, ofVersion) =>
        void this.#views.set(key, { answer: { kind: 'view', view }, version: ofVersion }),
      version,
      comesBack: upstreams.traitsOf('fiat').comesBack,
      settings,
      log,
      now,
    })
    this.#onSynchronised = options.onSynchronised ?? (() => {})
  }

  /** Whether a permission service decides; while it is off, every check passes and there are no administrators. */
  get enabled(): boolean {
    return (
      this.#upstreams.isEnabled('fiat') &&
      (this.#switches.enabled || this.#upstreams.traitsOf('fiat').decidesAlways)
    )
  }

  /** Who checks what external services answer; what embedded ones answer is checked at the gateway in any case. */
  get enforcement(): Enforcement {
    return this.#settings.enforcement
  }

  get sessionFilter(): boolean {
    return this.#settings.sessionFilter
  }

  /**
   * The cached answer at once, or a fresh one: after 20 s, and as soon as the embedded services have changed a permission. Never
   * fails, and says within a bound that the service cannot say.
   */
  lookUp(user: User): PermissionAnswer | Promise<PermissionAnswer> {
    if (!this.enabled) return { kind: 'unknown' }
    const key = toUserKey(user.username)
    const version = this.#version()
    const cached = this.#views.get(key)
    if (cached?.version === version) return cached.answer
    return this.#ask(user, key, version)
  }

  async #ask(user: User, key: string, version: number): Promise<PermissionAnswer> {
    const answer = await this.#lookups.find(key, { username: user.username, version })
    if (answer.kind !== 'unavailable') return answer
    const lastKnown = this.#lastKnown(key, version)
    if (lastKnown !== undefined) return { kind: 'view', view: lastKnown }
    return this.#switches.legacyFallback
      ? { kind: 'view', view: fallbackView(user.username, user.allowedAccounts) }
      : answer
  }

  /** The cached view; undefined when the service knows no such user or cannot say, which means no rights. */
  async viewOf(user: User): Promise<PermissionView | undefined> {
    const answer = await this.lookUp(user)
    return answer.kind === 'view' ? answer.view : undefined
  }

  /** The view of a user; undefined for an unknown one. @throws {GatewayError} PERMISSIONS_UNAVAILABLE when the service cannot say */
  async loadView(user: User | undefined): Promise<PermissionView | undefined> {
    if (user === undefined) return undefined
    const answer = await this.lookUp(user)
    if (answer.kind === 'unavailable') throw permissionsUnavailable(answer.cause)
    return answer.kind === 'view' ? answer.view : undefined
  }

  /**
   * What a user with these roles might do. Undefined where the service cannot suppose roles.
   *
   * @throws {GatewayError} PERMISSIONS_UNAVAILABLE
   */
  async viewWithRoles(
    { username }: User,
    roles: readonly string[],
  ): Promise<PermissionView | undefined> {
    if (!this.enabled || !this.#upstreams.traitsOf('fiat').supposesRoles) return undefined
    const signal = this.#within(this.#settings.lookupTimeoutMs)
    const call = { path: pathTo`/authorize/${username}`, query: { roles: roles.join(',') }, signal }
    try {
      return this.#readView(await this.#upstreams.call('fiat', call, anonymousIdentity), username)
    } catch (cause) {
      throw permissionsUnavailable(cause)
    }
  }

  async isAdmin(user: User | undefined): Promise<boolean> {
    return this.enabled && (await this.loadView(user))?.admin === true
  }

  /**
   * Whether the service lets the user create the application, for installations that restrict that.
   *
   * @param roles Supposed, instead of those of the user
   * @throws {GatewayError} PERMISSIONS_UNAVAILABLE; UPSTREAM_FAILED when the service does not understand the question
   */
  async mayCreateApplication(
    user: User,
    application: string,
    roles?: readonly string[],
  ): Promise<boolean> {
    if (!this.enabled) return true
    const call = {
      method: 'POST',
      path: pathTo`/authorize/${user.username}/applications/create`,
      ...(roles !== undefined && { query: { roles: roles.join(',') } }),
      body: { name: application },
      signal: this.#within(this.#settings.lookupTimeoutMs),
    } as const
    let answer: UpstreamAnswer
    try {
      answer = await this.#upstreams.call('fiat', call, anonymousIdentity)
      if (answer.status >= 500) throw upstreamFailed('fiat', answer)
    } catch (cause) {
      if (this.#switches.legacyFallback) return true
      throw permissionsUnavailable(cause)
    }
    if (answer.status === 404) return false
    checkDone(answer, 'fiat')
    return true
  }

  /** Reports a login with the roles learnt, drops the cached view. @throws {GatewayError} LOGIN_UNAVAILABLE, USER_NAME_REFUSED */
  async reportLogin(user: User, report: LoginReport = always): Promise<void> {
    if (!this.enabled) return
    const path = pathTo`/roles/${user.username}`
    const call: UpstreamCall =
      report.call === 'roles-if-any' && user.roles.length === 0
        ? { method: 'POST', path }
        : { method: 'PUT', path, body: user.roles }
    try {
      await this.#checkAvailable(user)
      await this.#report(call, report.attempts)
    } catch (cause) {
      if (statusOf(cause) === undefined) this.#lookups.noteFailure(cause)
      if (!this.#switches.legacyFallback) {
        if (refusesUser(cause)) {
          const message = `The permission service accepts no user of this name: ${cause.message}`
          throw new GatewayError('USER_NAME_REFUSED', message, { cause })
        }
        throw new GatewayError('LOGIN_UNAVAILABLE', whyLoginsFail(cause), {
          cause,
          headers: { 'retry-after': '5' },
        })
      }
      this.#log.warn(
        { err: cause, user: user.username },
        'a login could not be reported; legacyFallback lets it pass',
      )
    } finally {
      this.#forget(toUserKey(user.username))
    }
  }

  /** Drops the user's permissions in the service and the cached view, after the user's last session. Waits for a moment at most; failures are logged. */
  async reportLogout(username: string): Promise<void> {
    // Runs and schedules of the user go on.
    if (!this.enabled || this.#upstreams.traitsOf('fiat').learnsRolesFromLogins) return
    const key = toUserKey(username)
    this.#forget(key)
    const reported = this.#report({ method: 'DELETE', path: pathTo`/roles/${username}` }, 1)
      .catch((error: unknown) =>
        this.#log.warn(
          { err: error, user: username },
          'a logout could not be reported to the permission service',
        ),
      )
      .finally(() => this.#forget(key))
    await within(logoutWaitMs, reported)
  }

  /**
   * Names of the service accounts that the user may use; with an application, those that may use it, or all of the
   * user's when none fits or the service is unavailable (docs/contracts/permissions.md#service-accounts). Never fails.
   */
  async serviceAccountsOf(user: User, application?: string): Promise<string[]> {
    if (!this.enabled) return []
    const names = (await this.viewOf(user))?.serviceAccounts.map(({ name }) => name) ?? []
    const { enabled, matchAuthorizations } = this.#settings.serviceAccountFilter
    if (!enabled || application === undefined || application.trim() === '') return names
    const path = pathTo`/authorize/${user.username}/serviceAccounts`
    const signal = this.#within(this.#settings.lookupTimeoutMs)
    const load = () =>
      this.#upstreams.call('fiat', { path, query: { expand: 'true' }, signal }, anonymousIdentity)
    const fitting = await loadServiceAccounts(load, application, matchAuthorizations)
    return fitting === undefined || fitting.length === 0 ? names : fitting
  }

  /**
   * Asks the service to re-read roles, or joins the synchronisation that runs, and returns within a second: what takes
   * longer goes on by itself. @throws {GatewayError} UPSTREAM_FAILED with the status of a failure within that time
   */
  async syncRoles(): Promise<void> {
    if (!this.enabled) return
    const synchronising = this.#synchroniseOnce()
    synchronising.catch(() => {})
    await within(syncAnswerMs, synchronising)
  }

  close(): void {
    this.#closing.abort()
    this.#lookups.close()
    this.#views.clear()
  }

  async #synchronise(): Promise<void> {
    const { syncTimeoutMs: readTimeoutMs } = this.#settings
    const startedAtMs = performance.now()
    const call = {
      method: 'POST',
      path: '/roles/sync',
      body: [],
      signal: this.#closing.signal,
      readTimeoutMs,
    } as const
    const durationMs = () => Math.round(performance.now() - startedAtMs)
    try {
      // A failed one may have changed some users before it failed.
      const asked = this.#loginUpstreams
        .call('fiat', call, anonymousIdentity)
        .finally(() => this.#forget(undefined))
      checkDone(await asked, 'fiat')
    } catch (error) {
      this.#log.warn(
        { err: error, durationMs: durationMs() },
        'the roles could not be synchronised',
      )
      this.#onSynchronised('failed')
      throw error
    }
    this.#log.info({ durationMs: durationMs() }, 'the roles are synchronised')
    this.#onSynchronised('done')
  }

  /** `mayPass`: asking again may help. A status below 500 is the final word. */
  async #askOnce(username: string, signal: AbortSignal): Promise<LookupResult> {
    let answer: UpstreamAnswer | undefined
    try {
      answer = await this.#upstreams.call(
        'fiat',
        { path: pathTo`/authorize/${username}`, signal },
        anonymousIdentity,
      )
      if (answer.status === 404) return { answer: { kind: 'unknown' }, mayPass: false }
      return { answer: { kind: 'view', view: this.#readView(answer, username) }, mayPass: false }
    } catch (cause) {
      return {
        answer: { kind: 'unavailable', cause },
        mayPass: answer === undefined || answer.status >= 500,
      }
    }
  }

  /** The cached view, if the service has said the same again: what others derive from a view is kept with it. */
  #readView(answer: UpstreamAnswer, username: string): PermissionView {
    const digest = hash('sha1', answer.text)
    const cached = this.#views.peek(toUserKey(username), { allowStale: true })?.answer.view
    if (cached !== undefined && answer.status === 200 && this.#digests.get(cached) === digest)
      return cached
    const view = parsePermissionView(readJson(answer, 'fiat'), username)
    this.#digests.set(view, digest)
    return view
  }

  /** While the service is known to be in trouble, a short question shows whether a report is worth sending. */
  async #checkAvailable({ username }: User): Promise<void> {
    if (!this.#lookups.isFailing) return
    const answer = await this.#lookups.find(toUserKey(username), {
      username,
      version: this.#version(),
    })
    if (answer.kind === 'unavailable') throw answer.cause
  }

  async #report(call: UpstreamCall, wanted: number): Promise<void> {
    // It may be restarting, and to report twice changes nothing.
    const attempts = this.#upstreams.traitsOf('fiat').comesBack ? Math.max(wanted, 2) : wanted
    const signal = this.#within(this.#settings.loginTimeoutMs)
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#loginUpstreams.call(
          'fiat',
          { ...call, signal },
          anonymousIdentity,
        )
        return checkDone(answer, 'fiat')
      } catch (error) {
        if (attempt >= attempts || signal.aborted || isFinal(error)) throw error
      }
      await wait(reportIntervalMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  #within(ms: number): AbortSignal {
    return AbortSignal.any([AbortSignal.timeout(ms), this.#closing.signal])
  }

  /** What the service said last, while that still counts although it cannot be asked again. */
  #lastKnown(key: string, version: number): PermissionView | undefined {
    const cached = this.#views.peek(key, { allowStale: true })
    if (cached?.version !== version) return undefined
    return this.#views.getRemainingTTL(key) + this.#settings.lastKnownForMs > 0
      ? cached.answer.view
      : undefined
  }

  #forget(userKey: string | undefined): void {
    if (userKey === undefined) {
      this.#views.clear()
      this.#lookups.forgetAll()
    } else {
      this.#views.delete(userKey)
      this.#lookups.forget(userKey)
    }
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof GatewayError ? error.details.upstream?.status : undefined
}

function isFinal(error: unknown): boolean {
  const status = statusOf(error) ?? 500
  return status >= 400 && status < 500 && ![408, 425, 429].includes(status)
}

/** Other statuses below 500 speak of the address, or of the rights of the gateway. */
function refusesUser(error: unknown): error is GatewayError {
  return [400, 409, 422].includes(statusOf(error) ?? 500)
}

function whyLoginsFail(cause: unknown): string {
  if (statusOf(cause) === 507)
    return 'The permission service cannot store the roles of this login: its disk is full.'
  return 'The permission service does not answer, so logins fail. Try again in a moment.'
}
