/** What is stored beside what will be. */
import { isSame } from '../model/edits.ts'
import { settingsWords } from '../settings-words.ts'
import { words } from '../words.ts'
import { DataTable } from './data-table.tsx'
import { Name } from './name.tsx'

export interface ChangedValue {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

export function Difference({ values }: { values: readonly ChangedValue[] }) {
  return (
    <div class="scrolls">
      <DataTable
        label={settingsWords.review}
        rows={values}
        keyOf={({ name }) => name}
        columns={[
          { key: 'field', head: settingsWords.field, cell: ({ name }) => name },
          { key: 'before', head: settingsWords.before, cell: ({ before }) => <Value value={before} /> },
          { key: 'after', head: settingsWords.after, cell: ({ after }) => <Value value={after} /> },
        ]}
      />
    </div>
  )
}

function Value({ value }: { value: unknown }) {
  if (isSame(value, undefined)) return <span class="muted">{settingsWords.none}</span>
  if (typeof value === 'boolean') return <>{value ? words.yes : words.no}</>
  if (typeof value !== 'object') return <Name text={String(value)} max={200} />
  return <pre class="value">{JSON.stringify(value, undefined, 1)}</pre>
}
