/** Blocks of the home page: what waits, what failed, what runs. */
import type { ComponentChildren, VNode } from 'preact'
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
import type { Status } from '../model/status.ts'
import { formatClock } from '../model/time.ts'
import { plural } from '../words.ts'

type Runs = Live<readonly Execution[]>

interface BlockProps<Item> {
  readonly title: string
  readonly count?: string
  readonly actions?: VNode | false
  readonly live: Runs
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** Instead of none. */
  readonly none: string
  readonly row: (item: Item) => VNode
  /** Whose runs they are. */
  readonly of?: string
}

export function Block<Item>({ title, count, actions, live, items, none, of = '', ...list }: BlockProps<Item>) {
  const nothing = <p class="quiet">{none}</p>
  const rows = <VirtualList items={items} rowHeight={57} heldOf={of} label={title} {...list} />
  return (
    <Panel
      title={title}
      count={count ?? (live.reading.value.body && items.length)}
      flush={items.length > 0}
      actions={actions || undefined}
    >
      <Loaded live={live} rows={2} empty={nothing}>
        {() => (items.length === 0 ? nothing : rows)}
      </Loaded>
    </Panel>
  )
}

interface RowProps {
  readonly run: Execution
  readonly status: Status
  readonly href?: string
  /** Beside the title. */
  readonly beside?: VNode
  /** Below it: what it is about. */
  readonly about: ComponentChildren
  readonly end: ComponentChildren
}

function Row({ run: { application, name, id }, status, href = to.execution(id), beside, about, end }: RowProps) {
  return (
    <div class="run-row two-lines">
      <StatusMark kind={status.kind} label={status.word} />
      <div class="grow">
        <a class="row-link" href={href}>
          <span class="row-title">
            <span class="muted">
              <Name text={application} max={30} /> /
            </span>{' '}
            <Name text={name ?? id} max={50} />
          </span>
        </a>{' '}
        {beside ?? <span class="run-id">{shortId(id)}</span>}
        <div class="cut muted">{about}</div>
      </div>
      <span class="row muted aside">{end}</span>
    </div>
  )
}

interface WaitingProps {
  readonly live: Runs
  /** Those that wait for the reader. */
  readonly waiting: readonly Execution[]
  readonly of: string
}

export function Waiting({ live, waiting, of }: WaitingProps) {
  const row = (run: Execution) => {
    const stage = run.stages.find(isWaiting)
    const href = to.execution(run.id, { stage: stage?.id })
    return (
      <Row
        run={run}
        status={{ kind: 'waiting', word: 'Waiting for you' }}
        href={href}
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

/** What waits for the reader is above; what waits for others says for whom. */
export function Running({ live, waiting, of }: WaitingProps) {
  const items = (live.reading.value.body ?? []).filter(({ id }) => waiting.every((one) => one.id !== id))
  return (
    <Block title="Running" live={live} items={items} keyOf={({ id }) => id} none="Nothing is running." row={runningRow} of={of} />
  )
}

function runningRow(run: Execution) {
  const status = statusOf(run)
  const { done, total } = progressOf(run.stages)
  const current = run.stages.find((stage) => stage.status === 'RUNNING' && !stage.parentStageId)
  const step = current ? titleOf(current) : run.status === 'PAUSED' ? status.word : 'waits for its turn'
  const by = startedBy(run)
  const roles = run.stages.filter(isWaiting).flatMap(({ context }) => rolesToJudge(context))
  return (
    <Row
      run={run}
      status={status}
      about={
        <span class="row">
          <progress aria-hidden="true" value={done} max={Math.max(1, total)} />
          <Name text={step} max={40} />
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
          <Duration from={run.startTime ?? run.buildTime} />
        </>
      }
    />
  )
}

interface FailedProps {
  readonly failed: Runs
  readonly succeeded: Runs
  readonly of: string
}

/** Runs of a pipeline that failed at the same stage are one row. */
export function Failed({ failed, succeeded, of }: FailedProps) {
  const runs = failed.reading.value.body ?? []
  const groups = Map.groupBy(runs, (run) =>
    [run.application, run.pipelineConfigId ?? run.name, failureOf(run)?.path[0]?.name].join('\n'),
  )
  return (
    <Block
      title="Failed in the last 24 hours"
      actions={runs.length > 0 && <a href={to.runs(undefined, { status: 'failed', from: '24h' })}>All failed runs</a>}
      {...(failed.reading.value.body && { count: `${runs.length}${runs.length === 100 ? '+' : ''}` })}
      live={failed}
      items={[...groups]}
      keyOf={([key]) => key}
      none="Nothing failed in the last 24 hours."
      row={([, group]) => <FailedRow group={group} succeeded={succeeded.reading.value.body} />}
      of={of}
    />
  )
}

function FailedRow({ group, succeeded = [] }: { group: readonly Execution[]; succeeded: readonly Execution[] | undefined }) {
  const [newest, ...older] = group as readonly [Execution, ...Execution[]]
  const failure = failureOf(newest)
  const firstMs = older.at(-1)?.endTime
  const since = succeeded.find(
    (run) =>
      run.application === newest.application &&
      run.pipelineConfigId === newest.pipelineConfigId &&
      (run.buildTime ?? 0) > (newest.buildTime ?? 0),
  )
  const others = to.runs(newest.application, { pipeline: newest.name ?? undefined, status: 'failed', from: '24h' })
  return (
    <Row
      run={newest}
      status={{ kind: 'failed', word: 'failed' }}
      {...(older.length > 0 && {
        beside: (
          <a class="raised" href={others}>
            {`failed ${group.length} times${firstMs ? ` since ${formatClock(firstMs)}` : ''}`}
          </a>
        ),
      })}
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
