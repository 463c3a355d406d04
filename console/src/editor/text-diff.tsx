/** Two versions of a definition as one text: lines that went, and lines that came. */
import { useMemo } from 'preact/hooks'
import { markHidden } from '../model/names.ts'
import type { Json } from '../model/read.ts'
import { withoutStamps } from './changes.ts'

export function TextDiff({ before, after }: { before: Json; after: Json }) {
  const lines = useMemo(() => nearChanges(diffLines(toLines(before), toLines(after))), [before, after])
  return (
    <div class="code-box text-diff" tabIndex={0} role="group" aria-label="Difference as text">
      {lines.map((line, index) => (
        <Line key={index} {...line} />
      ))}
    </div>
  )
}

function Line({ kind, text }: DiffLine) {
  const Kind = ({ added: 'ins', removed: 'del', equal: 'span' } as const)[kind]
  return (
    <div class={`is-${kind}`}>
      <Kind>
        <bdi>{markHidden(text)}</bdi>
      </Kind>
    </div>
  )
}

function toLines(definition: Json): readonly string[] {
  const text = JSON.stringify(withoutStamps(definition), null, 2)
  return text === '{}' ? [] : text.split('\n')
}

interface DiffLine {
  readonly kind: 'equal' | 'added' | 'removed'
  readonly text: string
}

/** Of more pairs of lines, not the longest common subsequence is found, but any. */
const maxPairs = 16_000_000

function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const lengthAt = commonLengths(before, after)
  const lines: DiffLine[] = []
  let [row, column] = [0, 0]
  for (;;) {
    const [old, fresh] = [before[row], after[column]]
    if (old !== undefined && old === fresh) {
      lines.push({ kind: 'equal', text: old })
      row++
      column++
    } else if (old !== undefined && (fresh === undefined || lengthAt(row + 1, column) >= lengthAt(row, column + 1))) {
      lines.push({ kind: 'removed', text: old })
      row++
    } else if (fresh !== undefined) {
      lines.push({ kind: 'added', text: fresh })
      column++
    } else return lines
  }
}

/** Common lines from each pair of places on. */
function commonLengths(before: readonly string[], after: readonly string[]): (row: number, column: number) => number {
  const width = after.length + 1
  if (before.length * width > maxPairs) return () => 0
  const lengths = new Uint16Array((before.length + 1) * width)
  const lengthAt = (row: number, column: number) => lengths[row * width + column] ?? 0
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        before[row] === after[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1))
    }
  }
  return lengthAt
}

/** Lines that stay around each change. */
const margin = 3

/** Equal lines further away become one. */
function nearChanges(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - margin), index + margin + 1).some(({ kind }) => kind !== 'equal')
  return lines.flatMap((line, index): DiffLine[] => {
    if (isNear(index)) return [line]
    return index === 0 || isNear(index - 1) ? [{ kind: 'equal', text: '⋯' }] : []
  })
}
