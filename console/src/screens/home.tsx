/** Home: what waits for the reader, what failed, what runs, and what was deployed. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type Live, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { activeStatuses, isAny, rolesToJudge, search, searchPath, useActiveExecutions, waitingOf } from '../api/waiting.ts'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded, Loading } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Segments } from '../components/tabs.tsx'
import { Duration, Time } from '../components/time.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { useLetters } from '../letter-keys.ts'
import { deploymentsOf, inOrder, toEnvironments, versionLabel } from '../model/deployments.ts'
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
import { favourites, recents } from '../model/recent.ts'
import { foldKind } from '../model/stage-graph.ts'
import { formatMinute, presentMs } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { FirstSteps } from './first-steps.tsx'
import { useAccounts } from './infrastructure-head.tsx'

type Scope = 'mine' | 'all'

const dayMs = 86_400_000
const rowHeight = 57
/** What one search returns at most, with causes and without. */
const page = 100
const longPage = 1000
const maxDeployed = 8

export function Home({ query }: ScreenProps) {
  const scope = query['scope'] === 'mine' ? 'mine' : 'all'
  const onlyWaiting = query['show'] === 'waiting'
  const runs = useRuns(scope, onlyWaiting)
  const choose = useScope(scope)
  const waiting = waitingOf(runs.active.reading.value.body)
  const title = onlyWaiting ? words.waitingForYou : words.home
  const others = onlyWaiting ? [] : [runs.own, runs.failed, runs.succeeded]
  const all = [runs.active, ...others].map((live) => live.reading.value)
  const isNew = !onlyWaiting && scope === 'all' && all.every(({ body }) => body?.length === 0)
  const isUnknown = !onlyWaiting && all.every(({ body, error }) => body === undefined && error === undefined)
  return (
    <>
      <PageHead
        tab={waiting.length === 0 ? title : `(${waiting.length}) ${title}`}
        title={title}
        actions={!onlyWaiting && !isNew && <Segments label="Whose runs" options={scopes} selected={scope} onSelect={choose} />}
      />
      {isNew ? (
        <FirstSteps />
      ) : isUnknown ? (
        <Loading />
      ) : (
        <div class={onlyWaiting ? '' : 'home'}>
          <div class="stack">
            <Waiting live={runs.active} waiting={waiting} of={scope} />
            {!onlyWaiting && <Failed {...runs} of={scope} />}
            {!onlyWaiting && <Running live={runs.own} waiting={waiting} of={scope} />}
          </div>
          {!onlyWaiting && <Aside succeeded={runs.succeeded} />}
        </div>
      )}
    </>
  )
}

const scopes = [
  { id: 'mine', label: 'Mine' },
  { id: 'all', label: 'All' },
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

/** The first row of a block, else its heading. */
function toBlock(at: number): void {
  const block = document.querySelectorAll<HTMLElement>('#main .panel')[at]
  const target = block?.querySelector<HTMLElement>('.row-link') ?? block?.querySelector<HTMLElement>('h2')
  if (target?.tagName === 'H2') target.tabIndex = -1
  target?.focus()
}

/** All reads of the screen, at once. */
function useRuns(scope: Scope, onlyWaiting: boolean) {
  const starter = scope === 'mine' ? user.value?.username : undefined
  const since = useMemo(() => String(Math.floor(presentMs() / 60_000) * 60_000 - dayMs), [])
  const active = useActiveExecutions('live')
  const wanted = (query: Parameters<typeof search>[0]) => (onlyWaiting ? undefined : search({ ...query, user: starter }))
  const own = useLive(searchPath, wanted({ statuses: activeStatuses }), { refresh: 'live', isBusy: isAny })
  const failedQuery = { statuses: 'TERMINAL', triggerTimeStartBoundary: since }
  const failed = useLive(searchPath, wanted(failedQuery), { refresh: 'steady' })
  // Counts go on where the list with causes ends.
  const isCut = failed.reading.value.body?.length === page
  const more = useLive(searchPath, isCut ? wanted({ ...failedQuery, size: longPage, expand: false }) : undefined, {
    refresh: 'slow',
  })
  const succeeded = useLive(searchPath, wanted({ statuses: 'SUCCEEDED', size: 30 }), { refresh: 'steady' })
  return { active, own, failed, more, succeeded }
}

interface BlockProps<Item> {
  readonly title: string
  readonly count?: string | number
  readonly live: Live<readonly Execution[]>
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** Instead of none. */
  readonly none: string
  readonly row: (item: Item) => VNode
  /** Whose runs they are. */
  readonly of: string
}

function Block<Item>({ title, count, live, items, none, of, ...list }: BlockProps<Item>) {
  const nothing = <p class="quiet">{none}</p>
  return (
    <Panel title={title} count={count ?? (live.reading.value.body && items.length)} flush={items.length > 0}>
      <Loaded live={live} rows={2} empty={nothing}>
        {() =>
          items.length === 0 ? nothing : <VirtualList items={items} rowHeight={rowHeight} heldOf={of} label={title} {...list} />
        }
      </Loaded>
    </Panel>
  )
}

interface RowProps {
  readonly mark: VNode
  readonly href: string
  readonly execution: Execution
  /** Beside the title. */
  readonly beside?: VNode
  /** Below it: what it is about. */
  readonly about: preact.ComponentChildren
  readonly end: preact.ComponentChildren
}

function Row({ mark, href, execution: { application, name, id }, beside, about, end }: RowProps) {
  return (
    <div class="run-row two-lines">
      {mark}
      <div class="grow">
        <a class="row-link" href={href}>
          <span class="row-title">
            <span class="muted">
              <Name text={application} max={30} /> /
            </span>{' '}
            <Name text={name ?? id} max={50} />
          </span>
        </a>{' '}
        {beside}
        <div class="cut muted">{about}</div>
      </div>
      <span class="row muted aside">{end}</span>
    </div>
  )
}

function RunId({ id }: Execution) {
  return <span class="run-id">{shortId(id)}</span>
}

interface WaitingProps {
  readonly live: Live<readonly Execution[]>
  /** Those that wait for the reader. */
  readonly waiting: readonly Execution[]
  readonly of: string
}

function Waiting({ live, waiting, of }: WaitingProps) {
  const row = (execution: Execution) => {
    const stage = execution.stages.find(isWaiting)
    const href = to.execution(execution.id, { stage: stage?.id })
    return (
      <Row
        mark={<StatusMark kind="waiting" label={words.waitingForYou} />}
        href={href}
        execution={execution}
        beside={<RunId {...execution} />}
        about={stage && <Name text={textOf(stage.context['instructions']) ?? titleOf(stage)} max={120} />}
        end={
          <>
            <Time at={stage?.startTime} />
            <a class="button is-primary small" href={href}>
              {words.judge}
            </a>
          </>
        }
      />
    )
  }
  const none = 'Nothing waits for you.'
  return <Block title={words.waitingForYou} live={live} items={waiting} keyOf={({ id }) => id} none={none} row={row} of={of} />
}

/** What waits for the reader stands above; what waits for others says for whom. */
function Running({ live, waiting, of }: WaitingProps) {
  const shown = new Set(waiting.map(({ id }) => id))
  const items = (live.reading.value.body ?? []).filter(({ id }) => !shown.has(id))
  return (
    <Block
      title={words.running}
      live={live}
      items={items}
      keyOf={({ id }) => id}
      none="Nothing is running."
      row={runningRow}
      of={of}
    />
  )
}

function runningRow(execution: Execution) {
  const { kind, word } = statusOf(execution)
  const { done, total } = progressOf(execution.stages)
  const current = execution.stages.find(({ status, parentStageId }) => status === 'RUNNING' && !parentStageId)
  const by = startedBy(execution)
  const roles = execution.stages.filter(isWaiting).flatMap(({ context }) => rolesToJudge(context))
  return (
    <Row
      mark={<StatusMark kind={kind} label={word} />}
      href={to.execution(execution.id)}
      execution={execution}
      beside={<RunId {...execution} />}
      about={
        <span class="row">
          <Progress execution={execution} />
          {current === undefined ? (
            execution.status === 'PAUSED' ? (
              word
            ) : (
              words.queued
            )
          ) : (
            <Name text={titleOf(current)} max={40} />
          )}
          {roles.length > 0 && ` waits for ${roles.join(', ')}`}
        </span>
      }
      end={
        <>
          <span class="hide-phone">{words.stagesDone(done, total)}</span>
          {by !== undefined && (
            <span class="hide-phone">
              <Name text={by} max={20} />
            </span>
          )}
          <Duration from={execution.startTime ?? execution.buildTime} />
        </>
      }
    />
  )
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

/** Runs of a pipeline that failed at the same stage. */
interface Failures {
  readonly key: string
  readonly newest: Execution
  readonly oldest: Execution
  readonly count: number
}

function toFailures(runs: readonly Execution[]): readonly Failures[] {
  const stageOf = ({ stages }: Execution) => findFailure(toStageTree(stages))?.path[0]?.name ?? ''
  const groups = Map.groupBy(runs, (run) => `${run.application}\n${run.pipelineConfigId ?? run.name}\n${stageOf(run)}`)
  return [...groups].map(([key, [newest, ...older]]) => ({
    key,
    newest: newest as Execution,
    oldest: older.at(-1) ?? (newest as Execution),
    count: older.length + 1,
  }))
}

type FailedProps = ReturnType<typeof useRuns> & { readonly of: string }

function Failed({ failed, more, succeeded, of }: FailedProps) {
  const counted = more.reading.value.body ?? failed.reading.value.body
  const items = useMemo(() => toFailures(counted ?? []), [counted])
  const causes = new Map(failed.reading.value.body?.map((run) => [run.id, run]))
  const total = counted?.length ?? 0
  const row = (group: Failures) => (
    <FailedRow group={group} detailed={causes.get(group.newest.id)} since={succeededSince(group.newest, succeeded)} />
  )
  const count = `${total.toLocaleString()}${total === longPage ? '+' : ''}`
  return (
    <Block
      title="Failed in the last 24 hours"
      {...(counted !== undefined && { count })}
      live={failed}
      items={items}
      keyOf={({ key }) => key}
      none="Nothing failed in the last 24 hours."
      row={row}
      of={of}
    />
  )
}

/** A later run of the pipeline that succeeded. */
function succeededSince(failed: Execution, succeeded: Live<readonly Execution[]>): Execution | undefined {
  const isSame = (run: Execution) => run.application === failed.application && run.pipelineConfigId === failed.pipelineConfigId
  return succeeded.reading.value.body?.find((run) => isSame(run) && (run.buildTime ?? 0) > (failed.buildTime ?? 0))
}

interface FailedRowProps {
  readonly group: Failures
  /** The newest with the reason. */
  readonly detailed: Execution | undefined
  readonly since: Execution | undefined
}

function FailedRow({ group: { newest, oldest, count }, detailed = newest, since }: FailedRowProps) {
  const failure = findFailure(toStageTree(detailed.stages))
  const sinceMs = oldest.endTime ?? oldest.startTime
  const others = to.runs(newest.application, { pipeline: newest.name ?? undefined, status: 'failed' })
  return (
    <Row
      mark={<StatusMark kind="failed" label="failed" />}
      href={to.execution(newest.id)}
      execution={newest}
      beside={
        count === 1 ? (
          <RunId {...newest} />
        ) : (
          <a class="raised" href={others}>
            failed {count.toLocaleString()} times{sinceMs ? ` since ${formatMinute(sinceMs)}` : ''}
          </a>
        )
      }
      about={
        failure !== undefined && (
          <>
            <strong>
              <Name text={titleOf(failure.path[0] ?? failure.stage)} max={40} />
            </strong>{' '}
            {failure.reason !== undefined && <Name text={failure.reason} max={160} />}
          </>
        )
      }
      end={
        <>
          {since !== undefined && (
            <a class="chip" href={to.execution(since.id)}>
              <StatusMark kind="succeeded" /> succeeded since
            </a>
          )}
          <Time at={newest.endTime ?? newest.startTime} />
        </>
      }
    />
  )
}

function Aside({ succeeded }: { succeeded: Live<readonly Execution[]> }) {
  const accounts = useAccounts().reading.value.body
  const placesOf = useMemo(() => {
    const environments = toEnvironments(accounts ?? [])
    return (names: readonly string[]) =>
      inOrder([...new Set(names.map((name) => environments.get(name) ?? name))], [], environments)
  }, [accounts])
  const runs = (succeeded.reading.value.body ?? []).filter((run) => deploymentsOf(run).length > 0).slice(0, maxDeployed)
  const nothing = <p class="quiet">Nothing was deployed lately.</p>
  return (
    <div class="stack">
      <Panel title="Deployed lately" flush={runs.length > 0} actions={<a href={to.environments()}>Environments</a>}>
        <Loaded live={succeeded} rows={3} empty={nothing}>
          {() =>
            runs.length === 0 ? (
              nothing
            ) : (
              <ul class="rows">
                {runs.map((run) => (
                  <DeployedRow key={run.id} run={run} placesOf={placesOf} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Panel>
      <Shortcuts />
    </div>
  )
}

function DeployedRow({ run, placesOf }: { run: Execution; placesOf: (accounts: readonly string[]) => readonly string[] }) {
  const by = startedBy(run)
  return (
    <li class="run-row two-lines">
      <StatusMark kind="succeeded" label="succeeded" />
      <div class="grow">
        {deploymentsOf(run).map(({ image, accounts }) => (
          <a key={image} class="row-link" href={to.execution(run.id)}>
            <span class="row-title">
              <Name text={run.application} max={30} /> <Name text={versionLabel(image)} max={24} />
            </span>
            <span class="muted"> to {placesOf(accounts).join(', ')}</span>
          </a>
        ))}
        <div class="cut muted">
          <Name text={run.name ?? ''} max={30} />
          {by !== undefined && (
            <>
              , by <Name text={by} max={20} />
            </>
          )}
        </div>
      </div>
      <span class="muted aside">
        <Time at={run.endTime ?? run.startTime} />
      </span>
    </li>
  )
}

/** Favourites, and what was opened last. */
function Shortcuts() {
  const starred = favourites.value.map((label) => ({ label, href: to.application(label) }))
  const shown = [...starred, ...recents.value.filter(({ href }) => !starred.some((one) => one.href === href))]
  if (shown.length === 0) return null
  return (
    <Panel title={starred.length > 0 ? 'Favourites and recently opened' : words.recent}>
      <p class="chips">
        {shown.map(({ label, href }) => (
          <a key={href} href={href} class="chip">
            <Icon name="apps" />
            <Name text={label} max={30} />
          </a>
        ))}
      </p>
    </Panel>
  )
}
