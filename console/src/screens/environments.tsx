/** Environments: which version of each application runs where, and the way to the next one. */
import { useMemo } from 'preact/hooks'
import { useLive } from '../api/live.ts'
import { type Landscape, toBatches, useForesight, useLandscape, useServerGroups } from '../components/deployed.tsx'
import { EnvironmentMatrix } from '../components/environment-matrix.tsx'
import { Filters } from '../components/filter-field.tsx'
import { PageHead } from '../components/page-head.tsx'
import { ErrorState, Loaded } from '../components/states.tsx'
import { type Deployed, differenceOf, toDeployed } from '../model/deployments.ts'
import { favourites, favouritesFirst } from '../model/recent.ts'
import type { ScreenProps } from '../screen.ts'
import { FirstSteps } from './first-steps.tsx'

/** So many applications are compared at once. */
const maxCompared = 200

export function EnvironmentsScreen({ query: { q = '', environment, only } }: ScreenProps) {
  const live = useLive('/applications', {}, { refresh: 'slow' })
  const landscape = useLandscape()
  useForesight('environments')
  return (
    <>
      <PageHead tab="Environments" title="Environments" />
      <Loaded live={live} rows={8} empty={<FirstSteps text="Nothing is deployed yet." />}>
        {(all) => {
          // Where the API names no accounts of any application, all are shown.
          const hasAccounts = all.some(({ accounts }) => accounts)
          const names = all.filter(({ accounts }) => accounts || !hasAccounts).map(({ name }) => name)
          return <Matrix {...{ names, landscape, filter: q, environment, only: only === 'different' }} />
        }}
      </Loaded>
    </>
  )
}

interface MatrixProps {
  readonly names: readonly string[]
  readonly landscape: Landscape
  readonly filter: string
  readonly environment: string | undefined
  readonly only: boolean
}

function Matrix({ names, landscape, filter, environment, only }: MatrixProps) {
  const matching = favouritesFirst(names, favourites.value).filter((name) => name.toLowerCase().includes(filter.toLowerCase()))
  const compared = useServerGroups(only ? matching.slice(0, maxCompared) : undefined)
  const { body, error } = compared.reading.value
  const different = useMemo(
    () => new Set(body && differing(toDeployed(body, landscape.environments), landscape.names)),
    [body, landscape],
  )
  const shown = only ? matching.filter((name) => different.has(name.toLowerCase())) : matching
  const batches = useMemo(() => toBatches(matching), [matching.join('\n')])
  const columns = landscape.names.filter((name) => environment === undefined || name === environment)
  const words = [filter, environment, only && 'only what differs'].filter(Boolean).join(', ')
  if (only && error !== undefined && body === undefined) return <ErrorState error={error} onRetry={() => compared.refresh()} />
  const isKnown = !only || body !== undefined
  return (
    <Filters
      filters={[
        { name: 'q', label: 'Filter by application' },
        { name: 'environment', label: 'Environment', any: 'All environments', choices: landscape.names },
        { name: 'only', label: 'Difference', any: 'All versions', least: 1, choices: [['different', 'Only what differs']] },
      ]}
      note={
        only && matching.length > maxCompared && <span class="muted">The first {maxCompared} applications are compared.</span>
      }
      noMatch={isKnown && shown.length === 0 && words !== '' ? `No application matches “${words}”.` : undefined}
    >
      <EnvironmentMatrix
        screen="environments"
        label="Versions by environment"
        applications={shown}
        batchOf={(name) => batches.get(name) ?? [name]}
        landscape={landscape}
        columns={columns}
      />
    </Filters>
  )
}

/** Applications of which two environments run something else. */
function differing(deployed: ReadonlyMap<string, ReadonlyMap<string, Deployed>>, names: readonly string[]): readonly string[] {
  return [...deployed].flatMap(([application, cells]) => {
    const there = names.flatMap((name) => cells.get(name) ?? [])
    return there.some((cell, at) => at > 0 && differenceOf(cell, there[at - 1] as Deployed) !== undefined) ? [application] : []
  })
}
