/** Lists of objects of cloud providers, and the frame of the screens that show them. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import { Beside } from '../components/beside.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { type Filter, Filters, NoMatch } from '../components/filter-field.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { EmptyState } from '../components/states.tsx'
import type { ScreenProps } from '../screen.ts'
import { capital } from '../words.ts'

import { InfrastructureHead } from './infrastructure-head.tsx'

/** What identifies an object of a cloud provider. */
export interface Place {
  readonly provider: string
  readonly account: string
  readonly region: string
  readonly name: string
}

/** What lists of infrastructure are filtered by, besides their text. */
const placeKeys = ['provider', 'account', 'region'] as const

type SomewherePlace = { readonly [Key in (typeof placeKeys)[number]]?: string | null | undefined }

/** The address of a chosen object names its place, which filters nothing. */
function filtersOf(query: ScreenProps['query']): ScreenProps['query'] {
  return query['name'] === undefined ? query : { ...(query['q'] !== undefined && { q: query['q'] }) }
}

/** What leaves the address with the first filter: the place of the chosen object. */
function chosenIn(query: ScreenProps['query']): readonly string[] {
  return query['name'] === undefined ? [] : ['name', ...placeKeys]
}

function isAt(place: SomewherePlace, filters: ScreenProps['query']): boolean {
  return placeKeys.every((key) => filters[key] === undefined || place[key] === filters[key])
}

interface PlaceFiltersProps {
  readonly query: ScreenProps['query']
  /** Where there is something. */
  readonly places: readonly SomewherePlace[]
}

export function PlaceFilters({ query, places }: PlaceFiltersProps) {
  const filters = filtersOf(query)
  const ofPlaces = placeKeys.map((key): Filter => {
    const choices = [...new Set(places.flatMap((place) => place[key] || []))].toSorted((a, b) => a.localeCompare(b))
    return { name: key, label: capital(key), any: `All ${key}s`, value: filters[key], choices, clears: chosenIn(query) }
  })
  return <Filters filters={[{ name: 'q', label: 'Filter' }, ...ofPlaces]} />
}

interface ListProps<Row> {
  readonly label: string
  readonly empty: string
  readonly query: ScreenProps['query']
  readonly rows: readonly Row[]
  readonly textOfRow: (row: Row) => string
  readonly placeOfRow: (row: Row) => SomewherePlace
  readonly keyOf: (row: Row) => string
  readonly columns: readonly Column<Row>[]
  /** Its filters stand elsewhere. */
  readonly isBare?: boolean
}

export function List<Row>(props: ListProps<Row>) {
  const { label, empty, query, rows, textOfRow, placeOfRow, keyOf, columns, isBare = false } = props
  const filters = filtersOf(query)
  const { q = '' } = filters
  const shown = rows.filter((row) => textOfRow(row).toLowerCase().includes(q.toLowerCase()) && isAt(placeOfRow(row), filters))
  if (rows.length === 0) return <EmptyState text={empty} />
  const filterNames = query['name'] === undefined ? ['q', ...placeKeys] : ['q']
  const described = [q, ...placeKeys.map((key) => filters[key])].filter(Boolean).join(', ')
  return (
    <>
      {!isBare && <PlaceFilters query={query} places={rows.map(placeOfRow)} />}
      {shown.length === 0 ? (
        <NoMatch text={`None of the ${label.toLowerCase()} matches “${described}”.`} filters={filterNames} />
      ) : (
        <div class="panel is-flush">
          <div class="panel-body">
            <DataTable label={label} rows={shown} keyOf={keyOf} columns={columns} />
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
      head: 'Name',
      grow: true,
      cell: (place) => <NameLink href={toPlace(place)} text={place.name} max={70} />,
    },
    { key: 'account', head: 'Account', cell: ({ account }) => <Name text={account} max={40} /> },
    { key: 'region', head: 'Region', cell: ({ region }) => <Name text={region} max={30} /> },
    { key: 'provider', head: 'Provider', hideBelow: 'phone', cell: ({ provider }) => provider },
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
  /** In the address. */
  readonly section: string
  readonly chosen?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function InfrastructureFrame({ tab, section, chosen, actions, children }: FrameProps) {
  return (
    <>
      <InfrastructureHead tab={tab} actions={actions} />
      <Beside label={tab} back={{ href: to.infrastructure(section), label: tab }} side={chosen}>
        {children}
      </Beside>
    </>
  )
}
