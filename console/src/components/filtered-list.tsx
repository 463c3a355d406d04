/** What the address filters, below the fields of its filters. */
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

interface FilteredProps {
  /** Fields of the filters. */
  readonly fields: ComponentChildren
  /** Where the filters leave nothing: what they are, in words. */
  readonly noMatch: string | undefined
  /** Values of the query that are the filters. */
  readonly filters?: readonly string[] | undefined
  readonly children: ComponentChildren
}

export function Filtered({ fields, noMatch, filters, children }: FilteredProps) {
  return (
    <>
      <div class="filters">{fields}</div>
      {noMatch === undefined ? children : <NoMatch text={noMatch} {...(filters !== undefined && { filters })} />}
    </>
  )
}

/** A list of many rows. */
export function FilteredList<Item>({ filter, items, noMatch, more, filters, ...list }: FilteredListProps<Item>) {
  const fields = (
    <>
      <FilterField value={filter} />
      {more}
    </>
  )
  return (
    <Filtered fields={fields} noMatch={items.length === 0 ? noMatch : undefined} filters={filters}>
      <div class="panel is-flush">
        <VirtualList items={items} heldOf={filter} {...list} />
      </div>
    </Filtered>
  )
}
