/** One execution: where it is, why it failed, what can be done. */

import { objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { useMemo, useState } from 'preact/hooks'
import { type ScreenProps, to, useQueryChange } from '../address.ts'
import { useLive } from '../api/live.ts'
import { useRunsOf } from '../api/pipelines.ts'
import { Beside } from '../components/beside.tsx'
import { Banner, Button } from '../components/button.tsx'
import { Lazy, Loaded, Panel } from '../components/screen.tsx'
import { StageGraph } from '../components/stage-graph.tsx'
import { StageList, type StageListProps } from '../components/stage-list.tsx'
import { StepRows } from '../components/step-rows.tsx'
import { Segments } from '../components/tabs.tsx'
import { Name, PlainText, Time, usePhone, useWide } from '../components/text.tsx'
import { useLetters } from '../letter-keys.ts'
import { deploymentsOf } from '../model/deployment.ts'
import {
  type Execution,
  findFailure,
  isComplete,
  isFailed,
  isWaiting,
  type Stage,
  shortId,
  titleOf,
  toStageTree,
} from '../model/execution.ts'
import { toStageGraph } from '../model/stage-graph.ts'
import { plural } from '../words.ts'
import { RunFailure } from './run-failure.tsx'
import { RunHead } from './run-head.tsx'
import { loadDeploymentPicture, StagePanel } from './stage-panel.tsx'

const loadJudgment = async () => (await import('./review.tsx')).Judgment

const views = [
  { id: 'graph', label: 'Graph' },
  { id: 'list', label: 'List' },
  { id: 'time', label: 'Time' },
] as const
/** Above that the list says more than a drawing. */
const maxNodes = 400

export function ExecutionScreen({ params, query }: ScreenProps) {
  const { id = '' } = params
  const isBusy = ({ status, notificationDeliveries }: Execution) =>
    !isComplete(status) ||
    notificationDeliveries?.some((delivery) => delivery.status === 'waiting') === true
  const events = { path: `/executions/${encodeURIComponent(id)}/events` }
  const live = useLive('/pipelines/{id}', { path: { id } }, { refresh: 'live', isBusy, events })
  const none = 'There is no such execution, or you may not read it.'
  return (
    <Loaded live={live} title={`Execution ${shortId(id)}`} rows={8} icon="search" empty={none}>
      {(execution) => <Run execution={execution} query={query} />}
    </Loaded>
  )
}

function Run({ execution, query }: { execution: Execution; query: ScreenProps['query'] }) {
  const {
    id,
    application,
    status,
    stages,
    canceled,
    canceledBy,
    cancellationReason,
    systemNotifications,
  } = execution
  const notices = objectsOf(systemNotifications).filter(({ closed }) => closed !== true)
  const change = useQueryChange()
  const tree = useMemo(() => toStageTree(stages), [execution])
  const isWide = useWide()
  const chosen = stages.find((stage) => stage.id === query['stage'])
  const selected = chosen ?? (isWide ? usualStage(execution, tree.top) : undefined)
  const waiting = chosen !== undefined && isWaiting(chosen) ? chosen : stages.find(isWaiting)
  const failure = isFailed(status) ? findFailure(tree) : undefined
  // Output has the page for itself.
  const isOutput = chosen !== undefined && query['tab'] === 'log'
  const select = (stage: string) => change({ stage, tab: undefined, line: undefined })
  const back = to.execution(id, { view: query['view'] })
  const failed = stages.filter((stage) => isFailed(stage.status)).map((stage) => stage.id)
  const at = failed.indexOf(selected?.id ?? '')
  const selectFailed = (place: number) =>
    failed.length > 0 && select(failed.at(place % failed.length) ?? '')
  useLetters({ n: () => selectFailed(at + 1), p: () => selectFailed(at === -1 ? -1 : at - 1) })
  const side = selected && (
    <StagePanel
      key={selected.id}
      execution={execution}
      query={query}
      stage={selected}
      inner={tree.inner.get(selected.id) ?? []}
      isExplained={isWide && failure?.path.includes(selected) === true}
      close={isWide && chosen !== undefined ? back : undefined}
    />
  )
  // The panel of a stage that deploys has the picture, too.
  const isInPanel = selected !== undefined && deploymentsOf(execution, selected).length > 0
  const deployments = isInPanel ? [] : deploymentsOf(execution)
  return (
    <div class="run-page">
      <RunHead execution={execution} />
      {status === 'NOT_STARTED' && <Queued execution={execution} />}
      {canceled === true && (
        <Banner tone="info">
          Cancelled{canceledBy && ` by ${canceledBy}`}
          <Name text={cancellationReason ? `: ${cancellationReason}` : '.'} max={300} />
        </Banner>
      )}
      {notices.map(({ message }, at) => (
        <Banner key={at} tone="warning" children={<PlainText text={scalarOf(message) ?? ''} />} />
      ))}
      {waiting !== undefined && (
        <Lazy
          key={waiting.id}
          load={loadJudgment}
          props={{ application, execution: id, stage: waiting.id, name: titleOf(waiting) }}
        />
      )}
      {failure !== undefined && !isOutput && (
        <RunFailure key={failure.child} run={execution} execution={execution} failure={failure} />
      )}
      <Beside
        label={selected === undefined ? '' : titleOf(selected)}
        back={{ href: back, label: 'All stages' }}
        side={side}
      >
        {!isOutput && (
          <>
            <Stages
              execution={execution}
              tree={tree}
              view={query['view']}
              selected={selected?.id}
              onSelect={select}
            />
            {deployments.length > 0 && (
              <Lazy load={loadDeploymentPicture} props={{ application, deployments }} />
            )}
            <Notifications execution={execution} />
          </>
        )}
      </Beside>
    </div>
  )
}

/** What runs, where the reader has chosen nothing. Of a run that has ended the whole matters, or its only stage. */
function usualStage({ status }: Execution, top: readonly Stage[]) {
  if (!isComplete(status))
    return top.find((stage) => stage.status === 'RUNNING' && !isWaiting(stage))
  return top.length === 1 && !isFailed(status) ? top[0] : undefined
}

type StagesProps = Omit<StageListProps, 'showsTime'> & { readonly view: string | undefined }

function Stages({ execution, view: wanted, ...shared }: StagesProps) {
  const change = useQueryChange()
  const isPhone = usePhone()
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const foldsChains = !isComplete(execution.status) || isFailed(execution.status)
  const graph = useMemo(
    () => toStageGraph(shared.tree, opened, foldsChains),
    [shared.tree, opened, foldsChains],
  )
  const canDraw = graph.nodes.length <= maxNodes
  const view = views.find(({ id }) => id === wanted)?.id ?? (isPhone || !canDraw ? 'list' : 'graph')
  const isDrawn = view === 'graph' && canDraw
  const fold = (id: string) => setOpened((before) => before.symmetricDifference(new Set([id])))
  return (
    <>
      <div class="filters">
        <Segments
          label="View"
          options={views}
          selected={view}
          onSelect={(chosen) => change({ view: chosen })}
        />
        {!canDraw && <span class="muted">{graph.nodes.length} stages are too many to draw.</span>}
        {view === 'graph' && opened.size > 0 && (
          <Button small onClick={() => setOpened(new Set())}>
            Fold again
          </Button>
        )}
      </div>
      <div class={`panel ${isDrawn ? '' : 'is-flush'}`}>
        {isDrawn && <StageGraph graph={graph} {...shared} onFold={fold} />}
        {!isDrawn && <StageList execution={execution} {...shared} showsTime={view === 'time'} />}
      </div>
    </>
  )
}

/** Why a run has not begun: of some pipelines only one runs at a time. */
function Queued({
  execution: { id, name, application, pipelineConfigId, limitConcurrent },
}: {
  execution: Execution
}) {
  const { body = [] } = useRunsOf(
    limitConcurrent === true ? pipelineConfigId : undefined,
    20,
    application,
  )
  const running = body.find((run) => run.id !== id && ['RUNNING', 'PAUSED'].includes(run.status))
  if (running === undefined) return <Banner tone="info">This run waits for its turn.</Banner>
  return (
    <Banner tone="info">
      {name ?? id} allows one run at a time. This one waits for{' '}
      <a href={to.execution(running.id)}>{shortId(running.id)}</a>.
    </Banner>
  )
}

const deliveryKinds = { delivered: 'succeeded', waiting: 'waiting', failed: 'failed' } as const

/** Notifications of the run: delivered, waiting, or failed with the reason. */
function Notifications({
  execution: { notificationDeliveries, stages },
}: {
  execution: Execution
}) {
  if (!notificationDeliveries?.length) return null
  const rows = notificationDeliveries.map(
    ({ id, type, address, when, stageId, status, attempts, reason, changedTime }) => {
      const stage = stages.find((one) => one.id === stageId)
      const words = [`${when}${stage === undefined ? '' : ` ${titleOf(stage)}`}: ${status}`]
      if (attempts > 1) words.push(plural(attempts, 'attempt'))
      return {
        key: id,
        status: { kind: deliveryKinds[status], word: status },
        title: <Name text={`${type} ${address}`} max={60} />,
        note: <Name text={[...words, ...(reason ? [reason] : [])].join(', ')} max={300} />,
        action: <Time at={changedTime} />,
      }
    },
  )
  return (
    <Panel title="Notifications" count={rows.length} flush>
      <StepRows steps={rows} />
    </Panel>
  )
}
