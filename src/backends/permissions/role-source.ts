/** Where roles come from besides the login: a file, or a directory. */
import type { DirectorySettings } from '../../directory/settings.ts'
import type { BackendContext } from '../backend.ts'
import type { ProvidedOrigin } from './roles.ts'

/** Plain data. */
export type RoleSourceSettings = { kind: 'file'; path: string } | { kind: 'ldap'; directory: DirectorySettings }

export interface RoleSource {
  /** Whether what is known of everybody may be outdated, as far as one can tell at once. */
  hasChanged(): boolean
  /** Never fails: what cannot be said is left out. @param users In lower case */
  load(users: readonly string[]): Promise<LoadedRoles>
  close(): void
}

export interface LoadedRoles {
  /** By user. Whoever is left out keeps the roles known last. */
  readonly roles: ReadonlyMap<string, readonly string[]>
  /** Why this is not what stands there now. */
  readonly problem?: string
}

export function originOf(settings: RoleSourceSettings | undefined): ProvidedOrigin | undefined {
  return settings && (settings.kind === 'file' ? 'FILE' : 'LDAP')
}

/** Loaded late: most installations have no source but the login. */
export async function openRoleSource(settings: RoleSourceSettings, { log, now }: BackendContext): Promise<RoleSource> {
  switch (settings.kind) {
    case 'file':
      return new (await import('./role-file.ts')).RoleFile(settings.path)
    case 'ldap':
      return new (await import('./directory-roles.ts')).DirectoryRoles(settings.directory, log, now)
  }
}
