/** Limits of API tokens: a filter on needs, apart from the user's permissions. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import type { Need } from '@fairlead/model/rights/decide.ts'
import type { PresentedToken, RequestState } from '../../http/request-state.ts'
import type { Demand } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { routeOf } from '../route.ts'

export function explainTokenLimits(
  operation: Operation,
  token: PresentedToken,
  application: string | undefined,
): string[] {
  const limits: string[] = []
  if (isInPerson(operation)) limits.push(notInPerson)
  if (token.readOnly && !isRead(operation)) limits.push('it may only read')
  if (isAlwaysReached(operation)) return limits
  if (token.operations?.includes(operation.id) === false)
    limits.push(`it counts for ${token.operations.join(', ')} only`)
  const isOther =
    application !== undefined &&
    !isMetByToken(token, { kind: 'application', name: application, authorization: 'READ' })
  if (isOther) limits.push(`it counts for the applications ${token.applications?.join(', ')} only`)
  return limits
}

export function checkTokenUse(operation: Operation, { token }: Pick<RequestState, 'token'>): void {
  if (token === undefined) return
  if (isInPerson(operation)) throw tokenLimited(`${notInPerson}. Log in to do it`)
  if (token.readOnly && !isRead(operation))
    throw tokenLimited('it may only read. Create one that is not read-only')
  if (isAlwaysReached(operation) || token.operations?.includes(operation.id) !== false) return
  throw tokenLimited(`the operation ${operation.id} is not among those that it was created for`)
}

export function isLimitedToApplications({ token }: Pick<RequestState, 'token'>): boolean {
  return token?.applications !== undefined
}

/** Whether the operation of the request is none of those for which its token is meant, though it reaches every token. */
export function isLimitedToUse({
  token,
  operation = '',
}: Pick<RequestState, 'token' | 'operation'>): boolean {
  return token?.applications !== undefined || token?.operations?.includes(operation) === false
}

/** A token that is meant for some applications meets what is needed on them. Accounts and the like are for its user to meet. */
export function isMetByToken(token: PresentedToken | undefined, need: Need): boolean {
  if (token?.applications === undefined) return true
  if (need.kind === 'one-of') return need.needs.some((one) => isMetByToken(token, one))
  if (need.kind !== 'application') return true
  const name = foldName(need.name)
  return token.applications.some((application) => foldName(application) === name)
}

export function checkTokenNeeds(
  { token }: Pick<RequestState, 'token'>,
  needs: readonly Need[],
): void {
  for (const need of needs) {
    if (isMetByToken(token, need)) continue
    const [first] = need.kind === 'one-of' ? need.needs : [need]
    throw tokenLimited(
      `it is not meant for the application ${first.kind === 'application' ? first.name : ''}`,
    )
  }
}

/** Whether a token for some applications may be used for an operation that is about none: to read what belongs to all. */
export function reachesWithoutApplication(operation: Operation): boolean {
  return operation.demands.every((demand) => isReached(demand, isRead(operation)))
}

function isReached(demand: Demand, reads: boolean): boolean {
  if (demand.kind === 'account') return demand.shared === true && reads
  if (demand.kind !== 'nothing') return false
  return demand.limitedTokens === 'reads' ? reads : demand.limitedTokens !== 'never'
}

const notInPerson = 'no API token administers users'

function isInPerson({ demands }: Operation): boolean {
  return demands.some((demand) => demand.kind === 'admin' && demand.inPerson === true)
}

export function isAlwaysReached({ demands: [first] }: Operation): boolean {
  return first.kind === 'nothing' && first.limitedTokens === 'always'
}

/** Evaluating an expression changes nothing, whatever the method; a GET that is passed on as something else does. */
export function isRead(operation: Operation): boolean {
  const { method, changesNothing } = operation
  if (changesNothing) return true
  return isReadMethod(method) && isReadMethod(routeOf(operation).forward?.method ?? 'GET')
}

export function tokenLimited(problem: string): GatewayError {
  return new GatewayError('TOKEN_LIMITED', `The API token does not allow this: ${problem}.`)
}
