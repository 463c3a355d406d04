/** A row for each application, and a column for each environment. */
import { to } from '../address.ts'
import type { ServerGroup } from '../model/server-groups.ts'
import { type Column, DataTable } from './data-table.tsx'
import { DeployedCell, type Landscape, Promotion, Unread, UnreadNotice, useDeployed, useFirstBatch } from './deployed.tsx'
import { Name } from './name.tsx'
import { Star } from './star.tsx'

interface EnvironmentMatrixProps {
  /** What its first read is kept for. */
  readonly screen: string
  readonly label: string
  readonly applications: readonly string[]
  /** Applications that are read in the same call. */
  readonly batchOf: (application: string) => readonly string[]
  readonly landscape: Landscape
  /** Names of the environments that are shown. */
  readonly columns: readonly string[]
  readonly isShown?: (group: ServerGroup) => boolean
}

const rowHeight = 66

export function EnvironmentMatrix({ screen, label, applications, batchOf, landscape, columns, isShown }: EnvironmentMatrixProps) {
  const cell = (environment: string) => (application: string) => (
    <Cell {...{ application, environment, landscape, isShown }} batch={batchOf(application)} />
  )
  const all: Column<string>[] = [
    {
      key: ' star',
      head: 'Favourite',
      isBare: true,
      width: '2rem',
      cell: (name) => <Star application={name} />,
      hideBelow: 'phone',
    },
    {
      key: ' application',
      head: 'Application',
      width: 'minmax(8rem, 1fr)',
      cell: (name) => (
        <a class="row-title" href={to.application(name)}>
          <Name text={name} max={40} />
        </a>
      ),
    },
    ...columns.map((name) => ({ key: name, head: name, width: 'minmax(11rem, 2fr)', cell: cell(name) })),
  ]
  const [first] = applications
  const live = useFirstBatch(screen, first === undefined ? undefined : batchOf(first))
  return (
    <div class={columns.length > 4 ? 'sideways' : ''}>
      <UnreadNotice live={live} />
      <div class="panel is-flush">
        <DataTable
          label={label}
          columns={all}
          rows={applications}
          keyOf={(name) => name}
          rowHeight={rowHeight}
          heldOf={columns.join()}
        />
      </div>
    </div>
  )
}

interface CellProps {
  readonly application: string
  readonly environment: string
  readonly batch: readonly string[]
  readonly landscape: Landscape
  readonly isShown: ((group: ServerGroup) => boolean) | undefined
}

function Cell({ application, environment, batch, landscape, isShown }: CellProps) {
  const { found, error } = useDeployed(application, batch, landscape, isShown)
  if (found === undefined) return <Unread error={error} />
  const deployed = found.get(environment)
  const before = landscape.names.slice(0, landscape.names.indexOf(environment))
  const earlier = before.flatMap((name) => found.get(name) ?? []).at(-1)
  const none = <span class="muted">–</span>
  if (deployed === undefined) {
    return earlier === undefined ? none : <Promotion {...{ application, earlier, landscape, none }} target={environment} />
  }
  return <DeployedCell {...{ application, deployed, earlier, landscape }} />
}
