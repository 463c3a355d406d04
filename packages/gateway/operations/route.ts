/** Operations resolved once: their parsed paths, and the calls that they become. */

import type { ServiceName } from '@fairlead/base/services/services.ts'
import { PathTemplate } from '../http/path-template.ts'
import type { ForwardRule, HttpMethod, Operation } from './operation.ts'

interface OperationRoute {
  readonly path: PathTemplate
  readonly forward?: ForwardedCall
}

export interface ForwardedCall {
  readonly service: ServiceName
  readonly method: HttpMethod
  readonly path: PathTemplate
  readonly query: readonly string[]
  readonly renamed: Readonly<Record<string, string>>
  readonly constants: Readonly<Record<string, string>>
  readonly otherQuery: boolean
  readonly hasQuery: boolean
}

const routes = new WeakMap<Operation, OperationRoute>()

export function routeOf(operation: Operation): OperationRoute {
  return routes.getOrInsertComputed(operation, toRoute)
}

function toRoute(operation: Operation): OperationRoute {
  const path = new PathTemplate(operation.path)
  const { forward } = operation
  return { path, ...(forward !== undefined && { forward: toCall(operation, path, forward) }) }
}

function toCall(
  { path: text, method, query = {} }: Operation,
  own: PathTemplate,
  forward: NonNullable<Operation['forward']>,
): ForwardedCall {
  const [service, at] = typeof forward === 'string' ? forward.split(' ') : []
  const declared =
    typeof forward === 'string'
      ? ({ service, ...(at !== undefined && { path: at }) } as ForwardRule)
      : forward
  const path =
    declared.path === undefined || declared.path === text ? own : new PathTemplate(declared.path)
  const inPath = path.names.filter((name) => !own.names.includes(name))
  const sent = [
    ...(declared.fromPath ?? []),
    ...Object.keys(query).filter((name) => !inPath.includes(name)),
  ]
  const { constants = {}, otherQuery = false, renamed = {} } = declared
  return {
    service: declared.service,
    method: declared.method ?? method,
    path,
    query: sent,
    renamed,
    constants,
    otherQuery,
    hasQuery: otherQuery || sent.length > 0 || Object.keys(constants).length > 0,
  }
}
