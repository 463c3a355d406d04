/** Rows of a list that changes while it is read: what is under the reader's eyes stays where it is. */

export interface HeldRow<Item> {
  readonly item: Item
  /** Shown for a while after it has left the list. */
  readonly isGone: boolean
}

/**
 * The rows in the order in which they are shown, with their current values. Items below the last of them move nothing, and are added;
 * others wait, because rows would move if they were shown.
 *
 * @param shown What the reader sees; undefined when the reader looks elsewhere.
 */
export function holdRows<Item>(
  shown: readonly Item[] | undefined,
  current: readonly Item[],
  keyOf: (item: Item) => string,
): { readonly rows: readonly HeldRow<Item>[]; readonly waiting: number } {
  const toRow = (item: Item) => ({ item, isGone: false })
  if (shown === undefined || shown.length === 0) return { rows: current.map(toRow), waiting: 0 }
  const byKey = new Map(current.map((item) => [keyOf(item), item]))
  const known = new Set(shown.map(keyOf))
  const held = shown.map((item) => ({
    item: byKey.get(keyOf(item)) ?? item,
    isGone: !byKey.has(keyOf(item)),
  }))
  const last = current.findLastIndex((item) => known.has(keyOf(item)))
  // Where all rows are gone, what is there now is no row below them.
  const added = last === -1 ? [] : current.slice(last + 1)
  return {
    rows: [...held, ...added.map(toRow)],
    waiting:
      byKey
        .keys()
        .filter((key) => !known.has(key))
        .toArray().length - added.length,
  }
}
