/** Errors of permission checks: 403, the user lacks a right; 503, the permission service is unavailable. */
import { GatewayError } from '../errors.ts'
import { ownAccountAdvice, readerAdvice } from './built-in-roles.ts'
import { decide, describeNeed, type Need } from './decide.ts'
import type { PermissionView } from './permissions.ts'

/** @throws {GatewayError} PERMISSION_DENIED for the first that is not met */
export function requireAll(view: PermissionView | undefined, needs: readonly Need[]): void {
  for (const need of needs) if (!decide(view, need).allowed) throw permissionDenied(need)
}

/** The message says what is needed, and who may help. */
export function permissionDenied(need: Need): GatewayError {
  const message = `You may not do this: it needs ${describeNeed(need)}. ${adviceFor(need)}; GET /auth/explain has details.`
  return new GatewayError('PERMISSION_DENIED', message, { missing: describeNeed(need) })
}

/** For what belongs to no application and no account. */
export function readsOnly(): GatewayError {
  return new GatewayError('PERMISSION_DENIED', `You may not do this: your roles let you read. ${readerAdvice}.`)
}

function adviceFor(need: Need): string {
  switch (need.kind) {
    case 'one-of':
      return adviceFor(need.needs[0])
    case 'admin':
    case 'account-manager':
      return 'Ask one to do it'
    case 'application':
      return 'Ask an owner of the application for it'
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
