/** Paths of resources and their objects at an API server. */
import { formatQuery, pathTo, type QueryValue } from '@fairlead/base/net/encode-path.ts'
import { isPathName } from '../full-name.ts'
import { ApiError } from './api-error.ts'
import type { ApiResource } from './cluster-api.ts'

export type ApiQuery = Readonly<Record<string, QueryValue>>

/** @param namespace Empty or undefined: all namespaces, or none */
export function collectionPath(
  { group, version, plural }: ApiResource,
  namespace: string | undefined,
  query: ApiQuery = {},
): string {
  const root = group === '' ? pathTo`/api/${version}` : pathTo`/apis/${group}/${version}`
  const scope = namespace ? pathTo`/namespaces/${checkName(namespace)}` : ''
  return root + scope + pathTo`/${plural}` + formatQuery(query)
}

interface Place {
  readonly resource: ApiResource
  readonly namespace: string
  readonly name: string
  readonly subresource?: string | undefined
}

export function objectPath({ resource, namespace, name, subresource }: Place, query: ApiQuery = {}): string {
  const below = subresource === undefined ? '' : pathTo`/${subresource}`
  return collectionPath(resource, namespace) + pathTo`/${checkName(name)}` + below + formatQuery(query)
}

/** @throws {ApiError} for what would lead to another path */
function checkName(name: string): string {
  if (isPathName(name)) return name
  throw new ApiError(`"${name}" cannot be the name of an object: it contains / or %.`, { status: 400 })
}

export function apiVersionOf({ group, version }: Pick<ApiResource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}
