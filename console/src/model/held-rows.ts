/** Rows of a list that changes while it is read: what is under the reader's eyes stays where it is. */

export interface HeldRow<Item> {
  readonly item: Item
  /** Shown for a while after it has left the list. */
  readonly isGone: boolean
}

interface HeldRows<Item> {
  readonly rows: readonly HeldRow<Item>[]
  /** Items that wait, because rows would move if they were shown. */
  readonly waiting: number
}

/**
 * The rows in the order in which they are shown, with their current values. Items below the last of them move nothing, and are added.
 *
 * @param shown What the reader sees; undefined when the reader looks elsewhere.
 */
export function holdRows<Item>(
  shown: readonly Item[] | undefined,
  current: readonly Item[],
  keyOf: (item: Item) => string,
): HeldRows<Item> {
  if (shown === undefined || shown.length === 0) return { rows: current.map((item) => ({ item, isGone: false })), waiting: 0 }
  const byKey = new Map(current.map((item) => [keyOf(item), item]))
  const known = new Set(shown.map(keyOf))
  const last = current.findLastIndex((item) => known.has(keyOf(item)))
  const held = shown.map((item) => {
    const now = byKey.get(keyOf(item))
    return { item: now ?? item, isGone: now === undefined }
  })
  const isNew = (item: Item) => !known.has(keyOf(item))
  // Where all rows are gone, what is there now is no row below them.
  const added = last === -1 ? [] : current.slice(last + 1)
  return {
    rows: [...held, ...added.map((item) => ({ item, isGone: false }))],
    waiting: current.filter(isNew).length - added.length,
  }
}
