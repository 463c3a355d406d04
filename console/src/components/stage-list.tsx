/** The stages of an execution as rows: indented by nesting, or on an axis of time. */
import { useMemo } from 'preact/hooks'
import { durationOf, type Execution, type Stage, type StageTree, stageStatus, titleOf } from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import type { Kind } from '../model/status.ts'
import { formatDuration, now } from '../model/time.ts'
import { attemptsOf, axisOf, type Segment, segmentsOf } from '../model/timing.ts'
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

interface Row {
  readonly stage: Stage
  readonly depth: number
  /** Title of the stage that it belongs to. */
  readonly within: string | undefined
}

/** Rows that are drawn before the browser paints: a screen full of them. */
const rowsAtOnce = 40

export function StageList({ execution, tree, selected, onSelect, showsTime }: StageListProps) {
  const select = useSteady(onSelect)
  const rows = useMemo(() => toRows(tree), [tree])
  const count = useGradually(rows.length, rowsAtOnce)
  // Only the axis of time moves with the present.
  const nowMs = execution.endTime ?? (showsTime ? now.value : now.peek())
  const axis = axisOf(execution, nowMs)
  return (
    <ol class="stage-list" aria-label="Stages">
      {rows.slice(0, count).map(({ stage, depth, within }) => {
        const look = {
          ...stageStatus(stage),
          depth,
          within,
          title: titleOf(stage),
          type: stageWord(stage.type),
          from: stage.startTime,
          length: stage.endTime ? durationOf(stage, 0) : undefined,
          isRunning: !stage.endTime && durationOf(stage, nowMs) !== undefined,
          attempts: attemptsOf(stage).length,
          isSelected: stage.id === selected,
          segments: showsTime ? segmentsOf(stage, execution.stages, axis, nowMs) : undefined,
          hasEnded: Boolean(execution.endTime),
        }
        return <StageRow key={stage.id} id={stage.id} look={look} onSelect={select} />
      })}
    </ol>
  )
}

interface Look {
  readonly kind: Kind
  readonly word: string
  readonly depth: number
  readonly within: string | undefined
  readonly title: string
  readonly type: string
  readonly from: number | null | undefined
  /** Milliseconds, once it has ended. */
  readonly length: number | undefined
  readonly isRunning: boolean
  /** Before the last restart. */
  readonly attempts: number
  readonly isSelected: boolean
  /** On the axis of time, where it is shown. */
  readonly segments: readonly Segment[] | undefined
  /** The execution. */
  readonly hasEnded: boolean
}

interface StageRowProps {
  readonly id: string
  readonly look: Look
  readonly onSelect: (stage: string) => void
}

const StageRow = kept(({ id, look, onSelect }: StageRowProps) => {
  const { kind, word, depth, within, title, type, from, length, isRunning, attempts, isSelected, segments, hasEnded } = look
  return (
    <li>
      <button
        type="button"
        class={`stage-row is-${kind} ${segments === undefined ? '' : 'has-time'}`}
        aria-pressed={isSelected}
        onClick={() => onSelect(id)}
      >
        <span class="stage-name" style={{ paddingInlineStart: rem(depth * 20) }}>
          <StatusMark kind={kind} />
          <span class="cut">
            <Name text={title} max={60} />
          </span>
          <span class="muted hide-phone node-type">{type}</span>
          {within !== undefined && <span class="visually-hidden">{`, part of ${within}, `}</span>}
        </span>
        {segments === undefined ? <span class="grow" /> : <Timing segments={segments} hasEnded={hasEnded} />}
        <span class="muted word">
          {word}
          {attempts > 0 && `, ${`attempt ${attempts + 1}`}`}
        </span>
        <span class="number length">
          {isRunning ? <Duration from={from} /> : length === undefined ? '' : formatDuration(length)}
        </span>
      </button>
    </li>
  )
})

function Timing({ segments, hasEnded }: { segments: readonly Segment[]; hasEnded: boolean }) {
  return (
    <span class="timing">
      {segments.map(({ kind, left, width }, at) => (
        <span key={at} class={`timing-bar is-${kind}`} style={{ left: `${left}%`, width: `${width}%` }} />
      ))}
      {!hasEnded && <span class="timing-now" />}
    </span>
  )
}

/** What runs before a stage, the stage, what runs after it. */
function toRows({ top, inner }: StageTree): readonly Row[] {
  const rows: Row[] = []
  const add = (stage: Stage, depth: number, within?: string): void => {
    rows.push({ stage, depth, within })
    if (depth > 20) return
    for (const child of inner.get(stage.id) ?? []) add(child, depth + 1, titleOf(stage))
  }
  for (const stage of top) add(stage, 0)
  return rows
}
