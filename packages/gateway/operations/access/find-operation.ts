/** Look-up of operations by id, or by a request such as `GET /applications/web/pipelines`. */
import { GatewayError } from '@fairlead/base/errors.ts'
import type { Operation } from '../operation.ts'
import { routeOf } from '../route.ts'

export interface FoundOperation {
  readonly operation: Operation
  readonly path: Readonly<Record<string, string>>
}

const suggestions = 5

export function findApiOperation(operations: readonly Operation[], text: string): FoundOperation {
  const wanted = text.trim()
  const byId = operations.find(({ id }) => id.toLowerCase() === wanted.toLowerCase())
  if (byId !== undefined) return { operation: byId, path: {} }
  const [, method = '', path = ''] = /^([a-z]+)\s+(\/[^?]*)/i.exec(wanted) ?? []
  return (
    findByPath(operations, method.toUpperCase().replace('HEAD', 'GET'), path) ??
    refuse(operations, wanted)
  )
}

function findByPath(
  operations: readonly Operation[],
  method: string,
  path: string,
): FoundOperation | undefined {
  const offered = operations.filter((operation) => operation.method === method)
  const declared = offered.find((operation) => operation.path === path)
  if (declared !== undefined) return { operation: declared, path: {} }
  // As for routes, a name that is written out wins over a parameter.
  const byLiterals = offered.toSorted(
    (a, b) => routeOf(a).path.names.length - routeOf(b).path.names.length,
  )
  for (const operation of byLiterals) {
    const values = routeOf(operation).path.match(path)
    if (values !== undefined) return { operation, path: values }
  }
  return undefined
}

function refuse(operations: readonly Operation[], wanted: string): never {
  const nearest = operations
    .map((operation) => ({ operation, likeness: likenessTo(wanted, operation) }))
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, suggestions)
    .map(({ operation: { id, method, path } }) => `${id} (${method} ${path})`)
  throw new GatewayError(
    'NOT_FOUND',
    `There is no operation "${wanted.slice(0, 200)}". Did you mean ${nearest.join(', ')}?`,
  )
}

function likenessTo(wanted: string, { id, method, path }: Operation): number {
  return Math.max(
    likeness(wanted, id),
    likeness(wanted, `${method} ${path}`),
    likeness(wanted, path),
  )
}

function likeness(a: string, b: string): number {
  const [left, right] = [pairsOf(a), pairsOf(b)]
  const common = [...left].filter((pair) => right.has(pair)).length
  return (2 * common) / Math.max(1, left.size + right.size)
}

function pairsOf(text: string): Set<string> {
  const letters = text.toLowerCase().slice(0, 200)
  return new Set(
    Array.from({ length: Math.max(0, letters.length - 1) }, (_, index) =>
      letters.slice(index, index + 2),
    ),
  )
}
