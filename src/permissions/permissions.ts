/** Permissions as other parts use them: cached views and questions about them. */
import type { User } from '../http/request-state.ts'

export type Authorization = 'READ' | 'WRITE' | 'EXECUTE' | 'CREATE'

/** What the permission service (fiat) says about one user; see docs/contracts/permissions.md#permission-service. */
export interface PermissionView {
  readonly name: string
  readonly admin: boolean
  readonly accountManager?: boolean
  readonly accounts: readonly ResourceView[]
  readonly applications: readonly ResourceView[]
  readonly buildServices?: readonly ResourceView[]
  readonly serviceAccounts: readonly { name: string; memberOf?: readonly string[] }[]
  readonly roles: readonly { name: string; source?: string }[]
  readonly legacyFallback?: boolean
  readonly allowAccessToUnknownApplications?: boolean
}

export interface ResourceView {
  readonly name: string
  readonly authorizations: readonly Authorization[]
}

/** Permissions of a user; an unknown user and an unavailable service are different results. */
export type PermissionAnswer =
  | { kind: 'view'; view: PermissionView }
  | { kind: 'unknown' }
  | { kind: 'unavailable'; cause: unknown }

/** How a login method tells the permission service about a login (docs/contracts/authentication.md#order-of-a-login). */
export interface LoginReport {
  /** `roles`: always with the roles learnt; `roles-if-any`: without a body when there are none. */
  readonly call: 'roles' | 'roles-if-any'
  readonly attempts: number
}

/** Who checks permissions: see `permissions.enforce`. */
export type Enforcement = 'gateway' | 'services' | 'both'

export interface Permissions {
  /** Who checks what external services answer; what embedded ones answer is checked at the gateway in any case. */
  readonly enforcement: Enforcement
  /** Whether a permission service decides; while it is off, every check passes and there are no administrators. */
  readonly enabled: boolean
  /** Whether the session of a user ends when the service reports the user as unknown. */
  readonly sessionFilter: boolean
  /**
   * The cached answer at once, or a fresh one: after 20 s, and as soon as the embedded services have changed a permission. Never
   * fails, and says within a bound that the service cannot say.
   */
  lookUp(user: User): PermissionAnswer | Promise<PermissionAnswer>
  /** The cached view; undefined when the service knows no such user or cannot say, which means no rights. */
  viewOf(user: User): Promise<PermissionView | undefined>
  /** @throws {GatewayError} PERMISSIONS_UNAVAILABLE */
  isAdmin(user: User | undefined): Promise<boolean>
  /**
   * Whether the user holds the authorization on an application; names are compared without case.
   *
   * @throws {GatewayError} PERMISSIONS_UNAVAILABLE
   */
  mayOnApplication(user: User, application: string, authorization: Authorization): Promise<boolean>
  /**
   * Whether the service lets the user create the application, for installations that restrict that.
   *
   * @throws {GatewayError} PERMISSIONS_UNAVAILABLE; UPSTREAM_FAILED when the service does not understand the question
   */
  mayCreateApplication(user: User, application: string): Promise<boolean>
  /** Reports a login with the roles learnt, drops the cached view. @throws {GatewayError} LOGIN_UNAVAILABLE, USER_NAME_REFUSED */
  reportLogin(user: User, report?: LoginReport): Promise<void>
  /** Drops the user's permissions in an external service and the cached view, after the user's last session. Waits for a moment at most; failures are logged. */
  reportLogout(username: string): Promise<void>
  /**
   * Names of the service accounts that the user may use; with an application, those that may use it, or all of the
   * user's when none fits or the service is unavailable (docs/contracts/permissions.md#service-accounts). Never fails.
   */
  serviceAccountsOf(user: User, application?: string): Promise<string[]>
  /**
   * Asks the service to re-read roles, or joins the synchronisation that runs, and returns within a second: what takes
   * longer goes on by itself. @throws {GatewayError} UPSTREAM_FAILED with the status of a failure within that time
   */
  syncRoles(): Promise<void>
  close(): void
}
