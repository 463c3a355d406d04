/** All applications that the reader may see, and the dialog that creates one. */
import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { FilterSelect } from '../components/filter-field.tsx'
import { FilteredList } from '../components/filtered-list.tsx'
import { Icon } from '../components/icon.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { RunStrip } from '../components/run-strip.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { newestFirst } from '../model/execution.ts'
import { numberOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { CreateApplication } from './create-application.tsx'
import { FirstSteps } from './first-steps.tsx'

type Application = Schemas['ApplicationAttributes']

const rowHeight = 45

export function Applications({ query: { q = '', account, sort } }: ScreenProps) {
  const live = useLive('/applications', {}, { refresh: 'slow' })
  const all = live.reading.value.body
  const create = (
    <Button kind="primary" icon="plus" onClick={() => openDialog(<CreateApplication />)}>
      {words.createApplication}
    </Button>
  )
  return (
    <>
      <PageHead
        tab={words.applications}
        title={words.applications}
        state={all !== undefined && <span class="count">{all.length.toLocaleString()}</span>}
        actions={create}
      />
      <Loaded
        live={live}
        rows={8}
        empty={
          <EmptyState icon="apps" text={words.applicationsEmpty}>
            <FirstSteps />
          </EmptyState>
        }
      >
        {(found) => <List applications={found} filter={q} account={account} sort={sort === 'changed' ? sort : 'name'} />}
      </Loaded>
    </>
  )
}

interface ListProps {
  readonly applications: readonly Application[]
  readonly filter: string
  readonly account: string | undefined
  readonly sort: 'name' | 'changed'
}

const filterNames = ['q', 'account']
/** Pipelines of one read of last runs. */
const idsPerCall = 50
/** With more applications, all their pipelines are too much to read for it. */
const maxWithRuns = 100

function accountsOf({ accounts }: Application): readonly string[] {
  return accounts?.split(',').map((name) => name.trim()) ?? []
}

function List({ applications, filter, account, sort }: ListProps) {
  const shown = matching(applications, filter, account, sort)
  const hasRuns = applications.length <= maxWithRuns
  const pipelines = useLive('/pipelineConfigs', hasRuns ? {} : undefined, { refresh: 'open' }).reading.value.body
  const batches = useMemo(() => toBatches(pipelines ?? []), [pipelines])
  const accounts = [...new Set(applications.flatMap(accountsOf))].toSorted((a, b) => a.localeCompare(b))
  const more = <MoreFilters accounts={accounts} account={account} sort={sort} isSortable={applications.length > 1} />
  return (
    <FilteredList
      filter={filter}
      items={shown}
      noMatch={words.noApplicationMatches([filter, account].filter(Boolean).join(', '))}
      filters={filterNames}
      more={more}
      keyOf={({ name }) => name}
      rowHeight={rowHeight}
      label={words.applications}
      row={(application) => <Row application={application} batch={batches.get(application.name.toLowerCase())} />}
    />
  )
}

interface MoreFiltersProps extends Pick<ListProps, 'account' | 'sort'> {
  readonly accounts: readonly string[]
  readonly isSortable: boolean
}

function MoreFilters({ accounts, account, sort, isSortable }: MoreFiltersProps) {
  return (
    <>
      <FilterSelect
        name="account"
        label={words.account}
        value={account}
        any={words.anyOf.account}
        options={accounts.map((each) => [each, each])}
      />
      {isSortable && (
        <FilterSelect
          name="sort"
          label={words.sortBy}
          value={sort === 'name' ? undefined : sort}
          any={words.sortings.name}
          leastOptions={1}
          options={[['changed', words.sortings.changed]]}
        />
      )}
    </>
  )
}

function matching(
  applications: readonly Application[],
  filter: string,
  account: string | undefined,
  sort: ListProps['sort'],
): readonly Application[] {
  const wanted = filter.toLowerCase()
  const changedMs = (application: Application) => (sort === 'changed' ? (numberOf(application.updateTs) ?? 0) : 0)
  return applications
    .filter(({ name, email }) => name.toLowerCase().includes(wanted) || email?.toLowerCase().includes(wanted))
    .filter((application) => account === undefined || accountsOf(application).includes(account))
    .toSorted((a, b) => changedMs(b) - changedMs(a) || a.name.localeCompare(b.name))
}

/** Ids of the pipelines of some applications, whose last runs come in one call: by application. */
function toBatches(
  pipelines: readonly { readonly application: string; readonly id?: string }[],
): ReadonlyMap<string, readonly string[]> {
  const byApplication = Map.groupBy(pipelines, ({ application }) => application.toLowerCase())
  const batches = new Map<string, readonly string[]>()
  let batch: string[] = []
  let names: string[] = []
  const close = () => {
    for (const name of names) batches.set(name, batch)
    batch = []
    names = []
  }
  for (const [name, own] of [...byApplication].toSorted(([a], [b]) => a.localeCompare(b))) {
    const ids = own.flatMap(({ id }) => id ?? []).slice(0, idsPerCall)
    if (batch.length + ids.length > idsPerCall) close()
    batch.push(...ids)
    names.push(name)
  }
  close()
  return batches
}

interface RowProps {
  readonly application: Application
  readonly batch: readonly string[] | undefined
}

/** Those of each of its pipelines. */
function LastRuns({ name, batch }: { name: string; batch: readonly string[] }) {
  const query = { pipelineConfigIds: batch.join(), limit: 1, expand: false }
  const runs = useLive('/executions', { query }, { refresh: 'slow' }).reading.value.body
  const own = useMemo(
    () => newestFirst(runs?.filter(({ application }) => application.toLowerCase() === name.toLowerCase()) ?? []),
    [runs, name],
  )
  return <RunStrip runs={own} label={words.lastRunsOf(name)} />
}

function Row({ application: { name, email, description, accounts, updateTs }, batch }: RowProps) {
  return (
    <div class="run-row">
      <span class="letter" aria-hidden="true">
        {name[0]?.toUpperCase()}
      </span>
      <NameLink class="row-link row-title" href={to.application(name)} text={name} max={60} />
      <span class="grow muted cut">
        <Name text={description ?? ''} max={120} />
      </span>
      <span class="hide-phone">{batch !== undefined && batch.length > 0 && <LastRuns name={name} batch={batch} />}</span>
      <span class="muted hide-narrow">{email && <Name text={email} max={40} />}</span>
      {accounts && (
        <span class="chip hide-phone">
          <Icon name="box" /> {accounts.split(',').join(', ')}
        </span>
      )}
      <span class="muted hide-phone aside">
        <Time at={numberOf(updateTs)} />
      </span>
    </div>
  )
}
