/** Roles with their origin, and the normal form of names. */

/** The words of Fiat: brought by the login, listed in a file, or groups of a directory. */
type RoleOrigin = 'EXTERNAL' | ProvidedOrigin
export type ProvidedOrigin = 'FILE' | 'LDAP'

export interface HeldRole {
  /** Trimmed, in lower case. */
  name: string
  source: RoleOrigin
}

/** What a user has: each role once, whatever number of sources gives it; as in Fiat, the provider is named before the login. */
export function mergeRoles(
  external: readonly string[],
  provided: readonly string[],
  origin: ProvidedOrigin | undefined,
): HeldRole[] {
  const merged = new Map<string, HeldRole>()
  if (origin !== undefined)
    for (const name of toRoleNames(provided)) merged.set(name, { name, source: origin })
  for (const name of toRoleNames(external))
    if (!merged.has(name)) merged.set(name, { name, source: 'EXTERNAL' })
  return [...merged.values()]
}

export function toRoleNames(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => name.trim().toLowerCase()))].filter((role) => role !== '')
}
