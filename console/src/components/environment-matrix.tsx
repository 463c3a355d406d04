/** A row for each application, and a column for each environment. */
import { to } from '../address.ts'
import type { ServerGroup } from '../model/server-groups.ts'
import { DataTable } from './data-table.tsx'
import { DeployedCell, type Landscape, Promotion, Unread, UnreadNotice, useBatches, useDeployed } from './deployed.tsx'
import { Name } from './name.tsx'
import { Star } from './star.tsx'

interface EnvironmentMatrixProps {
  /** What its first read is kept for. */
  readonly screen: string
  readonly label: string
  readonly applications: readonly string[]
  readonly landscape: Landscape
  /** Names of the environments that are shown. */
  readonly columns: readonly string[]
  readonly isShown?: (group: ServerGroup) => boolean
}

export function EnvironmentMatrix({ screen, label, applications, columns, ...of }: EnvironmentMatrixProps) {
  const { batchOf, first } = useBatches(screen, applications)
  return (
    <div class={columns.length > 4 ? 'sideways' : ''}>
      <UnreadNotice live={first} />
      <div class="panel is-flush">
        <DataTable
          label={label}
          columns={[
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
            ...columns.map((environment) => ({
              key: environment,
              head: environment,
              width: 'minmax(11rem, 2fr)',
              cell: (name: string) => <Cell application={name} environment={environment} batch={batchOf(name)} {...of} />,
            })),
          ]}
          rows={applications}
          keyOf={(name) => name}
          rowHeight={66}
          heldOf={columns.join()}
        />
      </div>
    </div>
  )
}

interface CellProps extends Pick<EnvironmentMatrixProps, 'landscape' | 'isShown'> {
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
