/** A list of any length, of which only the rows near the view are in the page. */
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { NewRows, useHeldRows } from './held-rows.tsx'
import { kept } from './kept.tsx'
import { type RowSizes, useRowsInView } from './rows-in-view.ts'

interface VirtualListProps<Item> extends Omit<RowSizes, 'rowHeight'> {
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  readonly rowHeight: number | ((item: Item) => number)
  readonly row: (item: Item) => ComponentChildren
  readonly label?: string
  readonly class?: string
  /** For a list that changes while it is read: what its rows are of, such as the filter. Rows then keep their places. */
  readonly heldOf?: string
}

export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { items, keyOf, rowHeight, row, label, class: style = '', heldOf, ...sizes } = props
  const list = useRef<HTMLUListElement>(null)
  const { rows, ...held } = useHeldRows(list, items, keyOf, heldOf)
  const shown = rows.map(({ item }) => item)
  const heightAt = typeof rowHeight === 'number' ? rowHeight : (at: number) => rowHeight(shown[at] as Item)
  const { places, before, after, isPart, measure } = useRowsInView(list, shown.map(keyOf), { ...sizes, rowHeight: heightAt })
  return (
    <>
      {heldOf !== undefined && <NewRows {...held} />}
      <ul
        class={`rows ${isPart ? 'is-virtual' : ''} ${style}`}
        style={isPart ? { paddingBlock: `${before}px ${after}px` } : undefined}
        aria-label={label}
        ref={list}
      >
        {places.map((at) => {
          const item = shown[at] as Item
          const place = isPart && { 'aria-posinset': at + 1, 'aria-setsize': shown.length }
          return (
            <li key={keyOf(item)} ref={measure} data-index={at} class={rows[at]?.isGone ? 'is-gone' : undefined} {...place}>
              <Row row={row as AnyRow} item={item} />
            </li>
          )
        })}
      </ul>
    </>
  )
}

type AnyRow = (item: unknown) => ComponentChildren

/** While only the view moves, rows that stay are not drawn again. */
export const Row = kept(({ row, item }: { row: AnyRow; item: unknown }) => <>{row(item)}</>)
