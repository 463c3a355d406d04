/** Reports certificate users to the permission service, with debounce. */
import { BoundedMap } from '../../caches/bounded-map.ts'
import type { User } from '../../http/request-state.ts'
import type { Permissions } from '../../permissions/fiat-permissions.ts'
import type { X509Settings } from './settings.ts'

const attempts = 5
const maxEntries = 10_000

export class LoginReports {
  readonly #permissions: Permissions
  readonly #settings: Pick<X509Settings, 'roleOid' | 'debounceMs'>
  readonly #now: () => number
  /** Until when a user need not be reported again, by name and roles. */
  readonly #reported = new BoundedMap<string, number>(maxEntries)
  readonly #running = new Map<string, Promise<void>>()

  constructor(permissions: Permissions, settings: Pick<X509Settings, 'roleOid' | 'debounceMs'>, now: () => number) {
    this.#permissions = permissions
    this.#settings = settings
    this.#now = now
  }

  /** @throws {GatewayError} LOGIN_UNAVAILABLE */
  async report(user: User): Promise<void> {
    const { debounceMs } = this.#settings
    if (!this.#permissions.enabled) return
    if (debounceMs === undefined) return this.#call(user)
    const key = JSON.stringify([user.username, user.roles])
    const recently = (this.#reported.get(key) ?? Number.NEGATIVE_INFINITY) > this.#now()
    // Users that the permission service has forgotten meanwhile are reported at once.
    if (recently && (await this.#permissions.lookUp(user)).kind === 'view') return
    await (this.#running.get(key) ?? this.#start(key, user, debounceMs))
  }

  /** Requests that come in together share one report. */
  #start(key: string, user: User, debounceMs: number): Promise<void> {
    const running = this.#call(user)
      .then(() => void this.#reported.set(key, this.#now() + debounceMs))
      .finally(() => this.#running.delete(key))
    this.#running.set(key, running)
    return running
  }

  /** Roles are reported when the certificate can bring any; else only that the user was here. */
  #call(user: User): Promise<void> {
    return this.#settings.roleOid === undefined
      ? this.#permissions.reportLogin({ ...user, roles: [] }, { call: 'roles-if-any', attempts })
      : this.#permissions.reportLogin(user, { call: 'roles', attempts })
  }
}
