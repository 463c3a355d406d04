/** Identity and tracing headers of calls to services. */
import type { IncomingHttpHeaders } from 'node:http'
import { toHeaderText } from '@fairlead/base/net/header-text.ts'
import type { RequestState } from '../http/request-state.ts'

export type IdentityHeaders = Readonly<Record<string, string>>

/** For calls that no client asked for: refreshes, health checks, login calls. */
export const anonymousIdentity: IdentityHeaders = { 'X-SPINNAKER-ANONYMOUS': 'anonymous' }

/** The caller on an open path (docs/contracts/permissions.md#identity-towards-services). */
const anonymous = { username: 'anonymous', allowedAccounts: [] as readonly string[] }

export function callerIdentityOf(
  state: RequestState,
  headers: IncomingHttpHeaders,
): IdentityHeaders {
  const identity: Record<string, string> = {
    ...state.passedOn,
    'X-SPINNAKER-REQUEST-ID': state.requestId,
  }
  const { username, allowedAccounts } = state.user ?? anonymous
  identity['X-SPINNAKER-USER'] = toHeaderText(username)
  if (allowedAccounts.length > 0)
    identity['X-SPINNAKER-ACCOUNTS'] = accountLists.getOrInsertComputed(
      allowedAccounts,
      joinAccounts,
    )
  identity['X-SPINNAKER-USER-ORIGIN'] =
    String(headers['x-ratelimit-app'] ?? '').toLowerCase() === 'deck' ? 'deck' : 'api'
  const executionId = headers['x-spinnaker-execution-id']
  if (typeof executionId === 'string') identity['X-SPINNAKER-EXECUTION-ID'] = executionId
  const executionType =
    state.path === '/tasks' ? 'orchestration' : headers['x-spinnaker-execution-type']
  if (typeof executionType === 'string') identity['X-SPINNAKER-EXECUTION-TYPE'] = executionType
  const application =
    state.application === undefined ? state.applicationSegment : toHeaderText(state.application)
  if (application !== undefined) identity['X-SPINNAKER-APPLICATION'] = application
  return identity
}

/**
 * Whether a service may answer otherwise because of this header.
 *
 * @param isByRights Users with the same rights get the same answers.
 */
export function decidesAnswer(name: string, isByRights: boolean): boolean {
  return name !== 'X-SPINNAKER-REQUEST-ID' && !(isByRights && name === 'X-SPINNAKER-USER')
}

/** Up to hundreds of names for every call of a user with many accounts; the list of a session stays the same. */
const accountLists = new WeakMap<readonly string[], string>()

function joinAccounts(accounts: readonly string[]): string {
  return toHeaderText(accounts.join(','))
}
