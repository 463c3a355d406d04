/** Runs of an application, or of all: filters, pages to the oldest, an address for each state. */
import { useMemo } from 'preact/hooks'
import type { ScreenProps } from '../address.ts'
import { useLive } from '../api/live.ts'
import { usePipelines } from '../api/pipelines.ts'
import { searchPath } from '../api/waiting.ts'
import {
  type Filter,
  Filters,
  filterWords,
  firstPage,
  NoMatch,
  Pages,
} from '../components/filter-field.tsx'
import { RunTable } from '../components/run-table.tsx'
import { ApplicationHead, Loaded, PageHead } from '../components/screen.tsx'
import { type Execution, hasActive, newestFirst } from '../model/execution.ts'
import { runStates, runsPerPage, searchOfRuns, startOf, triggerTypes } from '../model/runs.ts'
import { presentMs } from '../model/time.ts'
import { plural } from '../words.ts'

const usual: readonly Filter[] = [
  { name: 'status', label: 'Status', choices: runStates.map(([word, , text]) => [word, text]) },
  { name: 'trigger', label: 'Started', any: 'Started in any way', choices: triggerTypes },
  {
    name: 'from',
    label: 'Time',
    choices: [
      ['24h', 'Last 24 hours'],
      ['7d', 'Last 7 days'],
      ['30d', 'Last 30 days'],
    ],
  },
]
const text: Filter = { name: 'q', label: 'Name, version or commit', kind: 'asked' }
/** Folded until one is set. */
const rare: readonly Filter[] = [
  { name: 'user', label: 'User', kind: 'asked' },
  { name: 'parameter', label: 'Parameter, such as region=eu', kind: 'asked' },
  { name: 'version', label: 'Version, image or commit', kind: 'asked' },
  { name: 'from', label: 'From', kind: 'moment' },
  { name: 'to', label: 'Until', kind: 'moment' },
]

export function Runs({ params, query }: ScreenProps) {
  const { application } = params
  const search = useMemo(() => searchOfRuns(query, presentMs()), [JSON.stringify(query)])
  const asked = { path: { application: application ?? '*' }, query: search }
  const live = useLive(searchPath, asked, {
    refresh: 'live',
    isBusy: hasActive,
    events: application === undefined ? undefined : 'executions',
  })
  const { body: pipelines = [] } = usePipelines(application)
  // A choice where the pipelines are known, of one application.
  const choices = application === undefined ? {} : { choices: pipelines.map(({ name }) => name) }
  const filters: readonly Filter[] = [
    text,
    { name: 'pipeline', label: 'Pipeline', kind: 'asked', ...choices },
    ...usual,
  ]
  const all = [...filters, ...rare]
  const chosen = filterWords(all, query)
  const none =
    'Nothing has run yet. A run begins when a pipeline is started, by hand or by a trigger.'
  const isOlder = startOf(query) > 0
  const cleared = isOlder ? Object.keys(firstPage) : all.map(({ name }) => name)
  const noMatch = (
    <NoMatch
      text={isOlder ? 'There is no older run.' : `No run matches “${chosen}”.`}
      filters={cleared}
    />
  )
  const without = application === undefined ? undefined : 'application'
  return (
    <>
      {application === undefined ? (
        <PageHead tab="Runs" />
      ) : (
        <ApplicationHead application={application} tab="Runs" />
      )}
      <Filters filters={filters} />
      <details
        class="more-filters"
        open={filterWords(rare, { ...query, from: '' }) !== '' || query['from']?.includes('-')}
      >
        <summary>More filters</summary>
        <Filters filters={rare} />
      </details>
      <Loaded
        live={live}
        rows={8}
        icon="pipeline"
        empty={isOlder || chosen !== '' ? noMatch : none}
      >
        {(runs) => (
          <div class="panel is-flush">
            <RunTable runs={runs} label="Runs" heldOf={JSON.stringify(search)} without={without} />
            <RunPages runs={runs} query={query} />
          </div>
        )}
      </Loaded>
    </>
  )
}

/** Older pages end where the first one began, so that new runs shift none of them. */
function RunPages({ runs, query }: { runs: readonly Execution[]; query: ScreenProps['query'] }) {
  const start = startOf(query)
  const end = start + runs.length
  const before = query['before'] ?? String(newestFirst(runs)[0]?.buildTime ?? '')
  const hasOlder = runs.length >= runsPerPage
  const newer = start <= runsPerPage ? firstPage : { start: String(start - runsPerPage), before }
  return (
    <Pages
      newer={start > 0 ? newer : undefined}
      older={hasOlder ? { start: String(end), before } : undefined}
    >
      {start === 0 && !hasOlder
        ? plural(end, 'run')
        : `Runs ${(start + 1).toLocaleString()} to ${end.toLocaleString()}${hasOlder ? '' : ', the oldest'}`}
    </Pages>
  )
}
