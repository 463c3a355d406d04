/** Who may do what, as the rest of the gateway asks: the view of the permission service, cached, and questions about it. */
import type { User } from '../http/request-state.ts'

export type Authorization = 'READ' | 'WRITE' | 'EXECUTE' | 'CREATE'

/** What the permission service (fiat) says about one user; see HTTP conventions, section 4.5. */
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

export interface Permissions {
  /** Whether a permission service decides; while it is off, every check passes and nobody is administrator. */
  readonly enabled: boolean
  /** The cached view (20 s); undefined when the service cannot say, which means no rights. */
  viewOf(user: User): Promise<PermissionView | undefined>
  isAdmin(user: User | undefined): Promise<boolean>
  /** Whether the user holds the authorization on an application; names are compared without case. */
  mayOnApplication(user: User, application: string, authorization: Authorization): Promise<boolean>
  /** Reports a login with the roles learnt, drops the cached view. @throws {GatewayError} LOGIN_UNAVAILABLE */
  reportLogin(user: User): Promise<void>
  /** Drops the user's permissions in the service and the cached view. Failures are logged. */
  reportLogout(username: string): Promise<void>
  /** Asks the service to re-read roles. @throws {GatewayError} UPSTREAM_FAILED with its status */
  syncRoles(): Promise<void>
  close(): void
}
