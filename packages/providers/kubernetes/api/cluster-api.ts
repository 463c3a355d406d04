/** What the provider asks of an API server: resources by kind, and their objects. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { formatQuery, pathTo, type QueryValue } from '@fairlead/base/net/encode-path.ts'
import type { ExecConnection, ExecRequest } from '@fairlead/base/net/exec-frames.ts'
import { isPathName } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'
import { ApiError } from './api-error.ts'

/** A kind as the API server serves it. */
export interface ApiResource {
  /** Empty for the core group. */
  readonly group: string
  /** The preferred version, such as `v1`. */
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  readonly isNamespaced: boolean
  readonly verbs: readonly string[]
  readonly subresources: readonly string[]
}

/** A kind as users and manifests name it. */
export interface KindName {
  /** Without regard to case; also an alias such as `deploy`. */
  readonly kind: string
  /** Undefined: any group, built-in ones first. */
  readonly group?: string | undefined
  /** Undefined: the preferred one. */
  readonly version?: string | undefined
}

export interface ObjectPlace {
  readonly resource: ApiResource
  /** Empty for cluster-wide objects. */
  readonly namespace: string
  readonly name: string
}

export interface ListQuery {
  /** Undefined: all. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Objects without spec, status and data. */
  readonly metadataOnly?: boolean
  readonly signal?: AbortSignal | undefined
}

export interface WriteOptions {
  readonly fieldManager?: string
  /** Nothing is stored: the answer is what would be. */
  readonly dryRun?: boolean
  /** Unknown and repeated fields are refused, all of them at once. */
  readonly isStrict?: boolean
}

export interface PatchOptions extends WriteOptions {
  readonly type: 'apply' | 'strategic' | 'merge' | 'json'
  /** `apply`: takes over fields of other managers. */
  readonly force?: boolean
  readonly subresource?: string
}

export interface DeleteOptions {
  readonly propagation: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number | undefined
  /** Only this very object. */
  readonly uid?: string | undefined
}

export interface PodLogQuery {
  readonly container: string
  readonly previous?: boolean
  readonly tailLines?: number
  readonly limitBytes?: number
  /** Each line begins with its time. */
  readonly timestamps?: boolean
  /** RFC 3339; lines from then on. */
  readonly sinceTime?: string
}

/** All calls are bounded in time, and throw an `ApiError`. */
export interface ClusterApi {
  /** Undefined: nothing of that name is served. What is unknown is looked up again, at most every few seconds. */
  find(kind: KindName): Promise<ApiResource | undefined>
  resources(): Promise<readonly ApiResource[]>
  get(place: ObjectPlace): Promise<KubeObject | undefined>
  /** In pages; a list that expired on the way is started again. */
  list(resource: ApiResource, query?: ListQuery): Promise<KubeObject[]>
  create(
    resource: ApiResource,
    namespace: string,
    object: JsonObject,
    options?: WriteOptions,
  ): Promise<KubeObject>
  replace(place: ObjectPlace, object: JsonObject, options?: WriteOptions): Promise<KubeObject>
  patch(place: ObjectPlace, body: unknown, options: PatchOptions): Promise<KubeObject>
  /** @returns false where there is no such object */
  remove(place: ObjectPlace, options: DeleteOptions): Promise<boolean>
  log(
    pod: { readonly namespace: string; readonly name: string },
    query: PodLogQuery,
  ): Promise<string>
  /** A program in a container. */
  exec(
    pod: { readonly namespace: string; readonly name: string },
    container: string,
    request: ExecRequest,
  ): Promise<ExecConnection>
  read(path: string): Promise<unknown>
  post(path: string, body: JsonObject): Promise<unknown>
}

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

interface ObjectAddress {
  readonly resource: ApiResource
  readonly namespace: string
  readonly name: string
  readonly subresource?: string | undefined
}

export function objectPath(
  { resource, namespace, name, subresource }: ObjectAddress,
  query: ApiQuery = {},
): string {
  const below = subresource === undefined ? '' : pathTo`/${subresource}`
  return (
    collectionPath(resource, namespace) + pathTo`/${checkName(name)}` + below + formatQuery(query)
  )
}

/** @throws {ApiError} for what would lead to another path */
function checkName(name: string): string {
  if (isPathName(name)) return name
  throw new ApiError(`"${name}" cannot be the name of an object: it contains / or %.`, {
    status: 400,
  })
}

export function apiVersionOf({ group, version }: Pick<ApiResource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}
