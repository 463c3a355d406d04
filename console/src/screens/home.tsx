/** Home: what waits for the reader, what runs, what failed. */
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type Live, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { activeStatuses, isAny, search, searchPath, useActiveExecutions, waitingOf } from '../api/waiting.ts'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Segments } from '../components/tabs.tsx'
import { Duration, Time } from '../components/time.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { useLetters } from '../letter-keys.ts'
import {
  type Execution,
  findFailure,
  isWaiting,
  progressOf,
  shortId,
  startedBy,
  statusOf,
  titleOf,
  toStageTree,
} from '../model/execution.ts'
import { textOf } from '../model/read.ts'
import { recents } from '../model/recent.ts'
import { foldKind } from '../model/stage-graph.ts'
import { executionStatus } from '../model/status.ts'
import { presentMs } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { FirstSteps } from './first-steps.tsx'

const dayMs = 86_400_000
const rowHeight = 45

export function Home({ query }: ScreenProps) {
  const scope = query['scope'] === 'mine' ? 'mine' : 'all'
  const onlyWaiting = query['show'] === 'waiting'
  const active = useActiveExecutions('live')
  const anything = useLive(searchPath, search({ size: 1 }), { refresh: 'open' })
  const waiting = waitingOf(active.reading.value.body)
  const isNew = !onlyWaiting && anything.reading.value.body?.length === 0 && active.reading.value.body?.length === 0
  const title = onlyWaiting ? words.waitingForYou : words.home
  const choose = useScope(scope)
  return (
    <>
      <PageHead
        tab={waiting.length === 0 ? title : `(${waiting.length}) ${title}`}
        title={title}
        actions={!onlyWaiting && <Segments label={words.scope} options={scopes} selected={scope} onSelect={choose} />}
      />
      {isNew ? (
        <Panel title={words.homeEmpty}>
          <EmptyState icon="pipeline" text={words.homeEmptyAdvice}>
            <FirstSteps />
          </EmptyState>
        </Panel>
      ) : (
        <div class="stack">
          <RunsPanel
            title={words.waitingForYou}
            live={active}
            found={waitingOf}
            none={words.nothingWaits}
            row={WaitingRow}
            of={scope}
          />
          {!onlyWaiting && <OtherRuns scope={scope} />}
        </div>
      )}
      {!onlyWaiting && recents.value.length > 0 && <Recents />}
    </>
  )
}

type Scope = 'mine' | 'all'

const scopes = [
  { id: 'mine', label: words.mine },
  { id: 'all', label: words.all },
] as const

/** The choice whose runs are shown, and the letters of the screen. */
function useScope(scope: Scope): (scope: Scope) => void {
  const { route: navigate } = useLocation()
  const choose = (id: Scope) => navigate(id === 'all' ? to.home() : `${to.home()}?scope=${id}`, true)
  useLetters({
    m: () => choose(scope === 'mine' ? 'all' : 'mine'),
    ...Object.fromEntries(['1', '2', '3'].map((key) => [key, () => toBlock(Number(key) - 1)])),
  })
  return choose
}

/** What runs, and what failed within a day. */
function OtherRuns({ scope }: { scope: Scope }) {
  const starter = scope === 'mine' ? user.value?.username : undefined
  const since = useMemo(() => Math.floor(presentMs() / 60_000) * 60_000 - dayMs, [])
  const own = useLive(searchPath, search({ statuses: activeStatuses, user: starter }), { refresh: 'live', isBusy: isAny })
  const failedQuery = search({ statuses: 'TERMINAL', triggerTimeStartBoundary: String(since), user: starter })
  const failed = useLive(searchPath, failedQuery, { refresh: 'steady' })
  return (
    <>
      <RunsPanel title={words.running} live={own} none={words.nothingRuns} row={RunningRow} of={scope} />
      <RunsPanel title={words.failedLately} live={failed} none={words.nothingFailed} row={FailedRow} of={scope} />
    </>
  )
}

function Recents() {
  return (
    <p class="recents">
      <span class="muted">{words.recent}</span>
      {recents.value.map(({ label, href, kind }) => (
        <a key={href} href={href} class="chip">
          <Icon name={kind === 'application' ? 'apps' : 'pipeline'} />
          <Name text={label} max={30} />
        </a>
      ))}
    </p>
  )
}

/** The first row of a block, else its heading. */
function toBlock(at: number): void {
  const block = document.querySelectorAll<HTMLElement>('#main .panel')[at]
  const target = block?.querySelector<HTMLElement>('.row-link') ?? block?.querySelector<HTMLElement>('h2')
  if (target?.tagName === 'H2') target.tabIndex = -1
  target?.focus()
}

interface RunsPanelProps {
  readonly title: string
  readonly live: Live<readonly Execution[]>
  /** Those of the answer that belong here. */
  readonly found?: (executions: readonly Execution[]) => readonly Execution[]
  /** Instead of none. */
  readonly none: string
  readonly row: (props: { execution: Execution }) => preact.JSX.Element
  /** Whose runs they are. */
  readonly of: string
}

function RunsPanel({ title, live, found = (all) => all, none, row: Row, of }: RunsPanelProps) {
  const executions = found(live.reading.value.body ?? [])
  const nothing = <p class="quiet">{none}</p>
  return (
    <Panel title={title} count={executions.length} flush={executions.length > 0} class="runs-panel">
      <Loaded live={live} rows={2} empty={nothing}>
        {() =>
          executions.length === 0 ? (
            nothing
          ) : (
            <VirtualList
              items={executions}
              keyOf={({ id }) => id}
              rowHeight={rowHeight}
              heldOf={of}
              label={title}
              row={(execution) => <Row execution={execution} />}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

function Title({ execution: { application, name, id } }: { execution: Execution }) {
  return (
    <span class="row-title">
      <span class="muted">
        <Name text={application} max={30} /> /
      </span>{' '}
      <Name text={name ?? id} max={50} /> <span class="run-id">{shortId(id)}</span>
    </span>
  )
}

function WaitingRow({ execution }: { execution: Execution }) {
  const stage = execution.stages.find(isWaiting)
  return (
    <div class="run-row">
      <StatusMark kind="waiting" label={words.waitingForYou} />
      <a class="row-link" href={to.execution(execution.id, { stage: stage?.id })}>
        <Title execution={execution} />
      </a>
      <span class="grow cut">
        {stage !== undefined && <Name text={textOf(stage.context['instructions']) ?? titleOf(stage)} max={80} />}
      </span>
      <span class="muted aside">
        <Time at={stage?.startTime} />
      </span>
      <a class="button is-primary small" href={to.execution(execution.id, { stage: stage?.id })}>
        {words.judge}
      </a>
    </div>
  )
}

function RunningRow({ execution }: { execution: Execution }) {
  const status = statusOf(execution)
  const { done, total } = progressOf(execution.stages)
  const current = execution.stages.find(({ status: state, parentStageId }) => state === 'RUNNING' && !parentStageId)
  return (
    <div class="run-row">
      <StatusMark kind={status.kind} label={status.word} />
      <a class="row-link" href={to.execution(execution.id)}>
        <Title execution={execution} />
      </a>
      <span class="grow progress-cell">
        <Progress execution={execution} />
        <span class="muted cut">{current === undefined ? waitWord(execution) : <Name text={titleOf(current)} max={40} />}</span>
      </span>
      <span class="muted hide-phone">{words.stagesDone(done, total)}</span>
      <span class="muted hide-phone">
        {startedBy(execution) !== undefined && <Name text={startedBy(execution) ?? ''} max={20} />}
      </span>
      <Duration from={execution.startTime ?? execution.buildTime} />
    </div>
  )
}

/** Why nothing of it runs. */
function waitWord(execution: Execution): string {
  return execution.status === 'PAUSED' ? statusOf(execution).word : words.queued
}

const maxSegments = 24

/** A segment for each stage of the definition, or for several where there are many. */
function Progress({ execution }: { execution: Execution }) {
  const top = execution.stages.filter(({ parentStageId }) => !parentStageId)
  const each = Math.max(1, Math.ceil(top.length / maxSegments))
  const segments = Array.from({ length: Math.ceil(top.length / each) }, (_, at) => top.slice(at * each, (at + 1) * each))
  return (
    <span class="progress" aria-hidden="true">
      {segments.map((stages) => (
        <span key={stages[0]?.id} class={`is-${foldKind(stages)}`} />
      ))}
    </span>
  )
}

function FailedRow({ execution }: { execution: Execution }) {
  const failure = findFailure(toStageTree(execution.stages))
  return (
    <div class="run-row">
      <StatusMark kind="failed" label={executionStatus(execution.status).word} />
      <a class="row-link" href={to.execution(execution.id)}>
        <Title execution={execution} />
      </a>
      <span class="grow cut">
        {failure !== undefined && (
          <>
            <strong>
              <Name text={titleOf(failure.path[0] ?? failure.stage)} max={40} />
            </strong>{' '}
            {failure.reason !== undefined && <Name text={failure.reason} max={140} />}
          </>
        )}
      </span>
      <span class="muted aside">
        <Time at={execution.endTime ?? execution.startTime} />
      </span>
    </div>
  )
}
