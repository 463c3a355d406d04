/** Rights by the permissions of a build server; one without permissions is open to all users. */
import type { Access } from '@fairlead/ports/access.ts'
import type { BuildServer } from './build-server.ts'

export function isRestricted({ permissions = {} }: BuildServer): boolean {
  return Object.keys(permissions).length > 0
}

export function mayOnServer(access: Access, server: BuildServer, authorization: 'READ' | 'WRITE'): boolean {
  if (access.isAdmin || !isRestricted(server)) return true
  return access.hasRole((server.permissions?.[authorization] ?? []).map((role) => role.toLowerCase()))
}
