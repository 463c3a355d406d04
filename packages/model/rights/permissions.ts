/** Answers of the permission service about users, and the roles that resources name. */
import { or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isObject, textOf, textsOf } from '@fairlead/base/json/values.ts'

export type Authorization = 'READ' | 'WRITE' | 'EXECUTE' | 'CREATE'

/** By authorization; undefined: the resource says nothing of them. */
export type RoleLists = Readonly<Record<string, string[]>>

export const permissionFields = {
  name: or(textOf, ''),
  permissions: (value: unknown): RoleLists | undefined =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, roles]) => [key, textsOf(roles)]))
      : undefined,
  /** The older form of `permissions`: roles that may do everything. */
  requiredGroupMembership: textsOf,
}

/** A resource with the roles that it names. */
export const toPermissionRecord = shape(permissionFields)
export type PermissionRecord = ShapeOf<typeof toPermissionRecord>

/** Roles of either form. */
export function rolesIn({
  permissions = {},
  requiredGroupMembership: groups,
}: Pick<PermissionRecord, 'permissions' | 'requiredGroupMembership'>): RoleLists {
  if (groups.length === 0 || Object.keys(permissions).length > 0) return permissions
  return { READ: groups, WRITE: groups }
}

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
