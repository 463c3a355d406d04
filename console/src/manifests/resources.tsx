/** Everything of an application that is found in clusters, also what no other list has. */
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import type { Column } from '../components/data-table.tsx'
import { NameLink } from '../components/name.tsx'
import type { ScreenProps } from '../screen.ts'
import { List } from '../screens/place-list.tsx'
import { bareName } from './names.ts'
import { AccountsAway } from './notices.tsx'

type Resource = Schemas['RawResource']

const placeOf = ({ account, namespace, region, name }: Resource) => {
  return { account: account ?? '', location: namespace ?? region ?? '', name }
}
const foundBy = (resource: Resource) => {
  const { location: region, ...place } = placeOf(resource)
  const labels = Object.entries(resource.labels ?? {}).map((label) => label.join('='))
  return { ...place, region, labels: labels.join(' ') }
}

export function Resources(screen: ScreenProps) {
  const { application = '' } = screen.params
  const events = applicationEvents(application, 'infrastructure')
  const live = useLive('/applications/{application}/rawResources', { path: { application } }, { events })
  const columns: readonly Column<Resource>[] = [
    {
      head: 'Name',
      grow: true,
      cell: (resource) => (
        <NameLink
          href={to.manifest(application, placeOf(resource))}
          text={resource.displayName ?? bareName(resource.name)}
          max={60}
        />
      ),
    },
    { head: 'Kind', cell: ({ kind }) => kind ?? '' },
    { head: 'Account', hideBelow: 'phone', cell: (resource) => placeOf(resource).account },
    { head: 'Namespace', hideBelow: 'phone', cell: (resource) => placeOf(resource).location || '–' },
  ]
  return (
    <>
      <ApplicationHead application={application} tab="Resources" />
      <AccountsAway accounts={(live.reading.value.body ?? []).map(({ account }) => account ?? '')} />
      <List
        {...{ live, label: 'Resources', empty: 'Nothing of this application is found in a cluster.', screen, columns }}
        rowsOf={(resources) => resources.toSorted((a, b) => a.name.localeCompare(b.name))}
        placeOf={foundBy}
      />
    </>
  )
}
