/** A table with headings; columns of less weight are left out on narrow screens. */

import type { ComponentChildren } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { useQueryChange } from '../address.ts'
import { showing } from '../words.ts'
import { Button } from './button.tsx'
import { Menu, type MenuItem } from './menu.tsx'
import { Name } from './text.tsx'
import { Row, useHeldRows, useRowsInView } from './virtual-list.tsx'

export interface Column<Item> {
  /** Its head unless given. */
  readonly key?: string
  readonly head: string
  /** Its head is for screen readers only. */
  readonly isBare?: true
  /** A text is shown as a name, cut in the middle. */
  readonly cell: (row: Item) => ComponentChildren
  readonly align?: 'end'
  /** Left out below this width: phone is 600 px, narrow 900 px. */
  readonly hideBelow?: 'phone' | 'narrow'
  /** Takes the room that is left. */
  readonly grow?: boolean
  /** Track of a grid, where the rows near the view alone are in the page. */
  readonly width?: string
  /** The value of `sort` in the address that orders by it; empty for the usual order. */
  readonly sort?: string
}

interface DataTableProps<Item> {
  readonly label: string
  readonly columns: readonly Column<Item>[]
  readonly rows: readonly Item[]
  readonly keyOf: (row: Item) => string
  /** For rows that change while they are read: what they are of, such as the filter. They then keep their places. */
  readonly heldOf?: string
  /** For many rows, whose columns have widths. */
  readonly rowHeight?: number
  /** Order in the address. */
  readonly sort?: string
}

/** Rows that are drawn, and more of them at each request. */
const step = 500

export function DataTable<Item>({
  label,
  columns,
  rows: all,
  keyOf,
  heldOf,
  rowHeight,
  sort = '',
}: DataTableProps<Item>) {
  const [max, setMax] = useState(step)
  const body = useRef<HTMLTableSectionElement>(null)
  const { rows, bar } = useHeldRows(body, all, keyOf, heldOf)
  const isGrid = rowHeight !== undefined
  const shown = isGrid ? rows : rows.slice(0, max)
  const sizes = isGrid
    ? { rowHeight, overscan: 6, portion: 5 }
    : { rowHeight: 0, drawAll: Number.POSITIVE_INFINITY }
  const { drawn, style } = useRowsInView(body, shown, keyOf, sizes, heldOf)
  const cells = useMemo(() => toCells(columns), [columns])
  return (
    <>
      {bar}
      <table
        class={isGrid ? 'grid-table' : 'table'}
        style={isGrid ? tracksOf(columns) : undefined}
        aria-label={label}
      >
        <thead {...group}>
          <tr {...row}>
            {columns.map((column) => (
              <Head key={column.key ?? column.head} {...column} current={sort} />
            ))}
          </tr>
        </thead>
        <tbody {...group} ref={body} style={style}>
          {drawn.map(({ key, item, attributes }) => (
            <tr {...row} key={key} {...attributes}>
              <Row row={cells} item={item} />
            </tr>
          ))}
        </tbody>
      </table>
      {!isGrid && rows.length > max && (
        <p class="panel-note row">
          {showing(max, rows.length)}
          <Button small onClick={() => setMax(max + step)}>
            Show more
          </Button>
        </p>
      )}
    </>
  )
}

/** What is laid out as a grid stays a table for screen readers. */
const group = { role: 'rowgroup' } as const
const row = { role: 'row' } as const

function toCells<Item>(columns: readonly Column<Item>[]) {
  return (item: unknown) =>
    columns.map((column) => {
      const { key, head, isBare } = column
      const value = column.cell(item as Item)
      return (
        <td
          role="cell"
          key={key ?? head}
          class={styleOf(column)}
          data-head={isBare ? undefined : head}
        >
          {typeof value === 'string' ? <Name text={value} /> : value}
        </td>
      )
    })
}

function Head<Item>({ current, ...column }: Column<Item> & { readonly current: string }) {
  const { head, isBare, sort } = column
  const change = useQueryChange()
  const isSorted = sort === current
  return (
    <th
      role="columnheader"
      scope="col"
      class={styleOf(column)}
      aria-sort={isSorted ? 'ascending' : undefined}
    >
      {sort === undefined ? (
        <span class={isBare ? 'visually-hidden' : ''}>{head}</span>
      ) : (
        <button
          type="button"
          class={`sort ${isSorted ? 'is-chosen' : ''}`}
          onClick={() => change({ sort: sort || undefined })}
        >
          {head}
        </button>
      )}
    </th>
  )
}

/** Tracks of the grid, on wide and on narrow screens. */
function tracksOf<Item>(columns: readonly Column<Item>[]) {
  const tracks = (of: readonly Column<Item>[]) => of.map(({ width }) => width).join(' ')
  return {
    '--columns': tracks(columns),
    '--narrow-columns': tracks(columns.filter(({ hideBelow }) => hideBelow !== 'narrow')),
  }
}

function styleOf<Item>({ align, hideBelow, grow }: Column<Item>) {
  return [align === 'end' && 'end', hideBelow !== undefined && `hide-${hideBelow}`, grow && 'grow']
    .filter(Boolean)
    .join(' ')
}

/** The last column: a menu of what can be done to the row. */
export function menuColumn<Row>(
  nameOf: (row: Row) => string,
  itemsOf: (row: Row) => readonly MenuItem[],
): Column<Row> {
  return {
    head: 'Actions',
    align: 'end',
    cell: (row) => <Menu label={`Actions of ${nameOf(row)}`} items={itemsOf(row)} />,
  }
}
