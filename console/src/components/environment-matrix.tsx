/** Applications as a table, favourites first, with what is deployed of each: in columns of its own, or one for each environment. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import { favourites, toggleFavourite } from '../model/recent.ts'
import type { ServerGroup } from '../model/server-groups.ts'
import { type Column, DataTable } from './data-table.tsx'
import {
  DeployedCell,
  type Landscape,
  Promotion,
  Unread,
  UnreadNotice,
  useBatches,
  useDeployed,
} from './deployed.tsx'
import { Name, NameLink } from './text.tsx'

type Found = NonNullable<ReturnType<typeof useDeployed>['found']>
type Show = (found: Found, application: string) => VNode

interface ApplicationTableProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly landscape: Landscape
  readonly isShown?: (group: ServerGroup) => boolean
  /** After its name; `cellOf` makes cells of what is deployed. */
  readonly columns: (cellOf: (show: Show) => Column<Row>['cell']) => readonly Column<Row>[]
  readonly rowHeight: number
  /** The order, where it can be chosen. */
  readonly sort?: string
  readonly heldOf: string
}

export function ApplicationTable<Row extends Application>(props: ApplicationTableProps<Row>) {
  const { label, rows, columns, landscape, isShown, sort, heldOf, rowHeight } = props
  const first = favourites.value
  const shown = useMemo(() => {
    const isFirst = ({ name }: Row) => Number(first.includes(name))
    return rows.toSorted((a, b) => isFirst(b) - isFirst(a))
  }, [rows, first])
  const names = useMemo(() => shown.map(({ name }) => name), [shown])
  const deployed = useBatches(landscape, names)
  const cellOf =
    (show: Show) =>
    ({ name }: Row) => (
      <Cell
        application={name}
        batch={deployed.batchOf(name)}
        landscape={landscape}
        isShown={isShown}
        show={show}
      />
    )
  return (
    <>
      <UnreadNotice live={deployed.first} />
      <div class="panel is-flush">
        <DataTable
          label={label}
          columns={[
            {
              key: ' star',
              head: 'Favourite',
              isBare: true,
              width: '2rem',
              cell: ({ name }) => <Star application={name} />,
            },
            {
              key: ' name',
              head: 'Application',
              width: 'minmax(8rem, 1.5fr)',
              cell: (row) => <Title {...row} />,
              ...(sort !== undefined && { sort: '' }),
            },
            ...columns(cellOf),
          ]}
          rows={shown}
          keyOf={({ name }) => name}
          heldOf={[heldOf, ...first].join('\n')}
          sort={sort}
          rowHeight={rowHeight}
        />
      </div>
    </>
  )
}

interface CellProps extends Pick<ApplicationTableProps<never>, 'landscape' | 'isShown'> {
  readonly application: string
  readonly batch: readonly string[]
  readonly show: Show
}

/** A part of what is deployed of an application, once that is known. */
function Cell({ application, batch, landscape, isShown, show }: CellProps) {
  const { found, error } = useDeployed(application, batch, landscape, isShown)
  return found === undefined ? <Unread error={error} /> : show(found, application)
}

interface Application {
  readonly name: string
  readonly description?: string | null
}

function Title({ name, description }: Application) {
  return (
    <>
      <NameLink class="row-title" href={to.application(name)} text={name} max={40} />
      {description && <Name class="muted cut" text={description} />}
    </>
  )
}

/** Makes an application a favourite of the reader in this browser. */
function Star({ application }: { application: string }) {
  const isOn = favourites.value.includes(application)
  return (
    <button
      type="button"
      class={`star ${isOn ? 'is-on' : ''}`}
      aria-pressed={isOn}
      aria-label={`Favourite: ${application}`}
      title={isOn ? 'Remove from favourites' : 'Show first'}
      data-key="*"
      onClick={() => toggleFavourite(application)}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="m8 1.75 1.95 3.95 4.3.65-3.1 3.05.7 4.3L8 11.7l-3.85 2 .7-4.3-3.1-3.05 4.3-.65z" />
      </svg>
    </button>
  )
}

interface MatrixProps
  extends Pick<ApplicationTableProps<never>, 'label' | 'landscape' | 'isShown'> {
  readonly applications: readonly string[]
}

export function EnvironmentMatrix({ applications, landscape, ...table }: MatrixProps) {
  const { names } = landscape
  const rows = useMemo(() => applications.map((name) => ({ name })), [applications.join()])
  const show = (environment: string, found: Found, application: string) => {
    const deployed = found.get(environment)
    const before = names.slice(0, names.indexOf(environment))
    const earlier = before.flatMap((name) => found.get(name) ?? []).at(-1)
    const target = landscape.ownName(application, environment)
    const shared = { application, target }
    if (deployed !== undefined)
      return <DeployedCell {...shared} deployed={deployed} earlier={earlier} />
    return earlier === undefined || !landscape.reaches(application, environment) ? (
      <span class="muted">–</span>
    ) : (
      <Promotion {...shared} earlier={earlier} />
    )
  }
  return (
    <div class={names.length > 4 ? 'sideways' : ''}>
      <ApplicationTable
        {...table}
        landscape={landscape}
        rows={rows}
        rowHeight={66}
        heldOf={names.join()}
        columns={(cellOf) =>
          names.map((environment) => ({
            head: environment,
            width: 'minmax(11rem, 2fr)',
            cell: cellOf((found, application) => show(environment, found, application)),
          }))
        }
      />
    </div>
  )
}
