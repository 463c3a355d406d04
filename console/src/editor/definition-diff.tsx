/** Two versions of a definition: what changed, in sentences, and both texts one click behind. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { useState } from 'preact/hooks'
import { Lazy } from '../components/screen.tsx'
import { Name } from '../components/text.tsx'
import { showHidden } from '../model/names.ts'
import { withoutStamps } from './changes.ts'
import { describeChanges, type PartChange, showValue } from './describe-changes.ts'
import { loadCodeEditor } from './lazy.tsx'

const nothing: JsonObject = { stages: [], parameterConfig: [], triggers: [], expectedArtifacts: [] }

/** @param before Undefined: all of it is new. */
export function DefinitionDiff({
  before,
  after,
}: {
  before: JsonObject | undefined
  after: JsonObject
}) {
  const [isText, setText] = useState(false)
  const original = before === undefined ? '' : toText(before)
  const all = describeChanges(before ?? nothing, after)
  const parts = before === undefined ? all.filter(({ key }) => key !== '') : all
  if (all.length === 0) return <p class="muted">Nothing is changed.</p>
  return (
    <>
      <ul>
        {parts.map((part) => (
          <PartChanges key={part.key} part={part} />
        ))}
      </ul>
      <details
        class="advanced"
        open={isText}
        onToggle={(event) => setText(event.currentTarget.open)}
      >
        <summary>Difference as text</summary>
        {isText && (
          <Lazy
            key={original}
            load={loadCodeEditor}
            props={{ text: toText(after), original, label: 'Difference as text' }}
          />
        )}
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

function toText(definition: JsonObject) {
  return JSON.stringify(withoutStamps(definition), null, 2)
}
