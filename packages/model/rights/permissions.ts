/** Answers of the permission service about users. */

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
  /** Applications that name no roles are only read. Never said by Fiat. */
  readonly readsOnly?: boolean
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

/** How a login method reports a login to the permission service (docs/contracts/authentication.md#order-of-a-login). */
export interface LoginReport {
  /** `roles`: always with the roles learnt; `roles-if-any`: without a body when there are none. */
  readonly call: 'roles' | 'roles-if-any'
  readonly attempts: number
}

/** Who checks permissions: see `permissions.enforce`. */
export type Enforcement = 'gateway' | 'services' | 'both'
