/** The client of the permission service: remembers views for some seconds, asks once for many, and reports logins. */
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { GatewayError } from '../errors.ts'
import { pathTo } from '../http/encode-path.ts'
import type { User } from '../http/request-state.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import { readJson, type UpstreamAnswer, type UpstreamCall, type Upstreams, upstreamFailed } from '../upstreams/upstreams.ts'
import { fallbackView, grantsOnApplication, parsePermissionView } from './permission-view.ts'
import type { Authorization, Enforcement, LoginReport, PermissionAnswer, Permissions, PermissionView } from './permissions.ts'
import { loadServiceAccounts } from './service-accounts.ts'
import type { PermissionSettings } from './settings.ts'

export interface PermissionsOptions {
  settings: PermissionSettings
  upstreams: Upstreams
  /** Where logins, logouts and synchronisation go when `dynamicEndpoints.login` names another address than for reads. */
  loginUpstreams?: Upstreams
  log: FastifyBaseLogger
  /** Changes with every change of permissions that this process makes; what is remembered from before does not count. */
  version?: () => number
  /** Milliseconds since the epoch. */
  now?: () => number
}

/** While the service was just found dead, users are not made to wait for its whole retry again. */
const deadForMs = 10_000
const reportIntervalMs = 2000

const always: LoginReport = { call: 'roles', attempts: 1 }

class FiatPermissions implements Permissions {
  readonly #settings: PermissionSettings
  readonly #upstreams: Upstreams
  readonly #loginUpstreams: Upstreams
  readonly #log: FastifyBaseLogger
  readonly #now: () => number
  readonly #version: () => number
  readonly #views = new Map<string, { view: PermissionView; untilMs: number; version: number }>()
  readonly #asking = new Map<string, { answer: Promise<PermissionAnswer>; version: number }>()
  readonly #closing = new AbortController()
  #deadSinceMs = Number.NEGATIVE_INFINITY

  constructor({ settings, upstreams, loginUpstreams = upstreams, log, version = () => 0, now = Date.now }: PermissionsOptions) {
    this.#version = version
    this.#settings = settings
    this.#upstreams = upstreams
    this.#loginUpstreams = loginUpstreams
    this.#log = log
    this.#now = now
  }

  get enabled(): boolean {
    return this.#upstreams.isEnabled('fiat')
  }

  get enforcement(): Enforcement {
    return this.#settings.enforcement
  }

  get sessionFilter(): boolean {
    return this.#settings.sessionFilter
  }

  async lookUp(user: User): Promise<PermissionAnswer> {
    if (!this.enabled) return { kind: 'unknown' }
    const key = toUserId(user.username)
    const version = this.#version()
    const remembered = this.#views.get(key)
    if (remembered !== undefined && remembered.untilMs > this.#now() && remembered.version === version)
      return { kind: 'view', view: remembered.view }
    const asked = this.#asking.get(key)
    const asking = asked?.version === version ? asked.answer : this.#ask(key, user.username, version)
    const answer = await asking
    if (answer.kind !== 'unavailable' || !this.#settings.legacyFallback) return answer
    return { kind: 'view', view: fallbackView(user.username, user.allowedAccounts) }
  }

  async viewOf(user: User): Promise<PermissionView | undefined> {
    const answer = await this.lookUp(user)
    return answer.kind === 'view' ? answer.view : undefined
  }

  async isAdmin(user: User | undefined): Promise<boolean> {
    return this.enabled && user !== undefined && (await this.viewOf(user))?.admin === true
  }

  async mayOnApplication(user: User, application: string, authorization: Authorization): Promise<boolean> {
    if (!this.enabled) return true
    const view = await this.viewOf(user)
    return view !== undefined && grantsOnApplication(view, application, authorization)
  }

  async mayCreateApplication(user: User, application: string): Promise<boolean> {
    if (!this.enabled) return true
    const path = pathTo`/authorize/${user.username}/applications/create`
    const answer = await this.#upstreams.call('fiat', { method: 'POST', path, body: { name: application } }, anonymousIdentity)
    if (answer.status === 404) return false
    if (answer.status >= 300) throw upstreamFailed('fiat', answer.status, answer.text)
    return true
  }

  async reportLogin(user: User, report: LoginReport = always): Promise<void> {
    if (!this.enabled) return
    const path = pathTo`/roles/${user.username}`
    const call: UpstreamCall =
      report.call === 'roles-if-any' && user.roles.length === 0
        ? { method: 'POST', path }
        : { method: 'PUT', path, body: user.roles }
    try {
      await this.#report(call, report.attempts)
    } catch (cause) {
      if (!this.#settings.legacyFallback) {
        throw new GatewayError(
          'LOGIN_UNAVAILABLE',
          'The permission service does not answer, so nobody can log in. Try again later.',
          {
            cause,
          },
        )
      }
      this.#log.warn({ err: cause, user: user.username }, 'a login could not be reported; legacyFallback lets it pass')
    } finally {
      this.#forget(user.username)
    }
  }

  async reportLogout(username: string): Promise<void> {
    if (!this.enabled) return
    try {
      await this.#report({ method: 'DELETE', path: pathTo`/roles/${username}` }, 1)
    } catch (error) {
      this.#log.warn({ err: error, user: username }, 'a logout could not be reported to the permission service')
    } finally {
      this.#forget(username)
    }
  }

  async serviceAccountsOf(user: User, application?: string): Promise<string[]> {
    if (!this.enabled) return []
    const names = (await this.viewOf(user))?.serviceAccounts.map(({ name }) => name) ?? []
    const { enabled, matchAuthorizations } = this.#settings.serviceAccountFilter
    if (!enabled || application === undefined || application.trim() === '') return names
    const path = pathTo`/authorize/${user.username}/serviceAccounts`
    const load = () => this.#upstreams.call('fiat', { path, query: { expand: 'true' } }, anonymousIdentity)
    const fitting = await loadServiceAccounts(load, application, matchAuthorizations)
    return fitting === undefined || fitting.length === 0 ? names : fitting
  }

  async syncRoles(): Promise<void> {
    if (!this.enabled) return
    const answer = await this.#loginUpstreams.call('fiat', { method: 'POST', path: '/roles/sync', body: [] }, anonymousIdentity)
    if (answer.status >= 300) throw upstreamFailed('fiat', answer.status, answer.text)
    this.#views.clear()
  }

  close(): void {
    this.#closing.abort()
    this.#views.clear()
  }

  /** One question at a time for a user, however many requests wait for the answer. */
  #ask(key: string, username: string, version: number): Promise<PermissionAnswer> {
    const asking = this.#askWithRetry(username)
      .then((answer) => {
        // A login or logout meanwhile has made this answer old: it serves those who wait, and nobody after them.
        if (this.#asking.get(key)?.answer === asking && answer.kind === 'view') this.#remember(key, answer.view, version)
        return answer
      })
      .finally(() => {
        if (this.#asking.get(key)?.answer === asking) this.#asking.delete(key)
      })
    this.#asking.set(key, { answer: asking, version })
    return asking
  }

  async #askWithRetry(username: string): Promise<PermissionAnswer> {
    const { initialBackoffMs, multiplier, maxElapsedMs } = this.#settings.retry
    const startedAtMs = performance.now()
    const budgetMs = this.#now() - this.#deadSinceMs < deadForMs ? 0 : maxElapsedMs
    for (let backoffMs = initialBackoffMs; ; backoffMs *= multiplier) {
      const { answer, mayPass } = await this.#askOnce(username)
      if (answer.kind !== 'unavailable') {
        this.#deadSinceMs = Number.NEGATIVE_INFINITY
        return answer
      }
      if (!mayPass || this.#closing.signal.aborted || performance.now() - startedAtMs + backoffMs > budgetMs) {
        if (mayPass) this.#deadSinceMs = this.#now()
        this.#log.warn({ err: answer.cause, user: username }, 'the permission service does not say what a user may do')
        return answer
      }
      await wait(backoffMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {})
    }
  }

  /** `mayPass`: asking again may help. A status below 500 is the final word. */
  async #askOnce(username: string): Promise<{ answer: PermissionAnswer; mayPass: boolean }> {
    let answer: UpstreamAnswer | undefined
    try {
      answer = await this.#upstreams.call('fiat', { path: pathTo`/authorize/${username}` }, anonymousIdentity)
      if (answer.status === 404) return { answer: { kind: 'unknown' }, mayPass: false }
      return { answer: { kind: 'view', view: parsePermissionView(readJson(answer, 'fiat'), username) }, mayPass: false }
    } catch (cause) {
      return { answer: { kind: 'unavailable', cause }, mayPass: answer === undefined || answer.status >= 500 }
    }
  }

  async #report(call: UpstreamCall, attempts: number): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#loginUpstreams.call('fiat', call, anonymousIdentity)
        if (answer.status < 300) return
        throw upstreamFailed('fiat', answer.status, answer.text)
      } catch (error) {
        if (attempt >= attempts || this.#closing.signal.aborted) throw error
      }
      await wait(reportIntervalMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {})
    }
  }

  #remember(key: string, view: PermissionView, version: number): void {
    this.#views.delete(key)
    this.#views.set(key, { view, untilMs: this.#now() + this.#settings.cacheTtlMs, version })
    if (this.#views.size > this.#settings.cacheMaxEntries) {
      const [oldest] = this.#views.keys()
      if (oldest !== undefined) this.#views.delete(oldest)
    }
  }

  #forget(username: string): void {
    const key = toUserId(username)
    this.#views.delete(key)
    this.#asking.delete(key)
  }
}

/** Opens the client; without a permission service it answers that everything is allowed. */
export function openPermissions(options: PermissionsOptions): Permissions {
  return new FiatPermissions(options)
}

/** The permission service does not tell upper from lower case in user ids either. */
function toUserId(username: string): string {
  return username.toLowerCase()
}
