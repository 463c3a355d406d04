/** Permissions of an application as rows: a role, and which rights it has. */
import { objectOf, textsOf } from '@fairlead/base/json/values.ts'

const rights = ['READ', 'EXECUTE', 'WRITE'] as const
type ApplicationRight = (typeof rights)[number]

export interface RoleRights {
  readonly role: string
  readonly has: readonly string[]
}

/** In the order in which roles appear. */
export function toRoleRights(permissions: unknown): readonly RoleRights[] {
  const given = objectOf(permissions)
  const roles = new Set(rights.flatMap((right) => textsOf(given[right]).filter(Boolean)))
  return [...roles].map((role) => ({
    role,
    has: rights.filter((right) => textsOf(given[right]).includes(role)),
  }))
}

/** Rights that the rows do not show stay; roles without any right are left out. */
export function toPermissions(
  rows: readonly RoleRights[],
  before: unknown,
): Record<string, readonly string[]> {
  const others = Object.entries(objectOf(before)).filter(
    ([right]) => !(rights as readonly string[]).includes(right),
  )
  const given = rights
    .map((right) => [right, [...new Set(holders(rows, right))]] as const)
    .filter(([, roles]) => roles.length > 0)
  return Object.fromEntries([
    ...others.map(([right, roles]) => [right, textsOf(roles)] as const),
    ...given,
  ])
}

/** Without any role, every user has every right. */
export function isOpen(rows: readonly RoleRights[]): boolean {
  return rights.every((right) => holders(rows, right).length === 0)
}

/** Rights that no role has, so that only administrators have them. */
export function unheldRights(rows: readonly RoleRights[]): readonly ApplicationRight[] {
  return isOpen(rows) ? [] : rights.filter((right) => effectiveHolders(rows, right).length === 0)
}

/** Rights that a user with these roles would not have. Roles are compared without regard to case. */
export function lostRights(
  rows: readonly RoleRights[],
  roles: readonly string[],
): readonly ApplicationRight[] {
  if (isOpen(rows)) return []
  const own = new Set(roles.map((role) => role.toLowerCase()))
  return rights.filter(
    (right) => !effectiveHolders(rows, right).some((role) => own.has(role.toLowerCase())),
  )
}

function holders(rows: readonly RoleRights[], right: ApplicationRight) {
  return rows.flatMap(({ role, has }) =>
    role.trim() !== '' && has.includes(right) ? [role.trim()] : [],
  )
}

/** Who may read may start, unless roles are named for that. */
function effectiveHolders(rows: readonly RoleRights[], right: ApplicationRight) {
  const named = holders(rows, right)
  return right === 'EXECUTE' && named.length === 0 ? holders(rows, 'READ') : named
}
