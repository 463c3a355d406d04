/** What happened to a server group: events of its provider and its instances, and how it was scaled. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { clusterOf, groupPlace, instancesOf, type ServerGroup, toEvents } from '../model/server-groups.ts'

export function ServerGroupEvents({ application, group }: { application: string; group: ServerGroup }) {
  const { account, region, name: serverGroupName } = groupPlace(group)
  const query = { region, provider: group.cloudProvider ?? group.type ?? '' }
  const events = useLive(
    '/applications/{application}/serverGroups/{account}/{serverGroupName}/events',
    { path: { application, account, serverGroupName }, query },
    { refresh: 'open' },
  )
  const activities = useLive(
    '/applications/{application}/clusters/{account}/{clusterName}/serverGroups/{serverGroupName}/scalingActivities',
    { path: { application, account, clusterName: clusterOf(group), serverGroupName }, query },
    { refresh: 'open' },
  )
  const hrefOf = (id: string) => to.instance(application, { ...groupPlace(group), id })
  const all = (found: unknown) => <EventTable label="Events" rows={toEvents(found, instancesOf(group))} hrefOf={hrefOf} />
  const none = <EmptyState icon="list" text="Its provider reports no events." />
  return (
    <div class="stack">
      <Panel title="Events" flush>
        <Loaded live={events} empty={toEvents([], instancesOf(group)).length === 0 ? none : all([])}>
          {all}
        </Loaded>
      </Panel>
      <Panel title="Scaling activities" flush>
        <Loaded live={activities} empty={<EmptyState icon="resize" text="It has not been scaled." />}>
          {(found) => <EventTable label="Scaling activities" rows={toEvents(found)} />}
        </Loaded>
      </Panel>
    </div>
  )
}

type Event = ReturnType<typeof toEvents>[number]

interface EventTableProps {
  readonly label: string
  readonly rows: readonly Event[]
  /** Of the instances that they happened to. */
  readonly hrefOf?: (id: string) => string
}

export function EventTable({ label, rows, hrefOf }: EventTableProps) {
  const instance: Column<Event> = {
    ...{ head: 'Instance', hideBelow: 'phone' },
    cell: ({ instance: id }) => id !== undefined && <NameLink href={hrefOf?.(id)} text={id} max={40} />,
  }
  return (
    <DataTable
      label={label}
      rows={rows}
      keyOf={(row) => String(rows.indexOf(row))}
      columns={[
        { head: 'Time', cell: ({ atMs }) => <Time at={atMs} /> },
        {
          ...{ head: 'Event', grow: true },
          cell: ({ text, cause }) => (
            <>
              <Name text={text} max={300} />
              {cause !== undefined && (
                <p class="muted">
                  <Name text={cause} max={300} />
                </p>
              )}
            </>
          ),
        },
        ...(hrefOf === undefined ? [] : [instance]),
        { head: 'State', hideBelow: 'phone', cell: ({ state }) => state },
      ]}
    />
  )
}
