/** Runs of an application, or of all: filters, pages to the oldest, an address for each state. */
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatQuery } from '../address.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { searchPath } from '../api/waiting.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { type Filter, Filters, firstPage, NoMatch } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { PageHead } from '../components/page-head.tsx'
import { RunTable } from '../components/run-table.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { type Execution, hasActive, newestFirst } from '../model/execution.ts'
import {
  describeRunFilter,
  momentOf,
  runFilters,
  runStates,
  runsPerPage,
  searchOfRuns,
  startOf,
  triggerTypes,
} from '../model/runs.ts'
import { presentMs } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'

export function Runs({ params, query }: ScreenProps) {
  const application = params['application']
  const search = useMemo(() => searchOfRuns(query, presentMs()), [JSON.stringify(query)])
  const live = useLive(
    searchPath,
    { path: { application: application ?? '*' }, query: search },
    {
      refresh: 'live',
      isBusy: hasActive,
      ...(application !== undefined && { events: applicationEvents(application, 'executions') }),
    },
  )
  return (
    <>
      {application === undefined ? (
        <PageHead tab="Runs" title="Runs" />
      ) : (
        <ApplicationHead application={application} tab="Runs" />
      )}
      <RunFilters application={application} query={query} />
      <Loaded live={live} rows={8} empty={<NoRuns query={query} />}>
        {(runs) => (
          <div class="panel is-flush">
            <RunTable
              runs={runs}
              label="Runs"
              heldOf={JSON.stringify(search)}
              {...(application !== undefined && { without: 'application' })}
            />
            <Pages runs={runs} query={query} />
          </div>
        )}
      </Loaded>
    </>
  )
}

function NoRuns({ query }: Pick<ScreenProps, 'query'>) {
  const filter = describeRunFilter(query)
  if (startOf(query) > 0) return <NoMatch text="There is no older run." filters={Object.keys(firstPage)} />
  if (filter !== '') return <NoMatch text={`No run matches “${filter}”.`} filters={runFilters} />
  return (
    <EmptyState icon="pipeline" text="Nothing has run yet. A run begins when a pipeline is started, by hand or by a trigger." />
  )
}

const sinceOptions = [
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const

/** Those of less use are folded until one is set. */
function RunFilters({ application, query }: { application: string | undefined; query: ScreenProps['query'] }) {
  const { body: pipelines = [] } = useLive(
    '/applications/{application}/pipelineConfigs',
    application === undefined ? undefined : { path: { application } },
    { refresh: 'slow', ...(application !== undefined && { events: applicationEvents(application, 'definitions') }) },
  ).reading.value
  const moments = (['from', 'to'] as const).map((name): Filter => {
    const at = momentOf(query[name], presentMs())
    return { name, label: name === 'from' ? 'From' : 'Until', kind: 'moment', value: at === undefined ? '' : toLocal(at) }
  })
  const hasMore = ['user', 'parameter', 'version', 'to'].some((name) => query[name]) || /[-T]|^\d+$/.test(query['from'] ?? '')
  const ofPipeline: readonly Filter[] =
    application === undefined
      ? query['pipeline'] === undefined
        ? []
        : [{ name: 'pipeline', label: 'Pipeline', kind: 'asked' }]
      : [{ name: 'pipeline', label: 'Pipeline', any: 'Any pipeline', choices: pipelines.map(({ name }) => name) }]
  return (
    <>
      <Filters
        filters={[
          { name: 'q', label: 'Name, version or commit', kind: 'asked' },
          ...ofPipeline,
          { name: 'status', label: 'Status', any: 'Any status', choices: runStates.map(([word, , text]) => [word, text]) },
          { name: 'trigger', label: 'Started', any: 'Started in any way', choices: triggerTypes },
          { name: 'from', label: 'Time', any: 'Any time', choices: sinceOptions },
        ]}
      />
      <details class="more-filters" open={hasMore}>
        <summary>More filters</summary>
        <Filters
          filters={[
            { name: 'user', label: 'User', kind: 'asked' },
            { name: 'parameter', label: 'Parameter, such as region=eu', kind: 'asked' },
            { name: 'version', label: 'Version, image or commit', kind: 'asked' },
            ...moments,
          ]}
        />
      </details>
    </>
  )
}

/** As the field has it, in the reader's zone. */
function toLocal(atMs: number): string {
  return new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The newer and the older runs; older pages end where the first one began, so that new runs shift none of them. */
function Pages({ runs, query }: { runs: readonly Execution[]; query: ScreenProps['query'] }) {
  const { path } = useLocation()
  const start = startOf(query)
  const end = start + runs.length
  const pinned = query['before'] ?? String(newestFirst(runs)[0]?.buildTime ?? '')
  const hasOlder = runs.length >= runsPerPage
  const pageAt = (at: number) => path + formatQuery({ ...query, start: at <= 0 ? '' : String(at), before: at <= 0 ? '' : pinned })
  return (
    <nav class="panel-note row pages" aria-label="Pages">
      <span class="muted number">
        {start === 0 && !hasOlder
          ? `${end.toLocaleString()} ${end === 1 ? 'run' : 'runs'}`
          : `Runs ${(start + 1).toLocaleString()} to ${end.toLocaleString()}${hasOlder ? '' : ', the oldest'}`}
      </span>
      {start > 0 && (
        <a class="button small" href={pageAt(start - runsPerPage)}>
          <Icon name="left" /> Newer
        </a>
      )}
      {hasOlder && (
        <a class="button small" href={pageAt(end)}>
          Older <Icon name="right" />
        </a>
      )}
    </nav>
  )
}
