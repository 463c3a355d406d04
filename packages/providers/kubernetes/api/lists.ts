/** Lists of objects, read in pages. */
import { setTimeout as sleep } from 'node:timers/promises'
import { shape } from '@fairlead/base/json/shape.ts'
import { objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { KubeObject } from '../objects.ts'
import { isApiError } from './api-error.ts'
import { type ApiResource, apiVersionOf, collectionPath, type ListQuery } from './cluster-api.ts'
import type { ApiRequests } from './requests.ts'
import { parseLoosely } from './transport.ts'

export interface ObjectPage {
  readonly objects: readonly KubeObject[]
  /** The list begins, or begins anew because its earlier pages have expired. */
  readonly isFirst: boolean
  readonly resourceVersion: string | undefined
}

const pageSize = 500
/** Kind, version and metadata of a list. */
const maxHeadLength = 4096
const maxStarts = 3
const restartPauseMs = 250
const metadataOnlyList =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

const toList = shape({
  items: objectsOf,
  metadata: shape({ resourceVersion: textOf, continue: textOf }),
})
const toNamed = shape({ metadata: shape({ name: textOf }) })

/**
 * Calls `take` for each page as it arrives; nothing of a page is kept while the next one is read.
 *
 * @throws {ApiError}
 */
export async function readPages(
  requests: ApiRequests,
  resource: ApiResource,
  query: ListQuery,
  take: (page: ObjectPage) => void,
): Promise<void> {
  for (let start = 1; ; start++) {
    try {
      return await readAll(requests, resource, query, take)
    } catch (error) {
      if (!isApiError(error, 410) || start >= maxStarts) throw error
      await sleep(restartPauseMs * 2 ** start * (1 + Math.random()), undefined, {
        signal: query.signal,
      }).catch(() => {
        throw error
      })
    }
  }
}

async function readAll(
  requests: ApiRequests,
  resource: ApiResource,
  { namespace, labelSelector, fieldSelector, metadataOnly, signal }: ListQuery,
  take: (page: ObjectPage) => void,
): Promise<void> {
  const accept = metadataOnly === true ? metadataOnlyList : 'application/json'
  const ask = (next: string | undefined) => {
    const path = collectionPath(resource, namespace, {
      labelSelector,
      fieldSelector,
      limit: pageSize,
      continue: next,
    })
    return requests.ask({ method: 'GET', path, headers: { accept } }, { signal })
  }
  let asked: ReturnType<typeof ask> | undefined = ask(undefined)
  for (let isFirst = true; asked !== undefined; isFirst = false) {
    const { text } = await asked
    const early = earlyContinuation(text)
    // The server makes the next page while this one is parsed.
    asked = early === undefined ? undefined : ask(early)
    asked?.catch(() => {})
    const { items, metadata } = toList(parseLoosely(text))
    const objects = items.flatMap((item) => toObject(item, resource) ?? [])
    take({ objects, isFirst, resourceVersion: metadata.resourceVersion })
    const next = metadata.continue
    if (asked === undefined && next !== undefined) asked = ask(next)
  }
}

/** Where the list continues, if its metadata come first, as API servers write them. */
function earlyContinuation(text: string): string | undefined {
  const head = text.slice(0, text.indexOf('"items"'))
  const [, token] = /"continue":"([A-Za-z0-9_=+/-]+)"/.exec(head.slice(0, maxHeadLength)) ?? []
  return token
}

/** Entries of lists lack kind and version, and those without spec have those of the form. */
export function toObject(item: unknown, resource: ApiResource): KubeObject | undefined {
  if (toNamed(item).metadata.name === undefined) return undefined
  return Object.assign(item as KubeObject, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
  })
}
