/** Notice to the permission service that permissions of some roles have changed. */
import { PortError } from '@fairlead/base/port-error.ts'
import type { Definitions } from './collections.ts'

/** A refresh that fails is logged only: what was asked for has been saved, and roles are also refreshed periodically. */
export async function refreshRoles(
  { context }: Definitions,
  roles: readonly string[],
): Promise<void> {
  const affected = [...new Set(roles)]
  if (affected.length === 0) return
  try {
    await context.ports.rights.refreshRoles(affected)
  } catch (error) {
    // As Fiat answers when no user has one of the roles yet, which is usual for a new application.
    if (error instanceof PortError && error.status === 503)
      return context.log.info({ roles: affected }, 'no user was refreshed after a change of roles')
    context.log.warn({ err: error, roles: affected }, 'the roles of users were not refreshed')
  }
}
