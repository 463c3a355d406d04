/** Notice to the permission service that permissions of some roles have changed. */
import type { Definitions } from './collections.ts'

/** A refresh that fails is logged only: what was asked for has been saved, and roles are also refreshed periodically. */
export async function refreshRoles({ context }: Definitions, roles: readonly string[]): Promise<void> {
  const affected = [...new Set(roles)]
  if (affected.length === 0) return
  try {
    const answer = await context.call('fiat', { method: 'POST', path: '/roles/sync', body: affected })
    // As Fiat answers when no user has one of the roles yet, which is usual for a new application.
    if (answer.status === 503) return context.log.info({ roles: affected }, 'no user was refreshed after a change of roles')
    if (answer.status >= 400) context.log.warn({ status: answer.status, roles: affected }, 'the roles were not refreshed')
  } catch (error) {
    context.log.warn({ err: error, roles: affected }, 'the permission service did not receive the changed roles')
  }
}
