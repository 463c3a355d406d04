/** All applications that the reader may see: health, versions, last run and owner of each, or what each environment runs of them. */
import { useMemo } from 'preact/hooks'
import { type ScreenProps, to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { HealthText, type Landscape, Unread, useLandscape } from '../components/deployed.tsx'
import { openDialog } from '../components/dialog.tsx'
import { ApplicationTable, EnvironmentMatrix } from '../components/environment-matrix.tsx'
import { choiceOf, Filters } from '../components/filter-field.tsx'
import { Loaded, PageHead } from '../components/screen.tsx'
import { Name, StatusMark, Time } from '../components/text.tsx'
import type { Deployed } from '../model/deployments.ts'
import { newestFirst, statusOf } from '../model/execution.ts'
import { splitList } from '../model/names.ts'
import { isEnabled } from '../model/server-groups.ts'
import { CreateApplication } from './create-application.tsx'
import { FirstSteps } from './first-steps.tsx'

type Application = Schemas['ApplicationAttributes']

export function Applications({ query }: ScreenProps) {
  const live = useLive('/applications', {}, 'slow')
  const landscape = useLandscape('applications')
  const create = (
    <Button kind="primary" icon="plus" onClick={() => openDialog(<CreateApplication />)}>
      Create application
    </Button>
  )
  const none = (
    <FirstSteps text="No application yet. An application groups pipelines and what they deploy." />
  )
  return (
    <>
      <PageHead tab="Applications" count={live.body?.length} actions={create} />
      <Loaded live={live} rows={8} empty={none}>
        {(applications) => <List applications={applications} landscape={landscape} query={query} />}
      </Loaded>
    </>
  )
}

/** Version of each application in each environment, and the way to the next one. */
export function Environments({ query: { q = '' } }: ScreenProps) {
  const live = useLive('/applications', {}, 'slow')
  const landscape = useLandscape('environments')
  return (
    <>
      <PageHead tab="Environments" />
      <Loaded live={live} rows={8} empty={<FirstSteps text="Nothing is deployed yet." />}>
        {(all) => {
          // Where the API names no accounts of any application, all are shown.
          const deployed = all.some(({ accounts }) => accounts)
            ? all.filter(({ accounts }) => accounts)
            : all
          const shown = deployed
            .map(({ name }) => name)
            .filter((name) => name.toLowerCase().includes(q.toLowerCase()))
          const noMatch =
            q !== '' && shown.length === 0 ? `No application matches “${q}”.` : undefined
          const label = 'Versions by environment'
          return (
            <Filters filters={[{ name: 'q', label: 'Filter by application' }]} noMatch={noMatch}>
              <EnvironmentMatrix label={label} applications={shown} landscape={landscape} />
            </Filters>
          )
        }}
      </Loaded>
    </>
  )
}

const accountsOf = ({ accounts }: Application) => splitList(accounts ?? '')

interface ListProps {
  readonly applications: readonly Application[]
  readonly landscape: Landscape
  readonly query: ScreenProps['query']
}

function List({ applications, landscape, query: { q = '', account = '', sort = '' } }: ListProps) {
  const shown = useMemo(() => {
    const ownerOf = ({ email }: Application) => (sort === 'owner' ? (email ?? '\uffff') : '')
    return applications
      .filter(({ name, email }) =>
        `${name}\n${email ?? ''}`.toLowerCase().includes(q.toLowerCase()),
      )
      .filter((application) => account === '' || accountsOf(application).includes(account))
      .toSorted((a, b) => ownerOf(a).localeCompare(ownerOf(b)) || a.name.localeCompare(b.name))
  }, [applications, q, account, sort])
  const runs = useMemo(() => toRunBatches(shown, landscape), [shown, landscape])
  const versions = (found: ReadonlyMap<string, Deployed>, application: string) => (
    <span class="versions">
      {landscape.names
        .flatMap((name) => found.get(name) ?? [])
        .map(({ environment, versions: there }) => (
          <a key={environment} href={to.environments({ q: application })}>
            <span class="muted">{environment}</span> <Name text={there.join(', ')} max={24} />
          </a>
        ))}
    </span>
  )
  const noMatch = `No application matches “${[q, account].filter(Boolean).join(', ')}”.`
  return (
    <Filters
      filters={[
        { name: 'q', label: 'Filter' },
        choiceOf('account', applications.flatMap(accountsOf)),
      ]}
      noMatch={shown.length === 0 ? noMatch : undefined}
    >
      <ApplicationTable
        label="Applications"
        rows={shown}
        rowHeight={53}
        sort={sort}
        heldOf={[q, account, sort].join('\n')}
        landscape={landscape}
        columns={(cellOf) => [
          {
            head: 'Health',
            width: 'minmax(7rem, 1fr)',
            cell: cellOf((found) => <Health deployed={[...found.values()]} />),
          },
          { head: 'Versions', width: 'minmax(10rem, 3fr)', cell: cellOf(versions) },
          {
            head: 'Last run',
            width: 'minmax(10rem, 2fr)',
            cell: ({ name }) => (
              <LastRun application={name} pipelines={runs.get(name.toLowerCase())} />
            ),
          },
          {
            head: 'Owner',
            width: 'minmax(8rem, 1.5fr)',
            sort: 'owner',
            hideBelow: 'narrow',
            cell: ({ email }) => (
              <span class="cut">{email ? <Name text={email} max={40} /> : '–'}</span>
            ),
          },
        ]}
      />
    </Filters>
  )
}

function Health({ deployed }: { deployed: readonly Deployed[] }) {
  const serving = deployed.filter(({ groups }) => groups.some(isEnabled))
  if (serving.length === 0) return <span class="muted">nothing deployed</span>
  const sum = (of: 'up' | 'total') => serving.reduce((all, one) => all + one[of], 0)
  return <HealthText up={sum('up')} total={sum('total')} />
}

/** Pipelines of one read of last runs. */
const idsPerCall = 50

/** Ids of the pipelines of neighbours in the list, whose last runs come in one call: by application. */
function toRunBatches(applications: readonly Application[], { pipelines }: Landscape) {
  const byApplication = Map.groupBy(pipelines, ({ application }) => application.toLowerCase())
  const batches = new Map<string, readonly string[]>()
  let batch: string[] = []
  for (const application of applications) {
    const name = application.name.toLowerCase()
    const ids = (byApplication.get(name) ?? []).flatMap(({ id }) => id ?? []).slice(0, idsPerCall)
    if (batch.length + ids.length > idsPerCall) batch = []
    batch.push(...ids)
    if (ids.length > 0) batches.set(name, batch)
  }
  return batches
}

/** Last run of all its pipelines. */
function LastRun({
  application,
  pipelines = [],
}: {
  application: string
  pipelines: readonly string[] | undefined
}) {
  const query = { pipelineConfigIds: pipelines.join(), limit: 1, expand: false }
  const live = useLive('/executions', pipelines.length > 0 ? { query } : undefined, 'slow')
  const { body, error } = live
  if (pipelines.length === 0) return <span class="muted">–</span>
  if (body === undefined) return <Unread error={error} />
  const [run] = newestFirst(
    body.filter((one) => one.application.toLowerCase() === application.toLowerCase()),
  )
  if (run === undefined) return <span class="muted">has not run yet</span>
  const { kind, word } = statusOf(run)
  return (
    <>
      <a class="health-text" href={to.execution(run.id)}>
        <StatusMark kind={kind} label={word} />
        <Name class="cut" text={run.name ?? 'run'} max={40} />
      </a>
      <span class="muted">
        <Time at={run.endTime ?? run.startTime ?? run.buildTime} inDays />
      </span>
    </>
  )
}
