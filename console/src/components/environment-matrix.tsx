/** Applications as a table, favourites first, with what is deployed of each: in columns of its own, or one for each environment. */
import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import { favourites, toggleFavourite } from '../model/recent.ts'
import type { ServerGroup } from '../model/server-groups.ts'
import { type Column, DataTable } from './data-table.tsx'
import { DeployedCell, type Landscape, Promotion, Unread, UnreadNotice, useBatches, useDeployed } from './deployed.tsx'
import { Name, NameLink } from './name.tsx'

interface ApplicationTableProps<Row> {
  readonly label: string
  /** What its first read is kept for. */
  readonly screen: string
  readonly rows: readonly Row[]
  /** After its name; what is deployed of a row is read together with a batch of its neighbours. */
  readonly columns: (batchOf: (name: string) => readonly string[]) => readonly Column<Row>[]
  readonly rowHeight: number
  /** The order, where it can be chosen. */
  readonly sort?: string
  readonly heldOf: string
}

export function ApplicationTable<Row extends { readonly name: string; readonly description?: string | null }>(
  props: ApplicationTableProps<Row>,
) {
  const { label, screen, rows, columns, sort, heldOf, ...table } = props
  const first = favourites.value
  const shown = useMemo(() => {
    const isFirst = ({ name }: Row) => Number(first.includes(name))
    return rows.toSorted((a, b) => isFirst(b) - isFirst(a))
  }, [rows, first])
  const names = useMemo(() => shown.map(({ name }) => name), [shown])
  const deployed = useBatches(screen, names)
  return (
    <>
      <UnreadNotice live={deployed.first} />
      <div class="panel is-flush">
        <DataTable
          label={label}
          columns={[
            { key: ' star', head: 'Favourite', isBare: true, width: '2rem', cell: ({ name }) => <Star application={name} /> },
            {
              key: ' name',
              head: 'Application',
              width: 'minmax(8rem, 1.5fr)',
              cell: (row) => <Title {...row} />,
              ...(sort !== undefined && { sort: '' }),
            },
            ...columns(deployed.batchOf),
          ]}
          rows={shown}
          keyOf={({ name }) => name}
          heldOf={[heldOf, ...first].join('\n')}
          sort={sort}
          {...table}
        />
      </div>
    </>
  )
}

function Title({ name, description }: { readonly name: string; readonly description?: string | null }) {
  return (
    <>
      <NameLink class="row-title" href={to.application(name)} text={name} max={40} />
      {description && <Name class="muted cut" text={description} max={80} />}
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

interface MatrixProps {
  readonly screen: string
  readonly label: string
  readonly applications: readonly string[]
  readonly landscape: Landscape
  readonly isShown?: (group: ServerGroup) => boolean
}

export function EnvironmentMatrix({ screen, label, applications, ...of }: MatrixProps) {
  const { names } = of.landscape
  const rows = useMemo(() => applications.map((name) => ({ name })), [applications.join()])
  return (
    <div class={names.length > 4 ? 'sideways' : ''}>
      <ApplicationTable
        label={label}
        screen={screen}
        rows={rows}
        rowHeight={66}
        heldOf={names.join()}
        columns={(batchOf) =>
          names.map((environment) => ({
            head: environment,
            width: 'minmax(11rem, 2fr)',
            cell: ({ name }) => <Cell application={name} environment={environment} batch={batchOf(name)} {...of} />,
          }))
        }
      />
    </div>
  )
}

interface CellProps extends Pick<MatrixProps, 'landscape' | 'isShown'> {
  readonly application: string
  readonly environment: string
  readonly batch: readonly string[]
}

function Cell({ application, environment, batch, landscape, isShown }: CellProps) {
  const { found, error } = useDeployed(application, batch, landscape, isShown)
  if (found === undefined) return <Unread error={error} />
  const deployed = found.get(environment)
  const before = landscape.names.slice(0, landscape.names.indexOf(environment))
  const earlier = before.flatMap((name) => found.get(name) ?? []).at(-1)
  if (deployed !== undefined) return <DeployedCell {...{ application, deployed, earlier, landscape }} />
  const none = <span class="muted">–</span>
  return earlier === undefined ? none : <Promotion {...{ application, earlier, landscape, none }} target={environment} />
}
