/** Hosts, jobs and builds that requests to the build service name. */
import type { FastifyRequest } from 'fastify'
import { fieldOf } from '../../json/values.ts'
import { PortError } from '../../ports/port-error.ts'
import { pathValue, queryValue } from '../requests/request-values.ts'
import type { BuildServer } from './build-server.ts'

export type Servers = ReadonlyMap<string, BuildServer>

/** @throws {PortError} 404 */
export function serverOf(request: FastifyRequest, servers: Servers): BuildServer {
  const host = pathValue(request, 'host')
  const server = servers.get(host)
  if (server !== undefined) return server
  const advice =
    servers.size > 0
      ? `Connected: ${[...servers.keys()].join(', ')}.`
      : 'Connect one by its settings, or a build integration service (services.igor.baseUrl) that has some.'
  throw new PortError(404, `The build server "${host}" does not exist${servers.size > 0 ? '' : ': none is connected'}. ${advice}`)
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
  if (!/^\d{1,15}$/.test(text)) throw new PortError(400, `The build number "${text}" is not a whole number.`)
  return Number(text)
}

/** @throws {PortError} 404 */
export function found<Thing>(thing: Thing | undefined, name: string): Thing {
  if (thing === undefined) throw new PortError(404, `The ${name} does not exist.`)
  return thing
}
