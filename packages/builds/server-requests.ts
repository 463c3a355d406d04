/** Hosts, jobs and builds that requests to the build service name. */

import { fieldOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { trustedCallerOf, userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyRequest } from 'fastify'
import type { BuildServer } from './build-server.ts'
import type { BuildService } from './build-service.ts'

/** @throws {PortError} 404 */
export function serverOf(request: FastifyRequest, builds: BuildService): BuildServer {
  return builds.server(pathValue(request, 'host'))
}

/** The caller of a request, with a name also where there is none. */
export function asAsker(request: FastifyRequest): Caller {
  return { ...trustedCallerOf(request), user: userOf(request) }
}

/** The rest of the path, slashes included, or a query parameter. */
export function jobOf(request: FastifyRequest): string {
  const rest = fieldOf(request.params, '*')
  return (typeof rest === 'string' ? rest : (queryValue(request, 'job') ?? '')).replace(/\/$/, '')
}

/** @throws {PortError} 400 */
export function numberOf(request: FastifyRequest): number {
  return toNumber(pathValue(request, 'number'))
}

/** @throws {PortError} 400 */
export function toNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new PortError(400, `The build number "${text}" is not a whole number.`)
  return Number(text)
}
