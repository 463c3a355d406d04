/** Notice to the permission service that permissions of some roles have changed. */
import type { Definitions } from './collections.ts'

/** A refresh that fails is logged only: what was asked for has been saved, and roles are also refreshed periodically. */
export async function refreshRoles({ context }: Definitions, roles: readonly string[]): Promise<void> {
  const affected = [...new Set(roles)]
  if (affected.length === 0) return
  try {
    await context.ports.rights.refreshRoles(affected)
  } catch (error) {
    context.log.warn({ err: error, roles: affected }, 'the roles of users were not refreshed')
  }
}
