/** Finds the operation of a request. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { decodeSegment } from '@fairlead/base/net/encode-path.ts'
import findMyWay from 'find-my-way'
import { type FindRoute, maxParamLength, type Route } from '../../http/route.ts'
import { isRead } from '../access/token-limits.ts'
import type { Operation } from '../operation.ts'
import { routeOf } from '../route.ts'

type Router = findMyWay.Instance<findMyWay.HTTPVersion.V1>

/**
 * One router for each first segment, built when a request needs it: all of them take a tenth of the time of a start. HEAD finds GET
 * unless it is an operation of its own.
 */
export function createFindRoute(operations: readonly Operation[]): FindRoute {
  const groups = Map.groupBy(operations, (operation) =>
    firstSegmentOf(routeOf(operation).path.route),
  )
  const routers = new Map<string, Router>()
  const build = (segment: string) => buildRouter(groups.get(segment) ?? [])
  return (method, url) => {
    const segment = firstSegmentOf(url)
    if (!groups.has(segment)) return undefined
    const router = routers.getOrInsertComputed(segment, build)
    const found =
      router.find(method as findMyWay.HTTPMethod, url) ??
      (method === 'HEAD' ? router.find('GET', url) : null)
    if (found?.store === null)
      throw new GatewayError('BAD_ARGUMENT', 'A name in the path is too long.')
    return found === null
      ? undefined
      : { route: found.store as Route, params: nameRest(found.params) }
  }
}

function nameRest(params: Readonly<Record<string, string | undefined>>): Record<string, string> {
  if (!('*' in params)) return params as Record<string, string>
  const { '*': rest = '', ...named } = params
  return { ...(named as Record<string, string>), rest }
}

const [slash, question, hash] = ['/', '?', '#'].map((character) => character.charCodeAt(0))

/** No operation has a parameter there. */
function firstSegmentOf(url: string): string {
  let end = 1
  for (; end < url.length; end++) {
    const code = url.charCodeAt(end)
    if (code === slash || code === question || code === hash) break
  }
  const segment = url.slice(1, end)
  return segment.includes('%') ? decodeSegment(segment) : segment
}

function buildRouter(operations: readonly Operation[]): Router {
  const router = findMyWay({
    maxParamLength,
    querystringParser: () => undefined,
    // Without a handler for it the router takes an overlong value for one that has no route.
    onMaxParamLength: () => {},
  })
  for (const operation of operations) {
    const { method, id, cost = 1 } = operation
    const url = routeOf(operation).path.route
    router.on(method, url, () => {}, {
      url,
      operation: id,
      cost,
      changesNothing: isRead(operation) || operation.isUnrecorded === true,
    } satisfies Route)
  }
  return router
}
