/** The stages of an execution as rows: indented by nesting, or on an axis of time. */

import { numberOf, objectsOf } from '@fairlead/base/json/values.ts'
import {
  durationOf,
  type Execution,
  type Stage,
  type StageTree,
  stageStatus,
  titleOf,
} from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import { now } from '../model/time.ts'
import { kept, useSteady } from './kept.tsx'
import { Duration, Name, rem, StatusMark } from './text.tsx'

export interface StageListProps {
  readonly execution: Execution
  readonly tree: StageTree
  readonly selected: string | undefined
  readonly onSelect: (stage: string) => void
  readonly showsTime: boolean
}

export function StageList({ execution, tree, selected, onSelect, showsTime }: StageListProps) {
  const select = useSteady(onSelect)
  const rows = tree.top.flatMap((stage) => rowsOf(stage, tree.inner))
  // Only the axis of time moves with the present.
  const nowMs = execution.endTime ?? (showsTime ? now.value : now.peek())
  const axis = axisOf(execution, nowMs)
  return (
    <ol class="stage-list" aria-label="Stages">
      {rows.map(({ stage, depth, within }) => (
        <StageRow
          key={stage.id}
          {...lookOf(stage, nowMs)}
          depth={depth}
          within={within}
          isSelected={stage.id === selected}
          onSelect={select}
          bars={showsTime ? barsOf(stage, axis, nowMs) : undefined}
          hasEnded={Boolean(execution.endTime)}
        />
      ))}
    </ol>
  )
}

interface Row {
  readonly stage: Stage
  readonly depth: number
  /** Title of the stage that it belongs to. */
  readonly within?: string
}

const maxDepth = 20

/** What runs before a stage, the stage, what runs after it. */
function rowsOf(
  stage: Stage,
  inner: StageTree['inner'],
  place: Omit<Row, 'stage'> = { depth: 0 },
): readonly Row[] {
  const children = place.depth > maxDepth ? [] : (inner.get(stage.id) ?? [])
  const below = { depth: place.depth + 1, within: titleOf(stage) }
  return [{ stage, ...place }, ...children.flatMap((child) => rowsOf(child, inner, below))]
}

function lookOf(stage: Stage, nowMs: number) {
  const { id, type, startTime, endTime: until } = stage
  // It has no length where it ended without a time.
  const from = durationOf(stage, nowMs) === undefined ? undefined : startTime
  return {
    ...stageStatus(stage),
    id,
    title: titleOf(stage),
    type: stageWord(type),
    attempts: attemptsOf(stage).length,
    from,
    until,
  }
}

interface StageRowProps
  extends Pick<StageListProps, 'onSelect'>,
    ReturnType<typeof lookOf>,
    Omit<Row, 'stage'> {
  readonly isSelected: boolean
  /** On the axis of time, where it is shown. */
  readonly bars: ReturnType<typeof barsOf> | undefined
  /** The execution. */
  readonly hasEnded: boolean
}

/** The same is not drawn again. */
const StageRow = kept((props: StageRowProps) => {
  const { id, kind, word, depth, within, title, type, from, until, attempts, bars, hasEnded } =
    props
  return (
    <li>
      <button
        type="button"
        class={`stage-row is-${kind} ${bars === undefined ? '' : 'has-time'}`}
        aria-pressed={props.isSelected}
        onClick={() => props.onSelect(id)}
      >
        <span class="stage-name" style={{ paddingInlineStart: rem(depth * 20) }}>
          <StatusMark kind={kind} />
          <Name class="cut" text={title} max={60} />
          <span class="muted hide-phone node-type">{type}</span>
          {within !== undefined && <span class="visually-hidden">{`, part of ${within}, `}</span>}
        </span>
        {bars === undefined ? (
          <span class="grow" />
        ) : (
          <span class="timing">
            {bars.map((bar, at) => (
              <span
                key={at}
                class={`timing-bar is-${bar.kind}`}
                style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
              />
            ))}
            {!hasEnded && <span class="timing-now" />}
          </span>
        )}
        <span class="muted word">{word + (attempts > 0 ? `, attempt ${attempts + 1}` : '')}</span>
        <span class="number length">
          <Duration from={from} until={until} />
        </span>
      </button>
    </li>
  )
})

/** From the first thing that happened, which a restart may have been long after. */
function axisOf({ stages, startTime, buildTime, endTime }: Execution, nowMs: number) {
  const starts = stages.flatMap((stage) => [
    ...attemptsOf(stage).map(({ from }) => from),
    ...(stage.startTime ? [stage.startTime] : []),
  ])
  const until = endTime ?? nowMs
  const from = Math.min(...starts, startTime ?? buildTime ?? until)
  return { from, until: Math.max(until, from + 1) }
}

/** In milliseconds since the epoch. */
type Span = { readonly from: number; readonly until: number }

/** Runs before a restart and the present one, in percent of the axis. */
function barsOf(stage: Stage, axis: Span, nowMs: number) {
  const { startTime: from, type } = stage
  const length = durationOf(stage, nowMs)
  const kind = type === 'manualJudgment' ? 'judges' : 'runs'
  const present = from && length !== undefined ? [{ kind, from, until: from + length }] : []
  const at = (time: number) =>
    Math.max(0, Math.min(100, ((time - axis.from) / (axis.until - axis.from)) * 100))
  return [...attemptsOf(stage).map((span) => ({ kind: 'attempt', ...span })), ...present].map(
    (span) => ({
      kind: span.kind,
      left: at(span.from),
      width: Math.max(0.4, at(span.until) - at(span.from)),
    }),
  )
}

function attemptsOf({ context }: Stage) {
  return objectsOf(context['previousAttempts']).flatMap(({ startTime, endTime }) => {
    const [from, until] = [numberOf(startTime), numberOf(endTime)]
    return from === undefined || until === undefined ? [] : [{ from, until }]
  })
}
