/** Permission checks that no service behind the gateway makes. */

import type { Need } from '@fairlead/model/rights/decide.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'
import { isGranted, isListed } from '@fairlead/model/rights/rights.ts'
import type { RequestState } from '../../http/request-state.ts'
import { permissionDenied, requireAll } from '../../permissions/permission-errors.ts'
import type { OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

/**
 * Says which applications the caller may read: all of them without logins or without a permission service.
 *
 * @throws {GatewayError} PERMISSIONS_UNAVAILABLE
 * @see docs/reference/operations.md, getAllApplicationsUsingGET; docs/contracts/permissions.md#permission-service
 */
export async function createReadFilter(
  request: OperationRequest,
  platform: Platform,
): Promise<(application: string) => boolean> {
  if (!isDecided(platform)) return () => true
  const view = await platform.permissions.loadView(request.state.user)
  return (application) => view !== undefined && isGranted(view, 'application', application, 'READ')
}

export async function createAccountFilter(
  request: OperationRequest,
  platform: Platform,
): Promise<(account: string) => boolean> {
  if (!isDecided(platform)) return () => true
  const view = await platform.permissions.loadView(request.state.user)
  return (account) => view !== undefined && mayReadAccount(view, account)
}

/** A fallback names the accounts of the login's roles without authorizations. */
function mayReadAccount(view: PermissionView, account: string): boolean {
  return view.legacyFallback === true
    ? isListed(view, 'account', account)
    : isGranted(view, 'account', account, 'READ')
}

export function isDecided(platform: Platform): boolean {
  return platform.login.active && platform.permissions.enabled
}

/**
 * Requires of the user what the permission service says, and asks it whether a new application may be created. Nothing without
 * logins or without a permission service.
 *
 * @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE
 */
export async function requirePermissions(
  state: Pick<RequestState, 'user'>,
  platform: Platform,
  needs: readonly Need[],
): Promise<void> {
  if (needs.length === 0 || !isDecided(platform)) return
  const view = await platform.permissions.loadView(state.user)
  for (const need of needs) {
    if (need.kind !== 'application' || need.authorization !== 'CREATE') requireAll(view, [need])
    else await requireCreation(state, platform, need.name, view)
  }
}

/** An application that exists is changed by its creation; whether a new one may be created, the permission service says. */
async function requireCreation(
  { user }: Pick<RequestState, 'user'>,
  { permissions }: Platform,
  name: string,
  view: PermissionView | undefined,
): Promise<void> {
  if (view === undefined || user === undefined || isListed(view, 'application', name)) {
    return requireAll(view, [{ kind: 'application', name, authorization: 'WRITE' }])
  }
  if (view.admin || view.legacyFallback === true) return
  if (await permissions.mayCreateApplication(user, name)) return
  throw permissionDenied({ kind: 'application', name, authorization: 'CREATE' }, view)
}

/**
 * Rules for administrators apply once a login is required, under every `permissions.enforce`.
 *
 * @param withoutService Who counts as one while no permission service decides
 * @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE
 * @see docs/contracts/permissions.md#checks-of-the-gateway
 */
export async function requireAdministrator(
  { user }: Pick<RequestState, 'user'>,
  { login, permissions }: Platform,
  withoutService: 'nobody' | 'everybody' = 'nobody',
): Promise<void> {
  if (!login.active || (!permissions.enabled && withoutService === 'everybody')) return
  if (!(await permissions.isAdmin(user))) throw permissionDenied({ kind: 'admin' })
}

/**
 * Starting a pipeline needs EXECUTE on its application, on every way in: the orchestrator does not check it. The token has been
 * checked before.
 *
 * @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE
 */
export function checkMayExecute(
  { state }: OperationRequest,
  platform: Platform,
  application: string,
): Promise<void> {
  return requirePermissions(state, platform, [
    { kind: 'application', name: application, authorization: 'EXECUTE' },
  ])
}

/**
 * For what an operation finds out on its way: WRITE on everything that is named, where the gateway decides.
 *
 * @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE
 */
export async function checkMayWrite(
  request: OperationRequest,
  platform: Platform,
  named: readonly { application?: unknown; account?: unknown }[],
): Promise<void> {
  if (platform.permissions.enforcement === 'services') return
  await requirePermissions(request.state, platform, named.flatMap(toWriteNeeds))
}

function toWriteNeeds(named: { application?: unknown; account?: unknown }): Need[] {
  return (['application', 'account'] as const).flatMap((kind) => {
    const name = named[kind]
    return typeof name === 'string' && name.trim() !== ''
      ? [{ kind, name, authorization: 'WRITE' }]
      : []
  })
}
