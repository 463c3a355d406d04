/** Paths of operations: `/applications/{application}/jobs/{rest}`, as routes and as patterns that find the methods of a path. */

import { GatewayError } from '../errors.ts'
import { encodeSegment, encodeSegments } from '../http/encode-path.ts'

/** `/a/{b}/**` as a route of the web framework. */
export function toRoute(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1').replace(/\/\*\*$/, '/*')
}

/** The names between braces, in order; `rest` for a final wildcard. */
export function parameterNames(path: string): string[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string)
  return path.endsWith('/**') ? [...names, 'rest'] : names
}

/** Fills `{name}` with encoded values; the slashes of `{rest}` and `{+name}` are kept. @throws {GatewayError} BAD_ARGUMENT when a value is missing */
export function fillPath(path: string, value: (name: string) => string | undefined): string {
  return path.replace(/\{(\+?)(\w+)\}/g, (_match, plus: string, name: string) => {
    const given = value(name)
    if (given === undefined || given === '') throw new GatewayError('BAD_ARGUMENT', `${name} must not be empty.`)
    return name === 'rest' || plus === '+' ? encodeSegments(given) : encodeSegment(given)
  })
}

/** Finds the methods that are offered for a path, for 405 and OPTIONS. */
export function createMethodIndex(routes: readonly { method: string; path: string }[]): (path: string) => string[] {
  const patterns = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  for (const { method, path } of routes) {
    const key = path.replace(/\{\w+\}/g, '{}')
    const entry = patterns.get(key) ?? { pattern: toPattern(path), methods: new Set(['OPTIONS']) }
    entry.methods.add(method)
    if (method === 'GET') entry.methods.add('HEAD')
    patterns.set(key, entry)
  }
  const entries = [...patterns.values()]
  return (path) => [...new Set(entries.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]))].sort()
}

/** Matches the paths that an operation has; its groups are the values of `parameterNames`. */
export function toPattern(path: string): RegExp {
  const source = path
    .split('/')
    .map((segment) => (segment === '**' ? '(.*)' : segment.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '([^/]+)')))
    .join('/')
  return new RegExp(`^${source}$`)
}
