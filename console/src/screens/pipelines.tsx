/** The pipelines of an application: health of each at a glance, and the start of one. */
import { useEffect, useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { saveOperation, startOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { Filters, NoMatch } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { LastRun } from '../components/last-run.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { RunStrip } from '../components/run-strip.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { pipelineActions } from '../editor/pipeline-actions.tsx'
import { type Execution, hasActive, newestFirst } from '../model/execution.ts'
import { findPipeline, matchesPipeline, type Pipeline, type PipelineFilter, tagsOfPipelines } from '../model/pipelines.ts'
import type { ScreenProps } from '../screen.ts'

import { StartDialog } from './start-dialog.tsx'
import { eventFilter, TriggerEvents } from './trigger-events.tsx'

const pipelineStates = [
  ['RUNNING', 'Running'],
  ['SUCCEEDED', 'Succeeded'],
  ['TERMINAL', 'Failed'],
  ['CANCELED', 'Cancelled'],
  ['NEVER', 'Has not run yet'],
  ['DISABLED', 'Disabled'],
] as const

const stripRuns = 30
const rowHeight = 57
/** Ids of one call for strips. */
const idsPerCall = 20

export function Pipelines({ params, query }: ScreenProps) {
  const application = params['application'] ?? ''
  const events = applicationEvents(application, 'definitions')
  const live = useLive('/applications/{application}/pipelineConfigs', { path: { application } }, { refresh: 'steady', events })
  const quiet = useLive('/capabilities/quietPeriod', {}, { refresh: 'slow' }).reading.value.body
  const known = live.reading.value.body
  const missing = params['id'] !== undefined && known !== undefined && findPipeline(known, params['id']) === undefined
  useStartAddress(params, query, known)
  return (
    <>
      <ApplicationHead application={application} tab="Pipelines" actions={<CreatePipeline application={application} />} />
      {missing && (
        <Banner tone="failed">{`There is no pipeline ${params['id'] ?? ''} in ${application}. It may have been deleted.`}</Banner>
      )}
      {quiet?.inQuietPeriod === true && (
        <Banner tone="warning">A quiet period is active: triggers start nothing. Starts by hand work.</Banner>
      )}
      <Loaded
        live={live}
        rows={6}
        empty={
          <EmptyState icon="pipeline" text={`${application} has no pipeline. Create one, or import JSON or YAML.`}>
            <CreatePipeline application={application} />
          </EmptyState>
        }
      >
        {(pipelines) => <List application={application} pipelines={pipelines} filter={filterOf(query)} query={query} />}
      </Loaded>
    </>
  )
}

function CreatePipeline({ application }: { application: string }) {
  const { reason } = useRight({ operation: saveOperation, application })
  if (reason !== undefined) {
    return (
      <Button icon="plus" denied={reason} aria-label={`Create pipeline: ${reason}`}>
        Create pipeline
      </Button>
    )
  }
  return (
    <a class="button" href={to.newPipeline(application)}>
      <Icon name="plus" /> Create pipeline
    </a>
  )
}

/** The start of a pipeline has an address, which shows the dialog above the list. */
function useStartAddress(
  params: ScreenProps['params'],
  query: ScreenProps['query'],
  pipelines: readonly Pipeline[] | undefined,
): void {
  const { route: navigate } = useLocation()
  const { application = '', id } = params as { application?: string; id?: string }
  const pipeline = id === undefined ? undefined : findPipeline(pipelines ?? [], id)
  useEffect(() => {
    if (pipeline === undefined) return
    const close = () => {
      closeDialog()
      navigate(to.pipelines(application), true)
    }
    openDialog(<StartDialog pipeline={pipeline} query={query} onClose={close} />)
    return closeDialog
  }, [pipeline?.id])
}

interface ListProps {
  readonly application: string
  readonly pipelines: readonly Pipeline[]
  readonly filter: PipelineFilter
  readonly query: ScreenProps['query']
}

const filterNames = ['q', 'status', 'tag']

function filterOf({ q = '', status, tag }: ScreenProps['query']): PipelineFilter {
  return { q, ...(status && { status }), ...(tag && { tag }) }
}

function describeFilter({ q, status, tag }: PipelineFilter): string {
  const state = pipelineStates.find(([value]) => value === status)?.[1] ?? status
  return [q, state, tag].filter(Boolean).join(', ')
}

function List(props: ListProps) {
  const { application, pipelines, filter, query } = props
  // Rows read their runs as they come into view; this filter needs the last run of all.
  const last = useLive(
    '/applications/{application}/pipelines',
    filter.status === undefined ? undefined : { path: { application }, query: { limit: 1, expand: false } },
    { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'executions') },
  )
  return (
    <>
      <Filters
        filters={[
          { name: 'q', label: 'Filter' },
          { name: 'status', label: 'Last run', any: 'Any last run', choices: pipelineStates },
          { name: 'tag', label: 'Tag', any: 'Any tag', choices: tagsOfPipelines(pipelines), least: 1 },
          eventFilter,
        ]}
      />
      <div class="stack">
        {filter.status === undefined ? (
          <Rows {...props} />
        ) : (
          <Loaded live={last} rows={6} empty={<Rows {...props} />}>
            {(runs) => <Rows {...props} runs={runs} />}
          </Loaded>
        )}
        <TriggerEvents application={application} pipelines={pipelines} query={query} />
      </div>
    </>
  )
}

/** @param runs The last run of each pipeline; read for the filter by state only. */
function Rows({ application, pipelines, filter, runs = [] }: ListProps & { readonly runs?: readonly Execution[] }) {
  const shown = pipelines.filter((pipeline) => matchesPipeline(pipeline, filter, runs))
  const order = describeFilter(filter) === '' ? pipelines.flatMap(({ id }) => id ?? []) : undefined
  const batches = useMemo(() => {
    const ids = shown.flatMap(({ id }) => id ?? [])
    return new Map(ids.map((id, at) => [id, ids.slice(at - (at % idsPerCall), at - (at % idsPerCall) + idsPerCall)]))
  }, [shown.map(({ id }) => id).join()])
  if (shown.length === 0) return <NoMatch text={`No pipeline matches “${describeFilter(filter)}”.`} filters={filterNames} />
  return (
    <div class="panel is-flush">
      <VirtualList
        items={shown}
        keyOf={({ id, name }) => id ?? name}
        rowHeight={rowHeight}
        label="Pipelines"
        drawAll={20}
        overscan={3}
        row={(pipeline) => (
          <RowWithRuns application={application} pipeline={pipeline} batch={batches.get(pipeline.id ?? '') ?? []} order={order} />
        )}
      />
    </div>
  )
}

interface RowWithRunsProps {
  readonly application: string
  readonly pipeline: Pipeline
  /** Pipelines whose runs come in one call: only calls for rows in view are made. */
  readonly batch: readonly string[]
  /** Ids of all pipelines; undefined while a filter hides some. */
  readonly order: readonly string[] | undefined
}

function RowWithRuns({ application, pipeline, batch, order }: RowWithRunsProps) {
  const runs = useLive(
    '/executions',
    { query: { pipelineConfigIds: batch.join(','), limit: stripRuns, expand: false } },
    { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'executions') },
  ).reading.value.body
  const own = useMemo(() => runs?.filter(({ pipelineConfigId }) => pipelineConfigId === pipeline.id), [runs, pipeline.id])
  return <Row application={application} pipeline={pipeline} runs={own} order={order} />
}

interface RowProps extends Pick<RowWithRunsProps, 'application' | 'order'> {
  readonly pipeline: Pipeline
  /** Undefined while they are not known. */
  readonly runs: readonly Execution[] | undefined
}

function Row({ application, pipeline, runs, order }: RowProps) {
  const { name, disabled } = pipeline
  const id = pipeline.id ?? name
  const right = useRight({ operation: startOperation, application })
  const save = useRight({ operation: saveOperation, application })
  const sorted = useMemo(() => newestFirst(runs ?? []), [runs])
  const [last] = sorted
  const denied = disabled === true ? 'The pipeline is disabled.' : right.reason
  return (
    <div class="run-row pipeline-row">
      <PipelineName pipeline={pipeline} href={to.pipeline(application, id)} />
      <RunStrip runs={sorted} label={`Last runs of ${name}`} />
      <span class="grow last-run">
        {last !== undefined && <LastRun run={last} />}
        {runs?.length === 0 && <span class="muted">has not run yet</span>}
      </span>
      <StartButton application={application} id={id} name={name} denied={denied} />
      <Menu
        label={`Actions of ${name}`}
        items={[
          ...startActions({ application, id, last, denied }),
          ...pipelineActions({ application, pipeline, order, denied: save.reason }),
        ]}
      />
    </div>
  )
}

function PipelineName({ pipeline: { name, disabled, description }, href }: { pipeline: Pipeline; href: string }) {
  return (
    <div class="pipeline-name">
      <NameLink class="row-title" href={href} text={name} max={60} />
      {disabled === true && <span class="chip">disabled</span>}
      {description && (
        <span class="muted cut">
          <Name text={description} max={80} />
        </span>
      )}
    </div>
  )
}

interface StartProps {
  readonly application: string
  readonly id: string
  /** Why it may not be started. */
  readonly denied: string | undefined
}

interface StartButtonProps extends StartProps {
  readonly name: string
  readonly isPrimary?: boolean
}

export function StartButton({ application, id, name, denied, isPrimary = false }: StartButtonProps) {
  const label = `Start ${name}`
  if (denied !== undefined) {
    return (
      <Button small={!isPrimary} icon="play" denied={denied} aria-label={`${label}: ${denied}`}>
        Start
      </Button>
    )
  }
  return (
    <a
      class={`button ${isPrimary ? 'is-primary' : 'small'}`}
      data-key="s"
      href={to.startPipeline(application, id)}
      aria-label={label}
    >
      <Icon name="play" /> Start
    </a>
  )
}

export function startActions({
  application,
  id,
  last,
  denied,
}: StartProps & { readonly last: Execution | undefined }): MenuItem[] {
  const start = (from?: string) => (denied === undefined ? { href: to.startPipeline(application, id, { from }) } : { denied })
  const first: MenuItem = { label: 'Start', icon: 'play', ...start() }
  if (last === undefined) return [first]
  return [
    first,
    { label: 'Open the last run', icon: 'right', href: to.execution(last.id) },
    { label: 'Start with parameters of the last run', icon: 'undo', ...start(last.id) },
  ]
}
