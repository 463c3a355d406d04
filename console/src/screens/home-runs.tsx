/** Blocks of the home page: what waits, what failed, what runs. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import type { Live } from '../api/live.ts'
import { rolesToJudge } from '../api/waiting.ts'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Duration, Time } from '../components/time.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { type Execution, failureOf, isWaiting, progressOf, shortId, startedBy, statusOf, titleOf } from '../model/execution.ts'
import { textOf } from '../model/read.ts'
import { foldKind } from '../model/stage-graph.ts'
import { formatMinute } from '../model/time.ts'
import { plural } from '../words.ts'

const rowHeight = 57
/** What one search returns at most without causes. */
export const longPage = 1000

interface BlockProps<Item> {
  readonly title: string
  readonly count?: string | number
  readonly actions?: VNode
  readonly live: Live<readonly Execution[]>
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** Instead of none. */
  readonly none: string
  readonly row: (item: Item) => VNode
  /** Whose runs they are. */
  readonly of: string
}

function Block<Item>({ title, count, actions, live, items, none, of, ...list }: BlockProps<Item>) {
  const nothing = <p class="quiet">{none}</p>
  return (
    <Panel
      title={title}
      count={count ?? (live.reading.value.body && items.length)}
      flush={items.length > 0}
      {...(actions && { actions })}
    >
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

export function Waiting({ live, waiting, of }: WaitingProps) {
  const row = (execution: Execution) => {
    const stage = execution.stages.find(isWaiting)
    const href = to.execution(execution.id, { stage: stage?.id })
    return (
      <Row
        mark={<StatusMark kind="waiting" label="Waiting for you" />}
        href={href}
        execution={execution}
        beside={<RunId {...execution} />}
        about={stage && <Name text={textOf(stage.context['instructions']) ?? titleOf(stage)} max={120} />}
        end={
          <>
            <Time at={stage?.startTime} />
            <a class="button is-primary small" href={href}>
              Judge
            </a>
          </>
        }
      />
    )
  }
  const none = 'Nothing waits for you.'
  return <Block title="Waiting for you" live={live} items={waiting} keyOf={({ id }) => id} none={none} row={row} of={of} />
}

/** What waits for the reader stands above; what waits for others says for whom. */
export function Running({ live, waiting, of }: WaitingProps) {
  const shown = new Set(waiting.map(({ id }) => id))
  const items = (live.reading.value.body ?? []).filter(({ id }) => !shown.has(id))
  return (
    <Block title="Running" live={live} items={items} keyOf={({ id }) => id} none="Nothing is running." row={runningRow} of={of} />
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
              'waits for its turn'
            )
          ) : (
            <Name text={titleOf(current)} max={40} />
          )}
          {roles.length > 0 && ` waits for ${roles.join(', ')}`}
        </span>
      }
      end={
        <>
          <span class="hide-phone">{`${done} of ${plural(total, 'stage')}`}</span>
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
  const stageOf = (run: Execution) => failureOf(run)?.path[0]?.name ?? ''
  const groups = Map.groupBy(runs, (run) => `${run.application}\n${run.pipelineConfigId ?? run.name}\n${stageOf(run)}`)
  return [...groups].map(([key, [newest, ...older]]) => ({
    key,
    newest: newest as Execution,
    oldest: older.at(-1) ?? (newest as Execution),
    count: older.length + 1,
  }))
}

interface FailedProps {
  readonly failed: Live<readonly Execution[]>
  /** All failures, where the others are cut; without causes. */
  readonly more: Live<readonly Execution[]>
  readonly succeeded: Live<readonly Execution[]>
  readonly of: string
}

export function Failed({ failed, more, succeeded, of }: FailedProps) {
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
      {...(items.length > 0 && { actions: <a href={to.runs(undefined, { status: 'failed', from: '24h' })}>All failed runs</a> })}
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
  const failure = failureOf(detailed)
  const sinceMs = oldest.endTime ?? oldest.startTime
  const others = to.runs(newest.application, { pipeline: newest.name ?? undefined, status: 'failed', from: '24h' })
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
