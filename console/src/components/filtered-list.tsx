/** A list of many rows below its filter, which the address holds. */
import type { VNode } from 'preact'
import { words } from '../words.ts'
import { FilterField, useQueryChange } from './filter-field.tsx'
import { EmptyState } from './states.tsx'
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
}

export function FilteredList<Item>({ filter, items, noMatch, ...list }: FilteredListProps<Item>) {
  const change = useQueryChange()
  return (
    <>
      <div class="filters">
        <FilterField value={filter} />
      </div>
      {items.length === 0 ? (
        <EmptyState icon="search" text={noMatch}>
          <button type="button" class="button" onClick={() => change({ q: undefined })}>
            {words.clearFilters}
          </button>
        </EmptyState>
      ) : (
        <div class="panel is-flush">
          <VirtualList items={items} heldOf={filter} {...list} />
        </div>
      )}
    </>
  )
}
