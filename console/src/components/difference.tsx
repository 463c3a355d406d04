/** What is stored beside what will be. */
import { isSame } from '../model/edits.ts'
import { DataTable } from './data-table.tsx'
import { Name } from './name.tsx'

interface ChangedValue {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** Heads of the columns. */
interface Heads {
  readonly field: string
  readonly before: string
  readonly after: string
}

interface DifferenceProps {
  readonly values: readonly ChangedValue[]
  readonly heads?: Heads
  readonly label?: string
}

export function Difference({
  values,
  heads = { field: 'Setting', before: 'Stored', after: 'Yours' },
  label = 'Review changes',
}: DifferenceProps) {
  return (
    <div class="scrolls">
      <DataTable
        label={label}
        rows={values}
        keyOf={({ name }) => name}
        columns={[
          { key: 'field', head: heads.field, cell: ({ name }) => name },
          { key: 'before', head: heads.before, cell: ({ before }) => <Value value={before} /> },
          { key: 'after', head: heads.after, cell: ({ after }) => <Value value={after} /> },
        ]}
      />
    </div>
  )
}

function Value({ value }: { value: unknown }) {
  if (isSame(value, undefined)) return <span class="muted">none</span>
  if (typeof value === 'boolean') return <>{value ? 'yes' : 'no'}</>
  if (typeof value !== 'object') return <Name text={String(value)} max={200} />
  return <pre class="value">{JSON.stringify(value, undefined, 1)}</pre>
}
