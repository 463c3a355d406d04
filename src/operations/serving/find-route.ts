/** Finds the operation of a request. */
import findMyWay from 'find-my-way'
import { GatewayError } from '../../errors.ts'
import { type FindRoute, maxParamLength } from '../../http/route.ts'
import type { Operation } from '../operation.ts'
import { routeOf } from '../route.ts'

const finders = new WeakMap<readonly Operation[], FindRoute>()

/** The tree of routes is built once for a list, since a gateway adds nothing to it. HEAD finds GET unless it is an operation of its own. */
export function createFindRoute(operations: readonly Operation[]): FindRoute {
  return finders.getOrInsertComputed(operations, buildFindRoute)
}

function buildFindRoute(operations: readonly Operation[]): FindRoute {
  const router = findMyWay({
    maxParamLength,
    querystringParser: () => undefined,
    // Without a handler for it the router takes an overlong value for one that has no route.
    onMaxParamLength: () => {},
  })
  for (const operation of operations) {
    const { method, id, cost = 1, changesNothing = false } = operation
    const url = routeOf(operation).path.route
    router.on(method, url, () => {}, { url, operation: id, cost, changesNothing })
  }
  return (method, url) => {
    const found = router.find(method as findMyWay.HTTPMethod, url) ?? (method === 'HEAD' ? router.find('GET', url) : null)
    if (found?.store === null) throw new GatewayError('BAD_ARGUMENT', 'A name in the path is too long.')
    return found === null ? undefined : { route: found.store, params: found.params }
  }
}
