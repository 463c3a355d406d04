/** The pipelines of an application: health of each at a glance, the start of one, and events of their triggers. */

import { scalarOf } from '@fairlead/base/json/values.ts'
import { useEffect, useMemo } from 'preact/hooks'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { findingsIn, useFindings, usePipelines, useRunsOf } from '../api/pipelines.ts'
import { saveOperation, useDenial, useStartDenial } from '../api/rights.ts'
import { ActionButton, Banner } from '../components/button.tsx'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import {
  type Filter,
  FilterField,
  Filters,
  filterWords,
  NoMatch,
} from '../components/filter-field.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { PipelineRow } from '../components/pipeline-row.tsx'
import { ApplicationHead, EmptyState, Loaded, Panel } from '../components/screen.tsx'
import { StepRows } from '../components/step-rows.tsx'
import { Name, NameLink, Time } from '../components/text.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { type PipelineActions, pipelineActions } from '../editor/pipeline-actions.ts'
import { type Execution, hasActive, mainStates, newestFirst, shortId } from '../model/execution.ts'
import {
  findPipeline,
  matchesPipeline,
  type Pipeline,
  tagsOfPipelines,
} from '../model/pipelines.ts'
import { StartDialog } from './start-dialog.tsx'

const states = [...mainStates, ['NEVER', 'Has not run yet'], ['DISABLED', 'Disabled']] as const
/** Opens the panel, and chooses what it shows. */
const eventFilter: Filter = {
  name: 'events',
  label: 'Trigger events',
  any: 'Hide trigger events',
  clears: ['of'],
  choices: [
    ['all', 'All events'],
    ['started', 'Events that started runs'],
    ['nothing', 'Events that started nothing'],
    ['failed', 'Failed events'],
  ],
}

/** Ids of one call for strips, of which each has so many runs. */
const [idsPerCall, stripRuns] = [20, 30]

export function Pipelines({ params, query }: ScreenProps) {
  const { application = '', id } = params
  const live = usePipelines(application)
  const quiet = useLive('/capabilities/quietPeriod', {}, 'slow').body
  const known = live.body
  const started = id === undefined ? undefined : findPipeline(known ?? [], id)
  useStartDialog(started, query)
  const reason = useDenial(saveOperation, application)
  const href = to.newPipeline(application)
  const create = (
    <ActionButton action={{ label: 'Create pipeline', icon: 'plus', denied: reason, href }} />
  )
  const none = `${application} has no pipeline. Create one, or import JSON or YAML.`
  return (
    <>
      <ApplicationHead application={application} tab="Pipelines" actions={create} />
      {id !== undefined && known !== undefined && started === undefined && (
        <Banner tone="failed">{`There is no pipeline ${id} in ${application}. It may have been deleted.`}</Banner>
      )}
      {quiet?.inQuietPeriod === true && (
        <Banner tone="warning">
          A quiet period is active: triggers start nothing. Starts by hand work.
        </Banner>
      )}
      <Loaded
        live={live}
        rows={6}
        empty={<EmptyState icon="pipeline" text={none} children={create} />}
      >
        {(pipelines) => <List application={application} pipelines={pipelines} query={query} />}
      </Loaded>
    </>
  )
}

/** The start of a pipeline has an address, which shows the dialog above the list. */
function useStartDialog(pipeline: Pipeline | undefined, query: ScreenProps['query']) {
  const navigate = useNavigate()
  useEffect(() => {
    if (pipeline === undefined) return
    const close = () => {
      closeDialog()
      navigate(to.pipelines(pipeline.application), true)
    }
    return openDialog(<StartDialog pipeline={pipeline} query={query} onClose={close} />)
  }, [pipeline?.id])
}

interface ListProps {
  readonly application: string
  readonly pipelines: readonly Pipeline[]
  readonly query: ScreenProps['query']
}

function List({ application, pipelines, query }: ListProps) {
  const { q = '', status, tag } = query
  // Rows read their runs as they come into view; this filter needs the last run of all.
  const last = useLive(
    '/applications/{application}/pipelines',
    status ? { path: { application }, query: { limit: 1, expand: false } } : undefined,
    { refresh: 'live', isBusy: hasActive, events: 'executions' },
  )
  const filters: readonly Filter[] = [
    { name: 'q', label: 'Filter' },
    { name: 'status', label: 'Last run', choices: states },
    { name: 'tag', label: 'Tag', choices: tagsOfPipelines(pipelines), least: 1 },
  ]
  const chosen = filterWords(filters, query)
  const order = chosen === '' ? pipelines.flatMap(({ id }) => id ?? []) : undefined
  const none = (
    <NoMatch text={`No pipeline matches “${chosen}”.`} filters={filters.map(({ name }) => name)} />
  )
  const rows = (runs: readonly Execution[] = []) => {
    const shown = pipelines.filter((pipeline) =>
      matchesPipeline(pipeline, { q, status, tag }, runs),
    )
    return shown.length === 0 ? (
      none
    ) : (
      <Rows application={application} pipelines={shown} order={order} />
    )
  }
  return (
    <>
      <Filters filters={[...filters, eventFilter]} />
      <div class="stack">
        <TriggerEvents application={application} pipelines={pipelines} query={query} />
        {status ? <Loaded live={last} rows={6} empty={rows()} children={rows} /> : rows()}
      </div>
    </>
  )
}

interface RowsProps extends Omit<ListProps, 'query'> {
  /** Ids of all pipelines; undefined while a filter hides some. */
  readonly order: readonly string[] | undefined
}

function Rows({ pipelines, ...shared }: RowsProps) {
  // Only calls for rows in view are made, for several pipelines at once.
  const batchOf = (pipeline: Pipeline) => {
    const first = Math.floor(pipelines.indexOf(pipeline) / idsPerCall) * idsPerCall
    return pipelines.slice(first, first + idsPerCall).map(({ id }) => id ?? '')
  }
  return (
    <div class="panel is-flush">
      <VirtualList
        items={pipelines}
        rowHeight={57}
        label="Pipelines"
        drawAll={20}
        overscan={3}
        keyOf={({ id, name }) => id ?? name}
        row={(pipeline) => <Row {...shared} pipeline={pipeline} batch={batchOf(pipeline).join()} />}
      />
    </div>
  )
}

/** @param batch Ids of pipelines whose runs come in one call */
function Row({
  application,
  pipeline,
  batch,
  order,
}: Omit<RowsProps, 'pipelines'> & { pipeline: Pipeline; batch: string }) {
  const { id, name, description, disabled } = pipeline
  const { body, error } = useRunsOf(batch, stripRuns, application)
  const runs = useMemo(
    () => body && newestFirst(body.filter((run) => run.pipelineConfigId === id)),
    [body, id],
  )
  const findings = findingsIn(useFindings(application).body, id)
  const shown = {
    application,
    findings,
    id: id ?? name,
    name,
    note: description ?? undefined,
    isDisabled: disabled === true,
    runs,
  }
  return (
    <PipelineRow {...shown} isUnknown={body === undefined && error !== undefined}>
      <PipelineButtons
        application={application}
        pipeline={pipeline}
        last={runs?.[0]}
        order={order}
        isHeld={findings.some(({ held }) => held)}
      />
    </PipelineRow>
  )
}

interface PipelineButtonsProps extends Omit<PipelineActions, 'denied' | 'isEditing'> {
  readonly pipeline: Pipeline
  readonly last: Execution | undefined
  readonly isPrimary?: boolean
}

/** The start of a pipeline, and the menu of what else is done with it. */
export function PipelineButtons({
  application,
  pipeline,
  last,
  isPrimary = false,
  ...more
}: PipelineButtonsProps) {
  const { name, id = name } = pipeline
  const denied = useStartDenial(pipeline)
  const save = useDenial(saveOperation, application)
  const start = (from?: string) => ({ denied, href: to.startPipeline(application, id, { from }) })
  const ofLast = (run: Execution): readonly MenuItem[] => [
    { label: 'Open the last run', icon: 'right', href: to.execution(run.id) },
    { label: 'Start with parameters of the last run', icon: 'undo', ...start(run.id) },
  ]
  return (
    <>
      <ActionButton
        action={{ label: 'Start', icon: 'play', ...start() }}
        small={!isPrimary}
        kind={isPrimary ? 'primary' : undefined}
        aria-label={`Start ${name}`}
        data-key="s"
      />
      <Menu
        label={`Actions of ${name}`}
        items={[
          ...(last ? ofLast(last) : []),
          ...pipelineActions({ application, pipeline, denied: save, ...more }),
        ]}
      />
    </>
  )
}

const marks = {
  started: { kind: 'succeeded', word: 'started' },
  nothing: { kind: 'skipped', word: 'started nothing' },
  failed: { kind: 'failed', word: 'failed' },
} as const

function TriggerEvents({
  application,
  pipelines,
  query: { events: chosen = '', of: pipeline },
}: ListProps) {
  const outcome = Object.hasOwn(marks, chosen) ? (chosen as keyof typeof marks) : undefined
  const query = { outcome, ...(pipeline && { pipeline }), limit: 50 }
  const parameters = chosen === '' ? undefined : { path: { application }, query }
  const live = useLive('/applications/{application}/triggerEvents', parameters)
  if (chosen === '') return null
  const choices = pipelines.map(({ id, name }) => [id ?? name, name] as const)
  const none =
    'No trigger has received an event yet. Add one to a pipeline, then push a commit or send a webhook.'
  const empty = outcome || pipeline ? 'No event matches the filters.' : none
  const filter = <FilterField name="of" label="Of pipeline" any="Any pipeline" choices={choices} />
  return (
    <Panel title="Trigger events" flush actions={filter}>
      <Loaded live={live} icon="pipeline" empty={empty}>
        {(events) => <StepRows steps={events.map(toRow)} />}
      </Loaded>
    </Panel>
  )
}

function toRow({
  id,
  type,
  source,
  outcome,
  time,
  reason,
  triggers,
  summary,
}: Schemas['TriggerEvent']) {
  // Digests and commits as short as people compare them.
  const words = Object.entries(summary).map(([name, value]) => {
    const text = name === 'action' ? undefined : scalarOf(value)
    return name === 'commit' || name === 'digest' ? text?.replace(/^sha\d+:/, '').slice(0, 8) : text
  })
  return {
    key: id,
    status: marks[outcome],
    title: <Name text={[type, source, ...words].filter(Boolean).join(' ')} max={90} />,
    note: (
      <ul>
        {outcome === 'failed' && reason && (
          <li>
            <Name text={reason} max={300} />
          </li>
        )}
        {triggers.map(({ pipeline, executionId, reason: why }, index) => (
          <li key={index}>
            <NameLink
              href={executionId ? to.execution(executionId) : undefined}
              text={pipeline}
              max={60}
            />{' '}
            {executionId && <span class="run-id">{shortId(executionId)}</span>}
            {why && <Name text={`: ${why}`} max={300} />}
          </li>
        ))}
      </ul>
    ),
    action: <Time at={time} />,
  }
}
