/** Caller of a request that reaches an embedded back end. */

import { fromHeaderText } from '@fairlead/base/net/header-text.ts'
import type { FastifyRequest } from 'fastify'
import { anonymous, type Caller, toCaller } from '../caller.ts'

export function userOf(request: FastifyRequest): string {
  return trustedCallerOf(request).user || anonymous
}

export function trustedCallerOf(request: FastifyRequest): Caller {
  const identity: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.startsWith('x-spinnaker-') && typeof value === 'string')
      identity[name] = fromHeaderText(value)
  }
  return toCaller(identity)
}

/** Header of calls among the back ends of this process. The gateway hands no header of clients on under this name. */
export const backendHeader = 'x-fairlead-backend'

/** Whether another back end of this process asks, which works with secrets; all others get masks. */
export function isFromBackend({ headers }: FastifyRequest): boolean {
  return headers[backendHeader] !== undefined
}

/** The user in whose name the caller asks; undefined: another back end of this process asks for itself. */
export function askerOf(request: FastifyRequest): string | undefined {
  return isFromBackend(request) ? trustedCallerOf(request).user || undefined : userOf(request)
}
