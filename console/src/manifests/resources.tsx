/** Everything of an application that is found in clusters, also what no other list has. */
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import type { ScreenProps } from '../screen.ts'
import { List } from '../screens/place-list.tsx'

import { AccountsAway } from './away.tsx'
import { bareName } from './names.ts'
import { manifestWords } from './words.ts'

type Resource = Schemas['RawResource']

const regionOf = ({ namespace, region }: Resource) => namespace ?? region ?? ''

export function Resources({ params, query }: ScreenProps) {
  const application = params['application'] ?? ''
  const live = useLive(
    '/applications/{application}/rawResources',
    { path: { application } },
    { refresh: 'steady', events: applicationEvents(application, 'infrastructure') },
  )
  const accounts = [...new Set((live.reading.value.body ?? []).flatMap(({ account }) => account ?? []))]
  return (
    <>
      <ApplicationHead application={application} tab="Resources" />
      <AccountsAway accounts={accounts} />
      <Loaded live={live} rows={6} empty={<EmptyState text="Nothing of this application is found in a cluster." />}>
        {(resources) => (
          <List<Resource>
            label="Resources"
            empty="Nothing of this application is found in a cluster."
            query={query}
            rows={resources.toSorted((a, b) => a.name.localeCompare(b.name))}
            textOfRow={({ name, account, labels, ...resource }) =>
              [
                name,
                account,
                regionOf({ name, ...resource }),
                ...Object.entries(labels ?? {}).map((label) => label.join('=')),
              ].join(' ')
            }
            placeOfRow={(resource) => ({ account: resource.account, region: regionOf(resource) })}
            keyOf={(resource) => [resource.account, regionOf(resource), resource.name].join('\n')}
            columns={[
              {
                head: 'Name',
                grow: true,
                cell: (resource) => (
                  <NameLink
                    href={to.manifest(application, {
                      account: resource.account ?? '',
                      location: regionOf(resource),
                      name: resource.name,
                    })}
                    text={resource.displayName ?? bareName(resource.name)}
                    max={60}
                  />
                ),
              },
              { head: manifestWords.kind, cell: ({ kind }) => <Name text={kind ?? ''} max={40} /> },
              { head: 'Account', hideBelow: 'phone', cell: ({ account }) => <Name text={account ?? '–'} max={40} /> },
              {
                head: manifestWords.namespace,
                hideBelow: 'phone',
                cell: (resource) => <Name text={regionOf(resource) || '–'} max={40} />,
              },
            ]}
          />
        )}
      </Loaded>
    </>
  )
}
