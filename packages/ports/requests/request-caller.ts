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
