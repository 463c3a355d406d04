/** A table of rows that may be links; columns of less weight are left out on narrow screens. */
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { showing } from '../words.ts'
import { Button } from './button.tsx'
import { NewRows, useHeldRows } from './held-rows.tsx'
import { Menu, type MenuItem } from './menu.tsx'
import { Name } from './name.tsx'

export interface Column<Row> {
  /** Its head unless given. */
  readonly key?: string
  readonly head: string
  /** Its head is for screen readers only. */
  readonly isBare?: true
  /** A text is shown as a name, cut in the middle. */
  readonly cell: (row: Row) => ComponentChildren
  readonly align?: 'end'
  /** Left out below this width: phone is 600 px, narrow 900 px. */
  readonly hideBelow?: 'phone' | 'narrow'
  /** Takes the room that is left. */
  readonly grow?: boolean
}

interface DataTableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** For rows that change while they are read: what they are of, such as the filter. They then keep their places. */
  readonly heldOf?: string
}

/** Rows that are drawn at first, and more of them at each request. */
const step = 500

export function DataTable<Row>({ label, columns, rows, keyOf, heldOf }: DataTableProps<Row>) {
  const [max, setMax] = useState(step)
  const body = useRef<HTMLTableSectionElement>(null)
  const { rows: shown, ...held } = useHeldRows(body, rows, keyOf, heldOf)
  const table = (
    <table class="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.key ?? column.head} scope="col" class={styleOf(column)}>
              {column.isBare ? <span class="visually-hidden">{column.head}</span> : column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {shown.slice(0, max).map(({ item, isGone }) => (
          <tr key={keyOf(item)} class={isGone ? 'is-gone' : undefined}>
            {columns.map((column) => (
              <td key={column.key ?? column.head} class={styleOf(column)}>
                {named(column.cell(item))}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
  return (
    <>
      {heldOf !== undefined && <NewRows {...held} />}
      {table}
      {rows.length > max && (
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

function named(value: ComponentChildren): ComponentChildren {
  return typeof value === 'string' ? <Name text={value} max={80} /> : value
}

function styleOf<Row>({ align, hideBelow, grow }: Column<Row>): string {
  return [align === 'end' && 'end', hideBelow !== undefined && `hide-${hideBelow}`, grow && 'grow'].filter(Boolean).join(' ')
}

/** The last column: a menu of what can be done to the row. */
export function menuColumn<Row>(nameOf: (row: Row) => string, itemsOf: (row: Row) => readonly MenuItem[]): Column<Row> {
  return {
    head: 'Actions',
    align: 'end',
    cell: (row) => <Menu label={`Actions of ${nameOf(row)}`} items={itemsOf(row)} />,
  }
}
