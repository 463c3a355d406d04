/** The routing table of a front: a host, then the longest path. Hundreds of hosts cost a request no more than one. */
import { wildcardOf } from '@fairlead/base/names/host-name.ts'

export interface RoutedPath<T> {
  readonly host: string
  /** `/`, or `/a/b` without a slash at its end. */
  readonly path: string
  readonly target: T
}

export class RoutingTable<T> {
  /** By host, wildcards included: the longest path first. */
  readonly #paths = new Map<string, RoutedPath<T>[]>()

  constructor(routes: readonly RoutedPath<T>[]) {
    for (const route of routes) this.#paths.getOrInsertComputed(route.host, () => []).push(route)
    for (const paths of this.#paths.values())
      paths.sort((one, other) => other.path.length - one.path.length)
  }

  /** The paths of a host; those of an exact one hide those of a wildcard. */
  pathsOf(host: string): readonly RoutedPath<T>[] | undefined {
    return this.#paths.get(host) ?? this.#paths.get(wildcardOf(host))
  }

  /** @param path May have a query */
  find(host: string, path: string): T | undefined {
    return this.pathsOf(host)?.find((route) => isBelow(path, route.path))?.target
  }
}

function isBelow(path: string, prefix: string): boolean {
  if (prefix === '/') return true
  if (!path.startsWith(prefix)) return false
  const next = path[prefix.length]
  return next === undefined || next === '/' || next === '?'
}

/**
 * The host of a Host header as rules have it: lower case, without port and the dot at its end.
 *
 * @returns empty for what is no host
 */
export function toRoutedHost(authority: string): string {
  const [host = ''] = authority.split(':', 1)
  const lower = host.toLowerCase()
  return lower.endsWith('.') ? lower.slice(0, -1) : lower
}
