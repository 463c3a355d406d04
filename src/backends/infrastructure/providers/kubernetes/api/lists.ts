/** Lists of objects, read in pages. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldAt, fieldOf, isObject, type JsonObject, objectsOf, textOf } from '../../../../../json/values.ts'
import type { KubeObject } from '../objects.ts'
import { isApiError } from './api-error.ts'
import { apiVersionOf, collectionPath } from './api-path.ts'
import { parseLoosely } from './bodies.ts'
import type { ApiResource, ListQuery } from './cluster-api.ts'
import type { ApiRequests } from './requests.ts'

export interface Page {
  readonly objects: readonly KubeObject[]
  /** The list begins, or begins anew because its earlier pages have expired. */
  readonly isFirst: boolean
  /** Of the whole list. */
  readonly resourceVersion: string | undefined
}

const pageSize = 500
const maxStarts = 3
const restartPauseMs = 250
export const metadataOnlyList = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

/**
 * Calls `take` for each page as it arrives; nothing of a page is kept while the next one is read.
 *
 * @throws {ApiError}
 */
export async function readPages(
  requests: ApiRequests,
  resource: ApiResource,
  query: ListQuery,
  take: (page: Page) => void,
): Promise<void> {
  for (let start = 1; ; start++) {
    try {
      let next: string | undefined
      do next = await readPage(requests, resource, { ...query, next }, take)
      while (next !== undefined)
      return
    } catch (error) {
      if (!isApiError(error, 410) || start >= maxStarts) throw error
      await sleep(restartPauseMs * 2 ** start * (1 + Math.random()), undefined, { signal: query.signal }).catch(() => {
        throw error
      })
    }
  }
}

interface PageQuery extends ListQuery {
  readonly next: string | undefined
}

/** @returns where the list continues; undefined: nowhere */
async function readPage(
  requests: ApiRequests,
  resource: ApiResource,
  query: PageQuery,
  take: (page: Page) => void,
): Promise<string | undefined> {
  const { namespace, labelSelector, fieldSelector, metadataOnly, signal, next } = query
  const path = collectionPath(resource, namespace, { labelSelector, fieldSelector, limit: pageSize, continue: next })
  const accept = metadataOnly === true ? metadataOnlyList : 'application/json'
  const { text } = await requests.ask({ method: 'GET', path, headers: { accept } }, { signal })
  const list = parseLoosely(text)
  const objects = objectsOf(fieldOf(list, 'items')).flatMap((item) => toObject(item, resource) ?? [])
  take({ objects, isFirst: next === undefined, resourceVersion: textOf(fieldAt(list, 'metadata', 'resourceVersion')) })
  return textOf(fieldAt(list, 'metadata', 'continue'))
}

/** Entries of lists lack kind and version, and those without spec have those of the form. */
export function toObject(item: unknown, resource: ApiResource): KubeObject | undefined {
  if (!isObject(item) || textOf(fieldAt(item, 'metadata', 'name')) === undefined) return undefined
  item['apiVersion'] = apiVersionOf(resource)
  item['kind'] = resource.kind
  return item as JsonObject as KubeObject
}
