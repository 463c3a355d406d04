/** Authorizations on a resource, and the roles that hold them. @see docs/contracts/permissions.md#model */
import { textsOf } from '@fairlead/base/json/values.ts'
import type { Authorization } from '@fairlead/model/rights/permissions.ts'
import { toRoleNames } from './roles.ts'

export const authorizations = [
  'READ',
  'WRITE',
  'EXECUTE',
  'CREATE',
] as const satisfies readonly Authorization[]

/** Roles that hold each authorization, in lower case; no entry at all means unrestricted. */
export type RolesByAuthorization = Partial<Record<Authorization, string[]>>

/** Roles as they are compared; an authorization without roles is left out. */
export function toPermissions(
  listed: { readonly [A in Authorization]?: unknown },
): RolesByAuthorization {
  const permissions: RolesByAuthorization = {}
  for (const authorization of authorizations) {
    const roles = toRoleNames(textsOf(listed[authorization]))
    if (roles.length > 0) permissions[authorization] = roles
  }
  return permissions
}

export function addPermissions(parts: readonly RolesByAuthorization[]): RolesByAuthorization {
  const all = authorizations.map((authorization) => [
    authorization,
    parts.flatMap((part) => part[authorization] ?? []),
  ])
  return toPermissions(Object.fromEntries(all))
}

/** Without any list all users may do everything; with one, each authorization needs a role of its own list. */
export function grantedBy(
  permissions: RolesByAuthorization,
  roles: readonly string[],
): Authorization[] {
  if (Object.keys(permissions).length === 0) return [...authorizations]
  return authorizations.filter((authorization) =>
    permissions[authorization]?.some((role) => roles.includes(role)),
  )
}
