/** A list of many rows below its filter, which the address holds. */
import type { ComponentChildren, VNode } from 'preact'
import { FilterField, NoMatch } from './filter-field.tsx'
import { VirtualList } from './virtual-list.tsx'

interface FilteredListProps<Item> {
  readonly filter: string
  /** Those that the filter leaves. */
  readonly items: readonly Item[]
  /** Instead of the list when the filter leaves none. */
  readonly noMatch: string
  readonly keyOf: (item: Item) => string
  readonly rowHeight: number
  readonly label: string
  readonly row: (item: Item) => VNode
  /** Further filters, and their names in the query. */
  readonly more?: ComponentChildren
  readonly filters?: readonly string[]
}

export function FilteredList<Item>({ filter, items, noMatch, more, filters, ...list }: FilteredListProps<Item>) {
  return (
    <>
      <div class="filters">
        <FilterField value={filter} />
        {more}
      </div>
      {items.length === 0 ? (
        <NoMatch text={noMatch} {...(filters !== undefined && { filters })} />
      ) : (
        <div class="panel is-flush">
          <VirtualList items={items} heldOf={filter} {...list} />
        </div>
      )}
    </>
  )
}
