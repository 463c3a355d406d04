/** The stages of an execution as rows: indented by nesting, or on an axis of time. */
import { durationOf, type Execution, isWaiting, type Stage, type StageTree, stageStatus, titleOf } from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import { numberOf, objectsOf } from '../model/read.ts'
import { formatDuration, now } from '../model/time.ts'
import { kept, useGradually, useSteady } from './kept.tsx'
import { Name } from './name.tsx'
import { rem } from './rem.ts'
import { StatusMark } from './status-mark.tsx'
import { Duration } from './time.tsx'

interface StageListProps {
  readonly execution: Execution
  readonly tree: StageTree
  readonly selected: string | undefined
  readonly onSelect: (stage: string) => void
  /** Bars on a common axis instead of durations alone. */
  readonly showsTime: boolean
}

/** Rows that are drawn before the browser paints: a screen full of them. */
const rowsAtOnce = 40

export function StageList({ execution, tree, selected, onSelect, showsTime }: StageListProps) {
  const select = useSteady(onSelect)
  const rows = tree.top.flatMap((stage) => rowsOf(stage, tree))
  const count = useGradually(rows.length, rowsAtOnce)
  // Only the axis of time moves with the present.
  const nowMs = execution.endTime ?? (showsTime ? now.value : now.peek())
  const axis = axisOf(execution, nowMs)
  return (
    <ol class="stage-list" aria-label="Stages">
      {rows.slice(0, count).map(({ stage, depth, within }) => (
        <StageRow
          key={stage.id}
          {...{ ...lookOf(stage, nowMs), depth, within }}
          isSelected={stage.id === selected}
          segments={showsTime ? segmentsOf(stage, execution.stages, axis, nowMs) : undefined}
          hasEnded={Boolean(execution.endTime)}
          onSelect={select}
        />
      ))}
    </ol>
  )
}

interface Row {
  readonly stage: Stage
  readonly depth: number
  /** Title of the stage that it belongs to. */
  readonly within: string | undefined
}

const maxDepth = 20

/** What runs before a stage, the stage, what runs after it. */
function rowsOf(stage: Stage, { inner }: Pick<StageTree, 'inner'>, depth = 0, within?: string): readonly Row[] {
  const children = depth > maxDepth ? [] : (inner.get(stage.id) ?? [])
  return [{ stage, depth, within }, ...children.flatMap((child) => rowsOf(child, { inner }, depth + 1, titleOf(stage)))]
}

/** What a row shows. */
function lookOf(stage: Stage, nowMs: number) {
  const { id, startTime: from, endTime } = stage
  const length = durationOf(stage, nowMs)
  const texts = { title: titleOf(stage), type: stageWord(stage.type), attempts: attemptsOf(stage).length }
  return {
    ...stageStatus(stage),
    ...texts,
    id,
    from,
    length: endTime ? length : undefined,
    isRunning: !endTime && length !== undefined,
  }
}

interface StageRowProps extends ReturnType<typeof lookOf>, Pick<Row, 'depth' | 'within'> {
  readonly isSelected: boolean
  /** On the axis of time, where it is shown. */
  readonly segments: readonly Segment[] | undefined
  /** The execution. */
  readonly hasEnded: boolean
  readonly onSelect: (stage: string) => void
}

/** The same is not drawn again. */
const StageRow = kept((props: StageRowProps) => {
  const { id, kind, word, depth, within, title, type, from, length, isRunning, attempts, segments, hasEnded } = props
  return (
    <li>
      <button
        type="button"
        class={`stage-row is-${kind} ${segments === undefined ? '' : 'has-time'}`}
        aria-pressed={props.isSelected}
        onClick={() => props.onSelect(id)}
      >
        <span class="stage-name" style={{ paddingInlineStart: rem(depth * 20) }}>
          <StatusMark kind={kind} />
          <Name class="cut" text={title} max={60} />
          <span class="muted hide-phone node-type">{type}</span>
          {within !== undefined && <span class="visually-hidden">{`, part of ${within}, `}</span>}
        </span>
        {segments === undefined ? (
          <span class="grow" />
        ) : (
          <span class="timing">
            {segments.map((segment, at) => (
              <span
                key={at}
                class={`timing-bar is-${segment.kind}`}
                style={{ left: `${segment.left}%`, width: `${segment.width}%` }}
              />
            ))}
            {!hasEnded && <span class="timing-now" />}
          </span>
        )}
        <span class="muted word">{word + (attempts > 0 ? `, attempt ${attempts + 1}` : '')}</span>
        <span class="number length">{isRunning ? <Duration from={from} /> : length !== undefined && formatDuration(length)}</span>
      </button>
    </li>
  )
})

interface Segment {
  /** `waits` for other requisites, `window` for a time window; `judges` for a person. */
  readonly kind: 'waits' | 'window' | 'attempt' | 'judges' | 'runs'
  /** Percent of the axis. */
  readonly left: number
  readonly width: number
}

/** A span in milliseconds since the epoch. */
interface Span {
  readonly from: number
  readonly until: number
}

/** From the first thing that happened, which a restart may have been long after. */
function axisOf({ stages, startTime, buildTime, endTime }: Execution, nowMs: number): Span {
  const begun = startTime ?? buildTime
  const starts = stages.flatMap((stage) => [...attemptsOf(stage).map(({ from }) => from), stage.startTime ?? []].flat())
  const until = endTime ?? nowMs
  const from = Math.min(...starts, begun ?? until)
  return { from, until: Math.max(until, from + 1) }
}

function segmentsOf(stage: Stage, stages: readonly Stage[], axis: Span, nowMs: number): readonly Segment[] {
  const span = axis.until - axis.from
  const at = (time: number) => Math.max(0, Math.min(100, ((time - axis.from) / span) * 100))
  const segment = (kind: Segment['kind'], { from, until }: Span): Segment => ({
    kind,
    left: at(from),
    width: Math.max(0.4, at(until) - at(from)),
  })
  const attempts = attemptsOf(stage).map((attempt) => segment('attempt', attempt))
  const from = stage.startTime
  const length = durationOf(stage, nowMs)
  if (!from || length === undefined) return attempts
  const ready = readySince(stage, stages) ?? from
  const waited = from - ready > span / 200 ? [segment('waits', { from: ready, until: from })] : []
  const judges = stage.type === 'manualJudgment' || isWaiting(stage)
  const kind = stage.type === 'restrictExecutionDuringTimeWindow' ? 'window' : judges ? 'judges' : 'runs'
  return [...attempts, ...waited, segment(kind, { from, until: from + length })]
}

/** When the first of several requisites had ended, in the present attempt. */
function readySince({ requisiteStageRefIds, parentStageId }: Stage, stages: readonly Stage[]): number | undefined {
  if (parentStageId || (requisiteStageRefIds?.length ?? 0) < 2) return undefined
  const requisites = stages.filter(({ refId, endTime }) => refId && endTime && requisiteStageRefIds?.includes(refId))
  return requisites.length === 0 ? undefined : Math.min(...requisites.map(({ endTime }) => endTime ?? 0))
}

/** Runs before a restart. */
function attemptsOf({ context }: Stage): readonly Span[] {
  return objectsOf(context['previousAttempts']).flatMap(({ startTime, endTime }) => {
    const [from, until] = [numberOf(startTime), numberOf(endTime)]
    return from === undefined || until === undefined ? [] : [{ from, until }]
  })
}
