/** What the caller may do on applications, for the few rules that no service behind the gateway enforces. */
import { GatewayError } from '../errors.ts'
import type { RequestState } from '../http/request-state.ts'
import type { Need } from '../permissions/decide.ts'
import { requireAll } from '../permissions/permission-denied.ts'
import { grantsOnApplication } from '../permissions/permission-view.ts'
import type { PermissionView } from '../permissions/permissions.ts'
import { permissionsUnavailable } from '../permissions/permissions-unavailable.ts'
import type { OperationRequest } from './operation.ts'
import type { Platform } from './platform.ts'
import { checkTokenApplication } from './token-limits.ts'

/**
 * What the caller may do, as the permission service says; undefined when it does not know him.
 *
 * @throws {GatewayError} PERMISSIONS_UNAVAILABLE when it cannot say
 */
export async function loadView(
  { user }: Pick<RequestState, 'user'>,
  { permissions }: Platform,
): Promise<PermissionView | undefined> {
  if (user === undefined) return undefined
  const answer = await permissions.lookUp(user)
  if (answer.kind === 'unavailable') throw permissionsUnavailable(answer.cause)
  return answer.kind === 'view' ? answer.view : undefined
}

/**
 * Says which applications the caller may read: all of them while nobody logs in or no permission service decides.
 *
 * @throws {GatewayError} PERMISSIONS_UNAVAILABLE
 * @see operations contract, getAllApplicationsUsingGET; HTTP conventions, section 4.5
 */
export async function createReadFilter(request: OperationRequest, platform: Platform): Promise<(application: string) => boolean> {
  if (!isDecided(platform)) return () => true
  const view = await loadView(request.state, platform)
  return (application) => view !== undefined && grantsOnApplication(view, application, 'READ')
}

/** Whether the caller's permissions limit the answer at all. */
export function isDecided(platform: Platform): boolean {
  return platform.login.active && platform.permissions.enabled
}

/**
 * Starting a pipeline needs EXECUTE on its application, on every way in: the orchestrator does not check it.
 *
 * @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE, TOKEN_LIMITED
 */
export async function checkMayExecute(request: OperationRequest, platform: Platform, application: string): Promise<void> {
  checkTokenApplication(request.state, application)
  if (!isDecided(platform)) return
  const { user } = request.state
  if (user !== undefined && (await platform.permissions.mayOnApplication(user, application, 'EXECUTE'))) return
  throw new GatewayError(
    'PERMISSION_DENIED',
    `You may not start pipelines of ${application}: that needs EXECUTE on the application.`,
  )
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
  if (!isDecided(platform) || platform.permissions.enforcement === 'services') return
  requireAll(await loadView(request.state, platform), named.flatMap(toWriteNeeds))
}

function toWriteNeeds(named: { application?: unknown; account?: unknown }): Need[] {
  return (['application', 'account'] as const).flatMap((kind) => {
    const name = named[kind]
    return typeof name === 'string' && name.trim() !== '' ? [{ kind, name, authorization: 'WRITE' }] : []
  })
}
