/** What happened to a server group: events of its provider and its instances, and how it was scaled. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { type EventRow, toEvents } from '../model/events.ts'
import { accountOf, clusterOf, groupPlace, instancesOf, type ServerGroup } from '../model/server-groups.ts'

interface EventsProps {
  readonly application: string
  readonly group: ServerGroup
}

export function ServerGroupEvents({ application, group }: EventsProps) {
  const account = accountOf(group)
  const provider = group.cloudProvider ?? group.type ?? ''
  const place = { region: group.region, provider }
  const events = useLive(
    '/applications/{application}/serverGroups/{account}/{serverGroupName}/events',
    { path: { application, account, serverGroupName: group.name }, query: place },
    { refresh: 'open' },
  )
  const activities = useLive(
    '/applications/{application}/clusters/{account}/{clusterName}/serverGroups/{serverGroupName}/scalingActivities',
    { path: { application, account, clusterName: clusterOf(group), serverGroupName: group.name }, query: place },
    { refresh: 'open' },
  )
  const ofInstances = toEvents([], instancesOf(group))
  const table = (label: string, rows: readonly EventRow[]) => (
    <Events label={label} rows={rows} application={application} group={group} />
  )
  return (
    <div class="stack">
      <Panel title="Events" flush={ofInstances.length > 0 || (events.reading.value.body ?? []).length > 0}>
        <Loaded
          live={events}
          empty={
            ofInstances.length === 0 ? (
              <EmptyState icon="list" text="Its provider reports no events." />
            ) : (
              table('Events', ofInstances)
            )
          }
        >
          {(found) => table('Events', toEvents(found, instancesOf(group)))}
        </Loaded>
      </Panel>
      <Panel title="Scaling" flush={(activities.reading.value.body ?? []).length > 0}>
        <Loaded live={activities} empty={<EmptyState icon="resize" text="It has not been scaled." />}>
          {(found) => table('Scaling', toEvents(found))}
        </Loaded>
      </Panel>
    </div>
  )
}

function Events({ label, rows, application, group }: EventsProps & { label: string; rows: readonly EventRow[] }) {
  const { account, region } = groupPlace(group)
  const hasInstances = rows.some(({ instance }) => instance !== undefined)
  const columns = columnsOf((id) => to.instance(application, { account, region, id }))
  return (
    <DataTable
      label={label}
      rows={rows.map((row, at) => ({ ...row, at }))}
      keyOf={({ at }) => String(at)}
      columns={hasInstances ? columns : columns.filter(({ key }) => key !== 'instance')}
    />
  )
}

function columnsOf(toInstance: (id: string) => string): readonly Column<EventRow>[] {
  return [
    { key: 'time', head: 'Time', cell: ({ atMs }) => <Time at={atMs} /> },
    {
      key: 'text',
      head: 'Event',
      grow: true,
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
    {
      key: 'instance',
      head: 'Instance',
      hideBelow: 'phone',
      cell: ({ instance }) => instance !== undefined && <NameLink href={toInstance(instance)} text={instance} max={40} />,
    },
    { key: 'state', head: 'State', hideBelow: 'phone', cell: ({ state }) => state ?? '' },
  ]
}
