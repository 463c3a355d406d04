/** What is stored beside what will be. */
import { isSame } from '../model/edits.ts'
import { DataTable } from './data-table.tsx'
import { Name } from './text.tsx'

interface DifferenceProps {
  readonly values: readonly {
    readonly name: string
    readonly before: unknown
    readonly after: unknown
  }[]
  readonly heads?: readonly [field: string, before: string, after: string]
  readonly label?: string
}

export function Difference({
  values,
  heads = ['Setting', 'Stored', 'Yours'],
  label = 'Review changes',
}: DifferenceProps) {
  const [field, before, after] = heads
  return (
    <div class="scrolls">
      <DataTable
        label={label}
        rows={values}
        keyOf={({ name }) => name}
        columns={[
          { head: field, cell: ({ name }) => name },
          { head: before, cell: (value) => <Value value={value.before} /> },
          { head: after, cell: (value) => <Value value={value.after} /> },
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
