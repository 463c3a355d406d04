/** A table of rows that may be links; columns of less weight are left out on narrow screens. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { words } from '../words.ts'
import { Button } from './button.tsx'

export interface Column<Row> {
  readonly key: string
  readonly head: string
  /** Its head is for screen readers only. */
  readonly isBare?: true
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
}

/** Rows that are drawn at first, and more of them at each request. */
const step = 500

export function DataTable<Row>({ label, columns, rows, keyOf }: DataTableProps<Row>) {
  const [max, setMax] = useState(step)
  const table = (
    <table class="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.key} scope="col" class={styleOf(column)}>
              {column.isBare ? <span class="visually-hidden">{column.head}</span> : column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, max).map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column) => (
              <td key={column.key} class={styleOf(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
  if (rows.length <= max) return table
  return (
    <>
      {table}
      <p class="panel-note row">
        {words.cut(max, rows.length)}
        <Button small onClick={() => setMax(max + step)}>
          {words.showMore}
        </Button>
      </p>
    </>
  )
}

function styleOf<Row>({ align, hideBelow, grow }: Column<Row>): string {
  return [align === 'end' && 'end', hideBelow !== undefined && `hide-${hideBelow}`, grow && 'grow'].filter(Boolean).join(' ')
}
