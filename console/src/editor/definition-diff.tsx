/** Two versions of a definition: what changed, in sentences, and both texts one click behind. */
import { useMemo, useState } from 'preact/hooks'
import { Name } from '../components/text.tsx'
import { markHidden, showHidden } from '../model/names.ts'
import type { Json } from '../model/read.ts'
import { withoutStamps } from './changes.ts'
import { describeChanges, type PartChange, showValue } from './describe-changes.ts'

const nothing: Json = { stages: [], parameterConfig: [], triggers: [], expectedArtifacts: [] }

/** @param before Undefined: all of it is new. */
export function DefinitionDiff({ before, after }: { before: Json | undefined; after: Json }) {
  const [isText, setText] = useState(false)
  const all = describeChanges(before ?? nothing, after)
  const parts = before === undefined ? all.filter(({ key }) => key !== '') : all
  if (all.length === 0) return <p class="muted">Nothing is changed.</p>
  return (
    <>
      <ul class="part-changes">
        {parts.map((part) => (
          <PartChanges key={part.key} part={part} />
        ))}
      </ul>
      <details class="advanced" open={isText} onToggle={(event) => setText(event.currentTarget.open)}>
        <summary>Difference as text</summary>
        {isText && <TextDiff before={before ?? {}} after={after} />}
      </details>
    </>
  )
}

const signs = { added: '+', removed: '−', changed: '~', moved: '⇄' } as const

function PartChanges({ part: { title, kind, fields } }: { part: PartChange }) {
  return (
    <li class={`part-change is-${kind}`}>
      <span class="sign" aria-hidden="true">
        {signs[kind]}
      </span>
      <div>
        <strong>
          <Name text={title} max={60} />
        </strong>{' '}
        <span class="muted">{kind === 'changed' ? '' : kind}</span>
        <ul class="field-changes">
          {fields.map(({ field, before, after }) => (
            <li key={field}>
              <span class="muted">{field}</span>{' '}
              {kind !== 'added' && (
                <>
                  <ChangeValue value={before} kind="removed" />
                  <span aria-hidden="true"> → </span>
                  <span class="visually-hidden"> to </span>
                </>
              )}
              <ChangeValue value={after} kind="added" />
            </li>
          ))}
        </ul>
      </div>
    </li>
  )
}

const maxInLine = 60
/** Longer ones are cut: the text has them in full. */
const maxShown = 4000

export function ChangeValue({ value, kind }: { value: unknown; kind: PartChange['kind'] }) {
  if (value === undefined) return <span class="muted">not set</span>
  const text = showValue(value)
  const isLong = text.length > maxInLine || text.includes('\n')
  return (
    <span class={`change-value is-${kind} ${isLong ? 'is-long' : ''}`}>
      <bdi>{text.slice(0, maxShown).split('\n').map(showHidden).join('\n')}</bdi>
      {text.length > maxShown && '…'}
    </span>
  )
}

/** Lines that stay around each change; others become one. */
const margin = 3
const elements = { added: 'ins', removed: 'del', equal: 'span' } as const

function TextDiff({ before, after }: { before: Json; after: Json }) {
  const lines = useMemo(() => diffLines(toLines(before), toLines(after)), [before, after])
  const isNear = (at: number) => lines.slice(Math.max(0, at - margin), at + margin + 1).some(([kind]) => kind !== 'equal')
  return (
    <div class="code-box text-diff" tabIndex={0} role="group" aria-label="Difference as text">
      {lines.map(([kind, text], at) => {
        const Kind = elements[kind]
        if (!isNear(at) && at > 0 && !isNear(at - 1)) return null
        return (
          <div key={at} class={`is-${kind}`}>
            <Kind>
              <bdi>{isNear(at) ? markHidden(text) : '⋯'}</bdi>
            </Kind>
          </div>
        )
      })}
    </div>
  )
}

function toLines(definition: Json): readonly string[] {
  const text = JSON.stringify(withoutStamps(definition), null, 2)
  return text === '{}' ? [] : text.split('\n')
}

/** Of more pairs of lines, not the longest common subsequence is found, but any. */
const maxPairs = 16_000_000

function diffLines(before: readonly string[], after: readonly string[]) {
  const width = after.length + 1
  const pairs = before.length * width
  // How many lines are common from each pair of places on.
  const common = new Uint16Array(pairs > maxPairs ? 0 : pairs + width)
  for (let row = before.length - 1; common.length > 0 && row >= 0; row--) {
    for (let column = after.length - 1, at = row * width + column; column >= 0; column--, at--) {
      const [down = 0, right = 0, both = 0] = [common[at + width], common[at + 1], common[at + width + 1]]
      common[at] = before[row] === after[column] ? both + 1 : Math.max(down, right)
    }
  }
  const lines: (readonly [kind: keyof typeof elements, text: string])[] = []
  for (let [row, column] = [0, 0]; ; ) {
    const [old, fresh, at] = [before[row], after[column], row * width + column]
    if (old === undefined && fresh === undefined) return lines
    const isOld = old !== undefined && (fresh === undefined || (common[at + width] ?? 0) >= (common[at + 1] ?? 0))
    if (old === fresh) lines.push(['equal', old ?? ''])
    else lines.push(isOld ? ['removed', old] : ['added', fresh ?? ''])
    if (old === fresh || isOld) row++
    if (old === fresh || !isOld) column++
  }
}
