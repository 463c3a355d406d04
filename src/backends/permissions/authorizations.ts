/** Authorizations on a resource, and the roles that hold them. @see docs/contracts/permissions.md#model */
import type { Authorization } from '../../permissions/permissions.ts'

export const authorizations = ['READ', 'WRITE', 'EXECUTE', 'CREATE'] as const satisfies readonly Authorization[]

/** Roles that hold each authorization, in lower case; no entry at all means unrestricted. */
export type RolesByAuthorization = Partial<Record<Authorization, string[]>>

/** Every role that one of them names. */
export function addPermissions(parts: readonly RolesByAuthorization[]): RolesByAuthorization {
  const sum: RolesByAuthorization = {}
  for (const authorization of authorizations) {
    const roles = new Set(parts.flatMap((part) => part[authorization] ?? []))
    if (roles.size > 0) sum[authorization] = [...roles]
  }
  return sum
}

/** Without any list all users may do everything; with one, each authorization needs a role of its own list. */
export function grantedBy(permissions: RolesByAuthorization, roles: readonly string[]): Authorization[] {
  if (Object.keys(permissions).length === 0) return [...authorizations]
  return authorizations.filter((authorization) => permissions[authorization]?.some((role) => roles.includes(role)))
}
