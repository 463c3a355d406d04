/** A table with headings of which only the rows near the view are in the page. */
import type { Column } from './data-table.tsx'
import { useQueryChange } from './filter-field.tsx'
import { VirtualList } from './virtual-list.tsx'

export interface GridColumn<Row> extends Pick<Column<Row>, 'head' | 'isBare' | 'cell' | 'hideBelow'> {
  readonly key: string
  /** As a track of a grid. */
  readonly width: string
  /** The value of `sort` in the address that orders by it; empty for the usual order. */
  readonly sort?: string
}

interface GridTableProps<Row> {
  readonly label: string
  readonly columns: readonly GridColumn<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly rowHeight: number
  /** Of the address. */
  readonly sort?: string | undefined
  /** What the rows are of, such as the filter. */
  readonly heldOf: string
}

const asRow = { role: 'row' } as const

export function GridTable<Row>({ label, columns, rows, keyOf, rowHeight, sort = '', heldOf }: GridTableProps<Row>) {
  const template = (of: readonly GridColumn<Row>[]) => of.map(({ width }) => width).join(' ')
  const narrow = columns.filter(({ hideBelow }) => hideBelow !== 'narrow')
  const heads = (
    <div role="rowgroup">
      <div {...asRow} class="grid-row grid-heads">
        {columns.map(({ key, ...column }) => (
          <Head key={key} {...column} current={sort} />
        ))}
      </div>
    </div>
  )
  return (
    <div class="panel is-flush grid-table" style={{ '--columns': template(columns), '--narrow-columns': template(narrow) }}>
      <VirtualList
        label={label}
        items={rows}
        keyOf={keyOf}
        rowHeight={rowHeight}
        heldOf={heldOf}
        tableHead={heads}
        row={(row) => (
          <div {...asRow} class="grid-row">
            {columns.map(({ key, head, isBare, cell, hideBelow }) => (
              <div key={key} role="cell" class={hideBelow && `hide-${hideBelow}`} data-head={isBare ? undefined : head}>
                {cell(row)}
              </div>
            ))}
          </div>
        )}
      />
    </div>
  )
}

type HeadProps = Pick<GridColumn<unknown>, 'head' | 'isBare' | 'sort' | 'hideBelow'> & { readonly current: string }

function Head({ head, isBare, sort, hideBelow, current }: HeadProps) {
  const change = useQueryChange()
  const isSorted = sort === current
  const role = { role: 'columnheader', 'aria-sort': isSorted ? 'ascending' : undefined } as const
  return (
    <div {...role} class={hideBelow && `hide-${hideBelow}`}>
      {sort === undefined ? (
        <span class={isBare ? 'visually-hidden' : ''}>{head}</span>
      ) : (
        <button type="button" class={`sort ${isSorted ? 'is-chosen' : ''}`} onClick={() => change({ sort: sort || undefined })}>
          {head}
        </button>
      )}
    </div>
  )
}
