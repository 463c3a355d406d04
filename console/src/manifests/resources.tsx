/** Everything of an application that is found in clusters, also what no other list has. */
import { type ScreenProps, to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { ApplicationHead } from '../components/screen.tsx'
import { NameLink } from '../components/text.tsx'
import { List } from '../screens/place-list.tsx'
import { Notices } from './notices.tsx'
import { bareName, placeIn } from './object.ts'

export function Resources(screen: ScreenProps) {
  const { application = '' } = screen.params
  const live = useLive(
    '/applications/{application}/rawResources',
    { path: { application } },
    { events: 'infrastructure' },
  )
  return (
    <>
      <ApplicationHead application={application} tab="Resources" />
      <Notices
        application={application}
        accounts={(live.body ?? []).map(({ account }) => account ?? '')}
      />
      <List
        live={live}
        screen={screen}
        label="Resources"
        empty="Nothing of this application is found in a cluster."
        rowsOf={(resources) => {
          const rows = resources.map((resource) => ({ ...resource, ...placeIn(resource) }))
          return rows.toSorted((a, b) => a.name.localeCompare(b.name))
        }}
        placeOf={({ name, account, location, labels }) => {
          const texts = Object.entries(labels ?? {}).map((label) => label.join('='))
          return { name, account, region: location, labels: texts.join(' ') }
        }}
        columns={[
          {
            head: 'Name',
            grow: true,
            cell: ({ displayName, ...place }) => (
              <NameLink
                href={to.manifest(application, place)}
                text={displayName ?? bareName(place.name)}
                max={60}
              />
            ),
          },
          { head: 'Kind', cell: ({ kind }) => kind ?? '' },
          { head: 'Account', hideBelow: 'phone', cell: ({ account }) => account },
          { head: 'Namespace', hideBelow: 'phone', cell: ({ location }) => location || '–' },
        ]}
      />
    </>
  )
}
