/** Two versions of a definition: what changed, in sentences, and both texts one click behind. */
import { useState } from 'preact/hooks'
import { Name } from '../components/name.tsx'
import { showHidden } from '../model/names.ts'
import type { Json } from '../model/read.ts'
import { type ChangeKind, describeChanges, type FieldChange, type PartChange, showValue } from './describe-changes.ts'
import { TextDiff } from './text-diff.tsx'

interface DefinitionDiffProps {
  /** Undefined: all of it is new. */
  readonly before: Json | undefined
  readonly after: Json
  /** Names of the two versions. */
  readonly labels?: Labels
}

interface Labels {
  readonly before: string
  readonly after: string
}

const nothing: Json = { stages: [], parameterConfig: [], triggers: [], expectedArtifacts: [] }
const usual = { before: 'Stored', after: 'Your changes' }

export function DefinitionDiff({ before, after, labels = usual }: DefinitionDiffProps) {
  const [isText, setText] = useState(false)
  const all = describeChanges(before ?? nothing, after)
  const parts = before === undefined ? all.filter(({ key }) => key !== '') : all
  if (all.length === 0) return <p class="muted">Nothing is changed.</p>
  return (
    <>
      <ul class="part-changes">
        {parts.map((part) => (
          <PartChanges key={part.key} part={part} labels={labels} />
        ))}
      </ul>
      <details class="advanced" open={isText} onToggle={(event) => setText(event.currentTarget.open)}>
        <summary>Difference as text</summary>
        {isText && <TextDiff before={before ?? {}} after={after} />}
      </details>
    </>
  )
}

const signs: Readonly<Record<ChangeKind, string>> = { added: '+', removed: '−', changed: '~', moved: '⇄' }
/** Of a part that is new, so many fields are shown. */
const maxFacts = 4

function PartChanges({ part: { title, kind, fields }, labels }: { part: PartChange; labels: Labels }) {
  const isNew = kind === 'added'
  const short = fields.filter((field) => isShort(field))
  const long = isNew ? [] : fields.filter((field) => !isShort(field))
  const shown = isNew ? short.slice(0, maxFacts) : short
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
        {shown.length > 0 && (
          <ul class="field-changes">
            {shown.map((field) => (
              <li key={field.field}>{isNew ? <Fact fact={field} /> : <FieldSentence change={field} />}</li>
            ))}
          </ul>
        )}
        {long.map(({ field, before, after }) => (
          <div key={field} class="field-change">
            <span>{field}</span>
            <ChangeValue value={before} kind="removed" label={labels.before} />
            <ChangeValue value={after} kind="added" label={labels.after} />
          </div>
        ))}
      </div>
    </li>
  )
}

const shortText = 60

function isShort({ before, after }: FieldChange): boolean {
  return [before, after].every((value) => {
    const text = showValue(value)
    return text.length <= shortText && !text.includes('\n')
  })
}

function Fact({ fact: { field, after } }: { fact: FieldChange }) {
  return (
    <>
      <span class="muted">{field}</span> <Name text={showValue(after)} max={shortText} />
    </>
  )
}

function FieldSentence({ change: { field, before, after } }: { change: FieldChange }) {
  return (
    <>
      <span class="muted">{field}</span> {before === undefined ? 'not set' : <Name text={showValue(before)} max={shortText} />}
      <span aria-hidden="true"> → </span>
      <span class="visually-hidden"> to </span>
      <strong>{after === undefined ? 'not set' : <Name text={showValue(after)} max={shortText} />}</strong>
    </>
  )
}

/** Longer ones are cut: the text has them in full. */
const maxShown = 4000

export function ChangeValue({ value, kind, label }: { value: unknown; kind: ChangeKind; label?: string }) {
  const text = showValue(value)
  return (
    <div class={`change-value is-${kind}`}>
      {label !== undefined && <span class="change-label">{label}</span>}
      {value === undefined ? (
        <span class="muted">not set</span>
      ) : (
        <pre>
          <bdi>{text.slice(0, maxShown).split('\n').map(showHidden).join('\n')}</bdi>
          {text.length > maxShown && '…'}
        </pre>
      )}
    </div>
  )
}
