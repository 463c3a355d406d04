/** Environments: which version of each application runs where, and the way to the next one. */
import { useLive } from '../api/live.ts'
import { useForesight, useLandscape } from '../components/deployed.tsx'
import { EnvironmentMatrix } from '../components/environment-matrix.tsx'
import { Filters } from '../components/filter-field.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Loaded } from '../components/states.tsx'
import type { ScreenProps } from '../screen.ts'
import { FirstSteps } from './first-steps.tsx'

export function EnvironmentsScreen({ query: { q = '', environment } }: ScreenProps) {
  const live = useLive('/applications', {}, { refresh: 'slow' })
  const landscape = useLandscape()
  useForesight('environments')
  const all = live.reading.value.body ?? []
  // Where the API names no accounts of any application, all are shown.
  const hasAccounts = all.some(({ accounts }) => accounts)
  const shown = all
    .filter(({ accounts }) => accounts || !hasAccounts)
    .map(({ name }) => name)
    .filter((name) => name.toLowerCase().includes(q.toLowerCase()))
  return (
    <>
      <PageHead tab="Environments" title="Environments" />
      <Loaded live={live} rows={8} empty={<FirstSteps text="Nothing is deployed yet." />}>
        {() => (
          <Filters
            filters={[
              { name: 'q', label: 'Filter by application' },
              { name: 'environment', label: 'Environment', any: 'All environments', choices: landscape.names },
            ]}
            noMatch={q !== '' && shown.length === 0 ? `No application matches “${q}”.` : undefined}
          >
            <EnvironmentMatrix
              screen="environments"
              label="Versions by environment"
              applications={shown}
              landscape={landscape}
              columns={landscape.names.filter((name) => environment === undefined || name === environment)}
            />
          </Filters>
        )}
      </Loaded>
    </>
  )
}
