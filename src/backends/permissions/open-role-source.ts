/** Opens the source of roles that is configured. */
import type { BackendContext } from '../backend.ts'
import type { RoleSource } from './role-source.ts'
import type { RoleSourceSettings } from './settings.ts'

/** Loaded late: most installations have no source but the login. */
export async function openRoleSource(settings: RoleSourceSettings, { log, now }: BackendContext): Promise<RoleSource> {
  switch (settings.kind) {
    case 'file':
      return new (await import('./role-file.ts')).RoleFile(settings.path)
    case 'ldap':
      return new (await import('./directory-roles.ts')).DirectoryRoles(settings.directory, log, now)
  }
}
