/** Sources of roles besides the login: a file, or a directory. */
import type { ProvidedOrigin } from './roles.ts'
import type { RoleSourceSettings } from './settings.ts'

export interface RoleSource {
  /** Whether the known roles of all users may be outdated, as far as a cheap check shows. */
  hasChanged?(): boolean
  /** Never fails: what cannot be said is left out. @param users By their keys */
  load(users: readonly string[]): Promise<LoadedRoles>
  close?(): void
}

export interface LoadedRoles {
  readonly roles: ReadonlyMap<string, readonly string[]>
  /** Why this is not what stands there now. */
  readonly problem?: string
}

export function roleOriginOf(settings: RoleSourceSettings | undefined): ProvidedOrigin | undefined {
  return settings && (settings.kind === 'file' ? 'FILE' : 'LDAP')
}
