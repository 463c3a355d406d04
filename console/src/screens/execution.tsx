/** One execution: where it is, why it failed, what can be done. */

import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { client, unwrap } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { announcement } from '../components/announcement.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { ActionButton, Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { act } from '../components/notices.tsx'
import { PageHead } from '../components/page-head.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { StageGraph } from '../components/stage-graph.tsx'
import { StageList } from '../components/stage-list.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { Segments } from '../components/tabs.tsx'
import { Duration, Time } from '../components/time.tsx'
import { usePhone } from '../components/use-phone.ts'
import { useLetters } from '../letter-keys.ts'
import {
  type Execution,
  type Failure,
  findFailure,
  isWaiting,
  newestFirst,
  type Stage,
  type StageTree,
  shortId,
  stageStatus,
  startedBy,
  statusOf,
  titleOf,
  toStageTree,
} from '../model/execution.ts'
import { objectOf, objectsOf, textOf } from '../model/read.ts'
import { toStageGraph } from '../model/stage-graph.ts'
import { isComplete } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { useExecutionActions } from './execution-actions.tsx'
import { awaitsDelivery, RunNotifications } from './run-notifications.tsx'
import { nextTab, StagePanel } from './stage-panel.tsx'

const views = [
  { id: 'graph', label: words.graph },
  { id: 'list', label: words.list },
  { id: 'time', label: words.time },
] as const
/** Above that the list says more than a drawing. */
const maxNodes = 400
/** Among so many runs of its pipeline the keys move. */
const siblingRuns = 50

export function ExecutionScreen({ params, query }: ScreenProps) {
  const id = params['id'] ?? ''
  const live = useLive(
    '/pipelines/{id}',
    { path: { id } },
    {
      refresh: 'live',
      isBusy: (execution) => !isComplete(execution.status) || awaitsDelivery(execution),
      events: { path: `/executions/${encodeURIComponent(id)}/events` },
    },
  )
  return (
    <Loaded
      live={live}
      title={`${words.execution} ${shortId(id)}`}
      rows={8}
      empty={<EmptyState icon="search" text={words.noSuchExecution} />}
    >
      {(execution) => <Run execution={execution} query={query} />}
    </Loaded>
  )
}

function Run({ execution, query }: { execution: Execution; query: Readonly<Record<string, string>> }) {
  const change = useQueryChange()
  const tree = useMemo(() => toStageTree(execution.stages), [execution])
  const selected = execution.stages.find(({ id }) => id === query['stage']) ?? usualStage(execution, tree)
  const select = (stage: string) => change({ stage, tab: undefined })
  useRunLetters(execution, selected, query['tab'], select)
  return (
    <>
      <RunHead execution={execution} />
      <Notes execution={execution} tree={tree} />
      <Stages execution={execution} tree={tree} view={query['view']} selected={selected} onSelect={select}>
        {selected !== undefined && (
          <StagePanel execution={execution} stage={selected} inner={tree.inner.get(selected.id) ?? []} tab={query['tab']} />
        )}
      </Stages>
      <RunNotifications execution={execution} />
    </>
  )
}

/** What the reader looks for first: the failure of a run that has ended, else where it is. */
function usualStage({ status, stages }: Execution, tree: StageTree): Stage | undefined {
  const failed = findFailure(tree)?.path[0]
  if (isComplete(status)) return failed ?? tree.top[0]
  return stages.find(isWaiting) ?? tree.top.find((stage) => stage.status === 'RUNNING') ?? failed ?? tree.top[0]
}

function useRunLetters(execution: Execution, selected: Stage | undefined, tab: string | undefined, select: (id: string) => void) {
  const change = useQueryChange()
  const { route: navigate } = useLocation()
  const toFailed = (step: 1 | -1) => {
    const failed = execution.stages.filter((stage) => stageStatus(stage).kind === 'failed')
    const at = failed.findIndex((stage) => stage.id === selected?.id)
    const next = failed.at(at === -1 && step === -1 ? -1 : (at + step + failed.length) % Math.max(1, failed.length))
    if (next !== undefined) select(next.id)
  }
  useLetters({
    n: () => toFailed(1),
    p: () => toFailed(-1),
    t: () => selected !== undefined && change({ stage: selected.id, tab: nextTab(selected, tab) }),
    c: () => navigate(to.compare({ left: execution.id })),
    '[': () => act(words.previousRun, () => toSibling(execution, 1, navigate)),
    ']': () => act(words.nextRun, () => toSibling(execution, -1, navigate)),
  })
}

function RunHead({ execution }: { execution: Execution }) {
  const { application, id } = execution
  const actions = useExecutionActions(execution)
  const status = statusOf(execution)
  const name = execution.name ?? execution.description ?? id
  useEffect(() => {
    announcement.value = `${name} ${status.word}`
  }, [status.word])
  return (
    <PageHead
      tab={`${name} ${shortId(id)}: ${status.word}`}
      title={
        <>
          <Name text={name} max={80} /> <span class="run-id">{shortId(id)}</span>
        </>
      }
      crumbs={[...applicationCrumbs(application), { label: words.pipelines, href: to.pipelines(application) }]}
      state={
        <span class="row">
          <StatusBadge status={status} />
          <Duration from={execution.startTime ?? execution.buildTime} until={execution.endTime} />
        </span>
      }
      actions={<RunActions actions={actions} />}
    >
      <Facts execution={execution} />
    </PageHead>
  )
}

/** Why it failed, waits or was cancelled. */
function Notes({ execution, tree }: { execution: Execution; tree: StageTree }) {
  const failure = execution.status === 'TERMINAL' ? findFailure(tree) : undefined
  return (
    <>
      {failure !== undefined && <FailureNote failure={failure} />}
      {execution.status === 'NOT_STARTED' && <Queued execution={execution} />}
      {execution.canceled === true && (
        <Banner tone="info">
          {words.cancelledBy(execution.canceledBy ?? undefined)}{' '}
          {execution.cancellationReason && <Name text={execution.cancellationReason} max={300} />}
        </Banner>
      )}
    </>
  )
}

function FailureNote({ failure: { stage, path, reason, child } }: { failure: Failure }) {
  const toChild = child !== undefined && (
    <a class="button small" href={to.execution(child)}>
      {words.openChild}
    </a>
  )
  return (
    <Banner tone="failed" actions={toChild}>
      <strong>
        <Name text={titleOf(path[0] ?? stage)} max={60} />:
      </strong>{' '}
      {reason === undefined ? words.noReason(titleOf(stage), stage.tasks.at(-1)?.name) : <PlainText text={reason} />}
    </Banner>
  )
}

interface StagesProps {
  readonly execution: Execution
  readonly tree: StageTree
  /** As the address has it. */
  readonly view: string | undefined
  readonly selected: Stage | undefined
  readonly onSelect: (stage: string) => void
  /** Beside them. */
  readonly children: ComponentChildren
}

/** The stages as graph, list or on an axis of time. */
function Stages({ execution, tree, view: wanted, selected, onSelect, children }: StagesProps) {
  const change = useQueryChange()
  const isPhone = usePhone()
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const foldsChains = !isComplete(execution.status) || execution.status === 'TERMINAL'
  const graph = useMemo(() => toStageGraph(tree, opened, foldsChains), [tree, opened, foldsChains])
  const canDraw = graph.nodes.length <= maxNodes
  const view = views.find(({ id }) => id === wanted)?.id ?? (isPhone || !canDraw ? 'list' : 'graph')
  const shared = { tree, selected: selected?.id, onSelect }
  const list = <StageList execution={execution} {...shared} showsTime={view === 'time'} />
  const fold = (id: string) => setOpened((before) => before.symmetricDifference(new Set([id])))
  return (
    <>
      <div class="filters">
        <Segments label={words.view} options={views} selected={view} onSelect={(chosen) => change({ view: chosen })} />
        {!canDraw && <span class="muted">{words.tooManyStages(graph.nodes.length)}</span>}
        {view === 'graph' && opened.size > 0 && (
          <Button small onClick={() => setOpened(new Set())}>
            {words.foldAgain}
          </Button>
        )}
      </div>
      <div class="execution">
        {view === 'graph' && canDraw ? (
          <div class="panel">
            <StageGraph graph={graph} {...shared} onFold={fold} />
          </div>
        ) : (
          <div class="panel is-flush">{list}</div>
        )}
        {children}
      </div>
    </>
  )
}

/** Why a run has not begun: of some pipelines only one runs at a time. */
function Queued({ execution: { id, name, application, pipelineConfigId, limitConcurrent } }: { execution: Execution }) {
  const query = { pipelineConfigIds: pipelineConfigId ?? '', statuses: 'RUNNING,PAUSED', limit: 1, expand: false }
  const isLimited = limitConcurrent === true && Boolean(pipelineConfigId)
  const events = applicationEvents(application, 'executions')
  const runs = useLive('/executions', isLimited ? { query } : undefined, { refresh: 'live', events }).reading.value.body ?? []
  const running = runs.find((run) => run.id !== id && run.pipelineConfigId === pipelineConfigId)
  return (
    <Banner tone="info">
      {running === undefined ? (
        words.waitsInQueue
      ) : (
        <>
          {words.waitsForRun(name ?? id)} <a href={to.execution(running.id)}>{shortId(running.id)}</a>.
        </>
      )}
    </Banner>
  )
}

/** The run before or after it, of the newest of the same pipeline. */
async function toSibling({ id, pipelineConfigId }: Execution, step: 1 | -1, navigate: (url: string) => void): Promise<void> {
  if (!pipelineConfigId) return
  const query = { pipelineConfigIds: pipelineConfigId, limit: siblingRuns, expand: false }
  const from = location.pathname
  const runs = await unwrap(client.GET('/executions', { params: { query } }))
  // The reader may be elsewhere by now.
  if (location.pathname !== from) return
  const sorted = newestFirst(runs)
  const at = sorted.findIndex((run) => run.id === id)
  const next = at === -1 ? undefined : sorted[at + step]
  if (next !== undefined) navigate(to.execution(next.id))
}

function RunActions({ actions }: { actions: ReturnType<typeof useExecutionActions> }) {
  const [first, ...rest] = actions
  return (
    <>
      {first !== undefined && <ActionButton action={first} />}
      {rest.length > 0 && <Menu items={rest} />}
    </>
  )
}

function Facts({ execution }: { execution: Execution }) {
  const { trigger, id } = execution
  const by = startedBy(execution)
  const parameters = Object.entries(objectOf(trigger.parameters))
  const parent = textOf(objectOf(trigger.parentExecution)['id'])
  return (
    <div class="run-facts">
      <span class="muted">
        {words.startedBy} {by === undefined ? words.unknown : <Name text={by} max={40} />}, {trigger.type},{' '}
        <Time at={execution.startTime ?? execution.buildTime} />
      </span>
      <span class="muted row tight">
        <code>{id}</code>
        <CopyButton text={id} label={words.copyId} />
      </span>
      {parent !== undefined && (
        <a class="chip" href={to.execution(parent)}>
          <Icon name="pipeline" /> {words.startedByExecution} {shortId(parent)}
        </a>
      )}
      <Source trigger={trigger} />
      {artifactsOf(execution).map((artifact) => (
        <span key={artifact} class="chip">
          <Icon name="box" />
          <Name text={artifact} max={60} />
        </span>
      ))}
      {parameters.map(([key, value]) => (
        <span key={key} class="chip">
          <span class="muted">
            <Name text={key} max={30} />
          </span>
          <Name text={typeof value === 'string' ? value : JSON.stringify(value)} max={40} />
        </span>
      ))}
    </div>
  )
}

/** The build and the commit that it comes from. */
function Source({ trigger }: Pick<Execution, 'trigger'>) {
  const buildUrl = textOf(objectOf(trigger['buildInfo'])['url'])
  const source = ['source', 'slug', 'branch', 'hash'].flatMap((key) => textOf(trigger[key])?.slice(0, 40) ?? [])
  if (buildUrl === undefined && source.length === 0) return null
  return (
    <span class="muted">
      {buildUrl !== undefined && <PlainText text={buildUrl} />} <Name text={source.join(' ')} max={80} />
    </span>
  )
}

const maxArtifacts = 8

/** What the run works on, by name and version, else by reference. */
function artifactsOf({ trigger }: Execution): readonly string[] {
  const found = objectsOf(trigger.artifacts).flatMap((artifact) => {
    const [name, version] = [textOf(artifact['name']), textOf(artifact['version'])]
    return name !== undefined && version !== undefined ? `${name}:${version}` : (textOf(artifact['reference']) ?? name ?? [])
  })
  return [...new Set(found)].slice(0, maxArtifacts)
}
