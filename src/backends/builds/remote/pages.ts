/** Lists of build servers, which hand them out in pages. */
import type { JsonObject } from '../../../json/values.ts'

const mostPages = 10

interface PageRules {
  /** Items of a page that is not the last one. */
  readonly length: number
  /** Whether the items so far suffice. Default: all are wanted. */
  isEnough?(items: readonly JsonObject[]): boolean
}

/**
 * The items of up to ten pages, each once: new ones push others to the next page.
 *
 * @param load A page, from 1; undefined: there is no such list
 */
export async function readPages(
  load: (page: number) => Promise<readonly JsonObject[] | undefined>,
  { length, isEnough = () => false }: PageRules,
): Promise<readonly JsonObject[] | undefined> {
  const items = new Map<unknown, JsonObject>()
  for (let page = 1; page <= mostPages; page++) {
    const loaded = await load(page)
    if (loaded === undefined && page === 1) return undefined
    for (const item of loaded ?? []) items.set(item['id'] ?? item, item)
    if (loaded === undefined || loaded.length < length || isEnough([...items.values()])) break
  }
  return [...items.values()]
}

/** The same path for the first page as without pages, so that it is one resource. */
export function toPagePath(path: string, page: number): string {
  return page === 1 ? path : `${path}${path.includes('?') ? '&' : '?'}page=${page}`
}
