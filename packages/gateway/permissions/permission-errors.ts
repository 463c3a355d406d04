/** Errors of permission checks: 403, the user lacks a right; 503, the permission service is unavailable. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { deployersCommand, ownAccountAdvice } from '@fairlead/model/rights/built-in-roles.ts'
import { decide, describeNeed, type Need } from '@fairlead/model/rights/decide.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'

/** @throws {GatewayError} PERMISSION_DENIED for the first that is not met */
export function requireAll(view: PermissionView | undefined, needs: readonly Need[]): void {
  for (const need of needs) if (!decide(view, need).allowed) throw permissionDenied(need, view)
}

export function permissionDenied(need: Need, view?: PermissionView): GatewayError {
  const message = `You may not do this: it needs ${describeNeed(need)}. ${adviceFor(need, view?.readsOnly)}; GET /auth/explain has details.`
  return new GatewayError('PERMISSION_DENIED', message, { missing: describeNeed(need) })
}

/** Error for what belongs to no application and no account. */
export function readsOnly(): GatewayError {
  const message = `You may not do this: it belongs to no application or account that names a role of yours. ${readerAdvice}.`
  return new GatewayError('PERMISSION_DENIED', message)
}

const readerAdvice = `An administrator can change that with ${deployersCommand}`

function adviceFor(need: Need, readsOnly = false): string {
  switch (need.kind) {
    case 'one-of':
      return adviceFor(need.needs[0], readsOnly)
    case 'admin':
    case 'account-manager':
      return 'Ask one to do it'
    case 'application':
      if (need.authorization === 'CREATE')
        return readsOnly ? readerAdvice : 'Ask an administrator for it'
      return `Ask an owner of the application for it${readsOnly ? `; where it names no roles, an administrator for ${deployersCommand}` : ''}`
    case 'account':
      return `Ask an administrator for it. In an account of this machine without \`user\`, ${ownAccountAdvice}`
    default:
      return 'Ask an administrator for it'
  }
}

const unavailable =
  'The permission service does not answer, so your permissions are unknown. You stay logged in; try again in a moment.'

export function permissionsUnavailable(cause: unknown): GatewayError {
  return new GatewayError('PERMISSIONS_UNAVAILABLE', unavailable, {
    cause,
    upstream: { service: 'fiat' },
    headers: { 'retry-after': '2' },
  })
}
