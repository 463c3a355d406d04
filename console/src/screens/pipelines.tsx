/** The pipelines of an application: health of each at a glance, and the start of one. */
import { useEffect, useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { saveOperation, startOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { ActionButton } from '../components/button.tsx'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { type Filter, Filters, filterWords, NoMatch } from '../components/filter-field.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { PipelineRow } from '../components/pipeline-row.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { pipelineActions } from '../editor/pipeline-actions.tsx'
import { type Execution, hasActive, newestFirst } from '../model/execution.ts'
import { findPipeline, matchesPipeline, type Pipeline, tagsOfPipelines } from '../model/pipelines.ts'
import type { ScreenProps } from '../screen.ts'
import { StartDialog } from './start-dialog.tsx'
import { eventFilter, TriggerEvents } from './trigger-events.tsx'

const nameFilter: Filter = { name: 'q', label: 'Filter' }
const stateFilter: Filter = {
  name: 'status',
  label: 'Last run',
  choices: [
    ['RUNNING', 'Running'],
    ['SUCCEEDED', 'Succeeded'],
    ['TERMINAL', 'Failed'],
    ['CANCELED', 'Cancelled'],
    ['NEVER', 'Has not run yet'],
    ['DISABLED', 'Disabled'],
  ],
}
const stripRuns = 30
/** Ids of one call for strips. */
const idsPerCall = 20

export function Pipelines({ params, query }: ScreenProps) {
  const { application = '', id } = params
  const events = applicationEvents(application, 'definitions')
  const live = useLive('/applications/{application}/pipelineConfigs', { path: { application } }, { refresh: 'steady', events })
  const quiet = useLive('/capabilities/quietPeriod', {}, { refresh: 'slow' }).reading.value.body
  const known = live.reading.value.body
  const started = id === undefined ? undefined : findPipeline(known ?? [], id)
  useStartDialog(started, query)
  const { reason } = useRight({ operation: saveOperation, application })
  const href = to.newPipeline(application)
  const create = <ActionButton action={{ label: 'Create pipeline', icon: 'plus', denied: reason, href }} />
  const none = `${application} has no pipeline. Create one, or import JSON or YAML.`
  return (
    <>
      <ApplicationHead application={application} tab="Pipelines" actions={create} />
      {id !== undefined && known !== undefined && started === undefined && (
        <Banner tone="failed">{`There is no pipeline ${id} in ${application}. It may have been deleted.`}</Banner>
      )}
      {quiet?.inQuietPeriod === true && (
        <Banner tone="warning">A quiet period is active: triggers start nothing. Starts by hand work.</Banner>
      )}
      <Loaded live={live} rows={6} empty={<EmptyState icon="pipeline" text={none} children={create} />}>
        {(pipelines) => <List application={application} pipelines={pipelines} query={query} />}
      </Loaded>
    </>
  )
}

/** The start of a pipeline has an address, which shows the dialog above the list. */
function useStartDialog(pipeline: Pipeline | undefined, query: ScreenProps['query']): void {
  const { route: navigate } = useLocation()
  useEffect(() => {
    if (pipeline === undefined) return
    const close = () => {
      closeDialog()
      navigate(to.pipelines(pipeline.application), true)
    }
    openDialog(<StartDialog pipeline={pipeline} query={query} onClose={close} />)
    return closeDialog
  }, [pipeline?.id])
}

interface ListProps {
  readonly application: string
  readonly pipelines: readonly Pipeline[]
  readonly query: ScreenProps['query']
}

function List(props: ListProps) {
  const { application, pipelines, query } = props
  // Rows read their runs as they come into view; this filter needs the last run of all.
  const last = useLive(
    '/applications/{application}/pipelines',
    query['status'] ? { path: { application }, query: { limit: 1, expand: false } } : undefined,
    { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'executions') },
  )
  const tags = tagsOfPipelines(pipelines)
  const filters = [nameFilter, stateFilter, { name: 'tag', label: 'Tag', choices: tags, least: 1 }]
  const rows = (runs: readonly Execution[] = []) => <Rows {...props} filters={filters} runs={runs} />
  return (
    <>
      <Filters filters={[...filters, eventFilter]} />
      <div class="stack">
        {query['status'] ? (
          <Loaded live={last} rows={6} empty={rows()}>
            {rows}
          </Loaded>
        ) : (
          rows()
        )}
        <TriggerEvents application={application} pipelines={pipelines} query={query} />
      </div>
    </>
  )
}

interface RowsProps extends ListProps {
  readonly filters: readonly Filter[]
  /** The last run of each pipeline; read for the filter by state only. */
  readonly runs: readonly Execution[]
}

function Rows({ application, pipelines, query, filters, runs }: RowsProps) {
  const { q = '', status, tag } = query
  const shown = pipelines.filter((pipeline) => matchesPipeline(pipeline, { q, status, tag }, runs))
  const chosen = filterWords(filters, query)
  const order = chosen === '' ? pipelines.flatMap(({ id }) => id ?? []) : undefined
  // Only calls for rows in view are made.
  const batches = useMemo(() => {
    const ids = shown.flatMap(({ id }) => id ?? [])
    return new Map(ids.map((id, at) => [id, ids.slice(at - (at % idsPerCall), at - (at % idsPerCall) + idsPerCall)]))
  }, [shown.map(({ id }) => id).join()])
  if (shown.length === 0) {
    return <NoMatch text={`No pipeline matches “${chosen}”.`} filters={filters.map(({ name }) => name)} />
  }
  return (
    <div class="panel is-flush">
      <VirtualList
        items={shown}
        keyOf={({ id, name }) => id ?? name}
        rowHeight={57}
        label="Pipelines"
        drawAll={20}
        overscan={3}
        row={(pipeline) => {
          const batch = batches.get(pipeline.id ?? '') ?? []
          return <Row application={application} pipeline={pipeline} batch={batch} order={order} />
        }}
      />
    </div>
  )
}

interface RowProps {
  readonly application: string
  readonly pipeline: Pipeline
  /** Pipelines whose runs come in one call. */
  readonly batch: readonly string[]
  /** Ids of all pipelines; undefined while a filter hides some. */
  readonly order: readonly string[] | undefined
}

function Row({ application, pipeline, batch, order }: RowProps) {
  const { id, name, description, disabled } = pipeline
  const { body } = useLive(
    '/executions',
    { query: { pipelineConfigIds: batch.join(','), limit: stripRuns, expand: false } },
    { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'executions') },
  ).reading.value
  const own = useMemo(() => body?.filter(({ pipelineConfigId }) => pipelineConfigId === id), [body, id])
  const runs = own && newestFirst(own)
  return (
    <PipelineRow {...{ application, name, runs }} id={id ?? name} note={description ?? undefined} isDisabled={disabled === true}>
      <PipelineButtons application={application} pipeline={pipeline} last={runs?.[0]} order={order} />
    </PipelineRow>
  )
}

interface PipelineButtonsProps extends Pick<RowProps, 'application' | 'pipeline'> {
  readonly last: Execution | undefined
  readonly isPrimary?: boolean
  readonly order?: readonly string[] | undefined
  readonly onDeleted?: () => void
}

/** The start of a pipeline, and the menu of what else is done with it. */
export function PipelineButtons({ application, pipeline, last, isPrimary = false, ...more }: PipelineButtonsProps) {
  const { name, disabled } = pipeline
  const id = pipeline.id ?? name
  const right = useRight({ operation: startOperation, application })
  const save = useRight({ operation: saveOperation, application })
  const denied = disabled === true ? 'The pipeline is disabled.' : right.reason
  const start: MenuItem = { label: 'Start', icon: 'play', denied, href: to.startPipeline(application, id) }
  const again = last && to.startPipeline(application, id, { from: last.id })
  const ofLast: readonly MenuItem[] =
    last === undefined
      ? []
      : [
          { label: 'Open the last run', icon: 'right', href: to.execution(last.id) },
          { label: 'Start with parameters of the last run', icon: 'undo', denied, href: again },
        ]
  return (
    <>
      <ActionButton
        action={start}
        small={!isPrimary}
        kind={isPrimary ? 'primary' : undefined}
        aria-label={`Start ${name}`}
        data-key="s"
      />
      <Menu
        label={`Actions of ${name}`}
        items={[...ofLast, ...pipelineActions({ application, pipeline, denied: save.reason, ...more })]}
      />
    </>
  )
}
