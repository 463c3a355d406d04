/** The stages of an execution as rows: indented by nesting, or on an axis of time. */
import { durationOf, type Execution, type Stage, type StageTree, stageStatus, titleOf } from '../model/execution.ts'
import { formatDuration, now } from '../model/time.ts'
import { attemptsOf, axisOf, segmentsOf } from '../model/timing.ts'
import { words } from '../words.ts'
import { Name } from './name.tsx'
import { StatusMark } from './status-mark.tsx'

interface StageListProps {
  readonly execution: Execution
  readonly tree: StageTree
  readonly selected: string | undefined
  readonly onSelect: (stage: Stage) => void
  /** Bars on a common axis instead of durations alone. */
  readonly showsTime: boolean
}

interface Row {
  readonly stage: Stage
  readonly depth: number
}

export function StageList({ execution, tree, selected, onSelect, showsTime }: StageListProps) {
  const rows = toRows(tree)
  const nowMs = execution.endTime ?? now.value
  const axis = axisOf(execution, nowMs)
  return (
    <ol class="stage-list" aria-label={words.stages}>
      {rows.map(({ stage, depth }) => {
        const { kind, word } = stageStatus(stage)
        const length = durationOf(stage, stage.endTime ? 0 : now.value)
        const attempts = attemptsOf(stage).length
        return (
          <li key={stage.id}>
            <button
              type="button"
              class={`stage-row is-${kind} ${showsTime ? 'has-time' : ''}`}
              aria-pressed={stage.id === selected}
              onClick={() => onSelect(stage)}
            >
              <span class="stage-name" style={{ paddingInlineStart: `${depth * 20}px` }}>
                <StatusMark kind={kind} />
                <span class="cut">
                  <Name text={titleOf(stage)} max={60} />
                </span>
                <span class="muted hide-phone node-type">{stage.type}</span>
              </span>
              {showsTime ? (
                <span class="timing">
                  {segmentsOf(stage, execution.stages, axis, nowMs).map((segment, at) => (
                    <span
                      key={at}
                      class={`timing-bar is-${segment.kind}`}
                      style={{ left: `${segment.left}%`, width: `${segment.width}%` }}
                    />
                  ))}
                  {!execution.endTime && <span class="timing-now" />}
                </span>
              ) : (
                <span class="grow" />
              )}
              <span class="muted word">
                {word}
                {attempts > 0 && `, ${words.attempt(attempts + 1)}`}
              </span>
              <span class="number length">{length === undefined ? '' : formatDuration(length)}</span>
            </button>
          </li>
        )
      })}
    </ol>
  )
}

/** What runs before a stage, the stage, what runs after it. */
function toRows({ top, inner }: StageTree): readonly Row[] {
  const rows: Row[] = []
  const add = (stage: Stage, depth: number): void => {
    rows.push({ stage, depth })
    if (depth > 20) return
    for (const child of inner.get(stage.id) ?? []) add(child, depth + 1)
  }
  for (const stage of top) add(stage, 0)
  return rows
}
