/** Two versions of a definition as one text: lines that went, and lines that came. */
import { useMemo } from 'preact/hooks'
import { markHidden } from '../model/names.ts'
import type { Json } from '../model/read.ts'
import { plural } from '../words.ts'
import { withoutStamps } from './draft.ts'

export function TextDiff({ before, after }: { before: Json; after: Json }) {
  const rows = useMemo(() => foldEqual(diffLines(toLines(before), toLines(after))), [before, after])
  return (
    <div class="code-box text-diff" tabIndex={0} role="group" aria-label="Difference as text">
      {rows.map((row, index) =>
        typeof row === 'number' ? (
          <div key={index} class="muted">
            ⋯ {plural(row, 'equal line')}
          </div>
        ) : (
          <Line key={index} line={row} />
        ),
      )}
    </div>
  )
}

function Line({ line: { kind, text } }: { line: DiffLine }) {
  const shown = <bdi>{markHidden(text)}</bdi>
  if (kind === 'equal') return <div>{shown}</div>
  return <div class={`is-${kind}`}>{kind === 'added' ? <ins>{shown}</ins> : <del>{shown}</del>}</div>
}

function toLines(definition: Json): readonly string[] {
  const text = JSON.stringify(withoutStamps(definition), null, 2)
  return text === '{}' ? [] : text.split('\n')
}

interface DiffLine {
  readonly kind: 'equal' | 'added' | 'removed'
  readonly text: string
}

/** More pairs of lines are not compared: they count as replaced. */
const maxPairs = 9_000_000

/** The longest common subsequence of lines stays; the rest went or came. */
function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let start = 0
  while (start < before.length && before[start] === after[start]) start++
  let end = 0
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const equal = (lines: readonly string[]) => lines.map((text): DiffLine => ({ kind: 'equal', text }))
  return [
    ...equal(before.slice(0, start)),
    ...diffMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...equal(before.slice(before.length - end)),
  ]
}

function diffMiddle(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const width = after.length + 1
  const isLarge = before.length * width > maxPairs
  /** Common lines from each pair of places on. */
  const common = new Uint16Array(isLarge ? 0 : (before.length + 1) * width)
  for (let row = isLarge ? -1 : before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      const at = row * width + column
      common[at] =
        before[row] === after[column] ? (common[at + width + 1] ?? 0) + 1 : Math.max(common[at + width] ?? 0, common[at + 1] ?? 0)
    }
  }
  const lines: DiffLine[] = []
  let [row, column] = [0, 0]
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]]
    const at = row * width + column
    if (!isLarge && old !== undefined && old === fresh) {
      lines.push({ kind: 'equal', text: old })
      row++
      column++
    } else if (old !== undefined && (fresh === undefined || (common[at + width] ?? 0) >= (common[at + 1] ?? 0))) {
      lines.push({ kind: 'removed', text: old })
      row++
    } else {
      lines.push({ kind: 'added', text: fresh ?? '' })
      column++
    }
  }
  return lines
}

/** Lines that stay around each change. */
const margin = 3

/** Long runs of equal lines become their number. */
function foldEqual(lines: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const isNear = lines.map((_, index) => lines.slice(Math.max(0, index - margin), index + margin + 1).some(isChanged))
  const rows: (DiffLine | number)[] = []
  for (const [index, line] of lines.entries()) {
    const last = rows.at(-1)
    if (isNear[index]) rows.push(line)
    else if (typeof last === 'number') rows[rows.length - 1] = last + 1
    else rows.push(1)
  }
  return rows
}

function isChanged({ kind }: DiffLine): boolean {
  return kind !== 'equal'
}
