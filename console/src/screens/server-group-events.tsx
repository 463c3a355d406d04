/** What happened to a server group: events of its provider and its instances, and how it was scaled. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { DataTable } from '../components/data-table.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { type EventRow, toEvents } from '../model/events.ts'
import { clusterOf, groupPlace, instancesOf, type ServerGroup } from '../model/server-groups.ts'

interface EventsProps {
  readonly application: string
  readonly group: ServerGroup
}

export function ServerGroupEvents({ application, group }: EventsProps) {
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
  const ofInstances = toEvents([], instancesOf(group))
  const table = (label: string, rows: readonly EventRow[]) => <Events {...{ label, rows, application, group }} />
  const none = <EmptyState icon="list" text="Its provider reports no events." />
  return (
    <div class="stack">
      <Panel title="Events" flush={ofInstances.length > 0 || (events.reading.value.body ?? []).length > 0}>
        <Loaded live={events} empty={ofInstances.length === 0 ? none : table('Events', ofInstances)}>
          {(found) => table('Events', toEvents(found, instancesOf(group)))}
        </Loaded>
      </Panel>
      <Panel title="Scaling activities" flush={(activities.reading.value.body ?? []).length > 0}>
        <Loaded live={activities} empty={<EmptyState icon="resize" text="It has not been scaled." />}>
          {(found) => table('Scaling activities', toEvents(found))}
        </Loaded>
      </Panel>
    </div>
  )
}

function Events({ label, rows, application, group }: EventsProps & { label: string; rows: readonly EventRow[] }) {
  const toInstance = (id: string) => to.instance(application, { ...groupPlace(group), id })
  return (
    <DataTable
      label={label}
      rows={rows.map((row, at) => ({ ...row, at }))}
      keyOf={({ at }) => String(at)}
      columns={[
        { head: 'Time', cell: ({ atMs }) => <Time at={atMs} /> },
        {
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
          head: 'Instance',
          hideBelow: 'phone',
          cell: ({ instance }) => instance !== undefined && <NameLink href={toInstance(instance)} text={instance} max={40} />,
        },
        { head: 'State', hideBelow: 'phone', cell: ({ state }) => state },
      ]}
    />
  )
}
