/** Lists with a filter, above all of objects of cloud providers, with the chosen one beside. */
import type { ComponentChildren } from 'preact'
import { type ScreenProps, to } from '../address.ts'
import type { Live } from '../api/live.ts'
import { Beside } from '../components/beside.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { choiceOf, type Filter, Filters, NoMatch } from '../components/filter-field.tsx'
import { ApplicationHead, EmptyState, Loaded, PageHead } from '../components/screen.tsx'
import { LinkTabs } from '../components/tabs.tsx'
import { type IconName, NameLink } from '../components/text.tsx'
import type { Place } from '../model/infrastructure.ts'
import { capital } from '../words.ts'

const sections = ['load-balancers', 'images', 'security-groups', 'networks', 'accounts']

export function InfrastructureHead({ tab, actions }: { tab: string; actions?: ComponentChildren }) {
  const tabs = sections.map((section) => ({
    label: capital(section.replace('-', ' ')),
    href: to.infrastructure(section),
  }))
  return (
    <PageHead tab={`Infrastructure: ${tab}`} title="Infrastructure" actions={actions}>
      <LinkTabs label="Infrastructure" tabs={tabs} />
    </PageHead>
  )
}

/** What a row is found by: all values are searched, and these have filters. */
type Findable = Readonly<Record<string, string | null | undefined>>
const placeKeys = ['provider', 'account', 'region'] as const

/** What an address chooses, which names the chosen object in its path below an application, else in its query. */
function choiceIn({ params, query: { q = '', ...query } }: ScreenProps) {
  const isInPath = params['name'] !== undefined
  const isChosen = isInPath || query['name'] !== undefined
  // The place of a chosen object filters nothing, and leaves the address with the first filter.
  const filters: Findable = isChosen ? {} : query
  return {
    isChosen,
    q,
    filters,
    keys: isInPath ? [] : placeKeys,
    clears: isChosen ? ['name', ...placeKeys] : [],
  }
}

/** @param places Where there is something. */
export function PlaceFilters({
  screen,
  places,
}: {
  screen: ScreenProps
  places: readonly Findable[]
}) {
  const { keys, filters, clears } = choiceIn(screen)
  const ofPlaces = keys.map((key): Filter => {
    const values = places.map((place) => place[key] ?? '')
    return { ...choiceOf(key, values), value: filters[key] ?? undefined, clears }
  })
  return <Filters filters={[{ name: 'q', label: 'Filter' }, ...ofPlaces]} />
}

interface ListProps<Body, Row> {
  readonly live: Live<Body>
  readonly rowsOf: (body: NonNullable<Body>) => readonly Row[]
  readonly label: string
  readonly icon?: IconName
  readonly empty: string
  /** What makes the first one. */
  readonly create?: ComponentChildren
  readonly screen: ScreenProps
  readonly placeOf: (row: Row) => Findable
  /** All values that it is found by unless given. */
  readonly keyOf?: (row: Row) => string
  /** The first two stay beside a chosen object. */
  readonly columns: readonly Column<Row>[]
  /** Its filters stand elsewhere. */
  readonly isBare?: boolean
}

/** The rows of a read in whatever state it is, those that the address leaves. */
export function List<Body, Row>(props: ListProps<Body, Row>) {
  const { live, rowsOf, icon, empty, create, ...list } = props
  const none = <EmptyState icon={icon} text={empty} children={create} />
  return (
    <Loaded live={live} rows={6} empty={none}>
      {(body) => {
        const rows = rowsOf(body)
        return rows.length === 0 ? none : <Rows rows={rows} {...list} />
      }}
    </Loaded>
  )
}

type RowsProps<Row> = Pick<
  ListProps<unknown, Row>,
  'label' | 'screen' | 'placeOf' | 'keyOf' | 'columns' | 'isBare'
>

function Rows<Row>(props: RowsProps<Row> & { readonly rows: readonly Row[] }) {
  const { rows, label, screen, placeOf, columns, isBare } = props
  const { keyOf = (row: Row) => Object.values(placeOf(row)).join('\n') } = props
  const { isChosen, q, filters } = choiceIn(screen)
  const shown = rows.filter((row) => {
    const place = placeOf(row)
    const isThere = placeKeys.every(
      (key) => filters[key] === undefined || place[key] === filters[key],
    )
    return isThere && Object.values(place).join(' ').toLowerCase().includes(q.toLowerCase())
  })
  const described = [q, ...placeKeys.map((key) => filters[key])].filter(Boolean).join(', ')
  return (
    <>
      {!isBare && <PlaceFilters screen={screen} places={rows.map(placeOf)} />}
      {shown.length === 0 ? (
        <NoMatch
          text={`None of the ${label.toLowerCase()} matches “${described}”.`}
          filters={isChosen ? ['q'] : ['q', ...placeKeys]}
        />
      ) : (
        <div class="panel is-flush">
          <div class="panel-body">
            <DataTable
              label={label}
              rows={shown}
              keyOf={keyOf}
              columns={isChosen ? columns.slice(0, 2) : columns}
            />
          </div>
        </div>
      )}
    </>
  )
}

/** @param toPlace The address of an object. */
export function placeColumns(toPlace: (place: Place) => string): readonly Column<Place>[] {
  return [
    {
      head: 'Name',
      grow: true,
      cell: (place) => <NameLink href={toPlace(place)} text={place.name} max={70} />,
    },
    { head: 'Account', cell: ({ account }) => account },
    { head: 'Region', cell: ({ region }) => region },
    { head: 'Provider', hideBelow: 'phone', cell: ({ provider }) => provider },
  ]
}

/** Its provider is unknown where an address below an application leaves it out. */
export type ChosenPlace = Omit<Place, 'provider'> & { readonly provider: string | undefined }

interface PlaceScreenProps extends ScreenProps {
  readonly section: Parameters<typeof to.places>[0]
  readonly label: string
  readonly actions: ComponentChildren
  readonly panel: (place: ChosenPlace) => ComponentChildren
  readonly children: ComponentChildren
}

/** Objects of one application, or of all that the reader may see. */
export function PlaceScreen({
  params,
  query,
  section,
  label,
  actions,
  panel,
  children,
}: PlaceScreenProps) {
  const { application } = params
  const { account, region, name } = application === undefined ? query : params
  const back = {
    href: to.places(section, application),
    label: application === undefined ? label : `All ${label.toLowerCase()} of ${application}`,
  }
  const isChosen = account !== undefined && region !== undefined && name !== undefined
  return (
    <>
      {application === undefined ? (
        <InfrastructureHead tab={label} actions={actions} />
      ) : (
        <ApplicationHead application={application} tab={label} actions={actions} />
      )}
      <Beside
        label={name ?? label}
        back={back}
        side={isChosen && panel({ provider: query['provider'], account, region, name })}
      >
        {children}
      </Beside>
    </>
  )
}
