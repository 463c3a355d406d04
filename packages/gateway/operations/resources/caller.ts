/** Names of the caller: for jobs, and for display beside what the caller started. */
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import type { OperationRequest } from '../operation.ts'

export function usernameOf({ state: { user } }: OperationRequest): string {
  return user?.username ?? 'anonymous'
}

/**
 * The name to display as the starter of a pipeline: the caller; without logins, a name of the client's choice.
 *
 * @see docs/contracts/permissions.md#displayed-user
 */
export function displayedUser(
  { state: { user } }: OperationRequest,
  given: string | null | undefined,
): string {
  if (user !== undefined && user.method !== 'anonymous') return user.username
  return given || (user?.username ?? 'anonymous')
}

/** Without a user in the trigger the orchestrator takes the one of the identity header. */
export function withDisplayedUser(request: OperationRequest, definition: JsonObject): JsonObject {
  const { trigger } = definition
  if (!isObject(trigger) || typeof trigger['user'] !== 'string') return definition
  return { ...definition, trigger: { ...trigger, user: displayedUser(request, trigger['user']) } }
}
