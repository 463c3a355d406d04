/** Lists of objects of cloud providers, and the frame of the screens that show them. */
import type { ComponentChildren } from 'preact'
import { adminWords } from '../admin-words.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { FilterField, NoMatch } from '../components/filter-field.tsx'
import { Name } from '../components/name.tsx'
import { EmptyState } from '../components/states.tsx'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { InfrastructureHead } from './infrastructure-head.tsx'

/** What identifies an object of a cloud provider. */
export interface Place {
  readonly provider: string
  readonly account: string
  readonly region: string
  readonly name: string
}

const maxShown = 500

interface ListProps<Row> {
  readonly label: string
  readonly empty: string
  readonly filter: string
  readonly rows: readonly Row[]
  readonly textOfRow: (row: Row) => string
  readonly keyOf: (row: Row) => string
  readonly columns: readonly Column<Row>[]
}

export function List<Row>({ label, empty, filter, rows, textOfRow, keyOf, columns }: ListProps<Row>) {
  const shown = rows.filter((row) => textOfRow(row).toLowerCase().includes(filter.toLowerCase()))
  if (rows.length === 0) return <EmptyState text={empty} />
  return (
    <>
      <div class="filters">
        <FilterField value={filter} />
        {shown.length > maxShown && <span class="muted">{words.cut(maxShown, shown.length)}</span>}
      </div>
      {shown.length === 0 ? (
        <NoMatch text={adminWords.noMatch(label.toLowerCase(), filter)} />
      ) : (
        <div class="panel is-flush">
          <div class="panel-body">
            <DataTable label={label} rows={shown.slice(0, maxShown)} keyOf={keyOf} columns={columns} />
          </div>
        </div>
      )}
    </>
  )
}

export const placeText = ({ provider, account, region, name }: Place) => [name, account, region, provider].join(' ')
export const placeKey = ({ provider, account, region, name }: Place) => [provider, account, region, name].join('\n')

/** @param toPlace The address of an object. */
export function placeColumns(toPlace: (place: Place) => string): readonly Column<Place>[] {
  return [
    {
      key: 'name',
      head: words.name,
      grow: true,
      cell: (place) => (
        <a href={toPlace(place)}>
          <Name text={place.name} max={70} />
        </a>
      ),
    },
    { key: 'account', head: words.account, cell: ({ account }) => <Name text={account} max={40} /> },
    { key: 'region', head: words.region, cell: ({ region }) => <Name text={region} max={30} /> },
    { key: 'provider', head: words.provider, hideBelow: 'phone', cell: ({ provider }) => provider },
  ]
}

/** The chosen object above the list of all. */
export function chosenOf(query: ScreenProps['query']): Place | undefined {
  const { provider, account, region, name } = query
  if (provider === undefined || account === undefined || region === undefined || name === undefined) return undefined
  return { provider, account, region, name }
}

interface FrameProps {
  readonly tab: string
  readonly chosen?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function InfrastructureFrame({ tab, chosen, actions, children }: FrameProps) {
  return (
    <>
      <InfrastructureHead tab={tab} actions={actions} />
      <div class="stack">
        {chosen}
        <div>{children}</div>
      </div>
    </>
  )
}
