/** Lists of build servers, which hand them out in pages. */

const mostPages = 10

/** What a server lists. */
export interface ListedItem {
  /** 0: the item has none. */
  readonly id: number
}

interface PageRules<Item> {
  /** Items of a page that is not the last one. */
  readonly length: number
  /** Whether the items so far suffice. Default: all are wanted. */
  isEnough?(items: readonly Item[]): boolean
}

/**
 * The items of up to ten pages, each once: new ones push others to the next page.
 *
 * @param load A page, from 1; undefined: there is no such list
 */
export async function readPages<Item extends ListedItem>(
  load: (page: number) => Promise<readonly Item[] | undefined>,
  { length, isEnough = () => false }: PageRules<Item>,
): Promise<readonly Item[] | undefined> {
  const items = new Map<unknown, Item>()
  for (let page = 1; page <= mostPages; page++) {
    const loaded = await load(page)
    if (loaded === undefined && page === 1) return undefined
    for (const item of loaded ?? []) items.set(item.id || item, item)
    if (loaded === undefined || loaded.length < length || isEnough([...items.values()])) break
  }
  return [...items.values()]
}

/** The same path for the first page as without pages, so that it is one resource. */
export function toPagePath(path: string, page: number): string {
  return page === 1 ? path : `${path}${path.includes('?') ? '&' : '?'}page=${page}`
}
