/** Two versions of a definition: changes by stage and field, or both texts. Before a save, in the difference view, history and conflicts. */
import { useState } from 'preact/hooks'
import { Name } from '../components/name.tsx'
import { Segments } from '../components/tabs.tsx'
import { showHidden } from '../model/names.ts'
import type { Json } from '../model/read.ts'
import { type ChangeKind, describeChanges, type FieldChange, type PartChange, showValue } from './describe-changes.ts'
import { Lazy } from './lazy.tsx'
import { textWords } from './text-words.ts'

interface DefinitionDiffProps {
  readonly before: Json
  readonly after: Json
  /** Names of the two versions. */
  readonly labels?: { readonly before: string; readonly after: string }
}

const views = [
  { id: 'changes', label: textWords.changes },
  { id: 'text', label: textWords.asText },
] as const

const usual = { before: textWords.stored, after: textWords.mine }

export function DefinitionDiff({ before, after, labels = usual }: DefinitionDiffProps) {
  const [view, setView] = useState<'changes' | 'text'>('changes')
  const parts = describeChanges(before, after)
  if (parts.length === 0) return <p class="muted">{textWords.noChanges}</p>
  const count = parts.reduce((sum, { fields }) => sum + Math.max(1, fields.length), 0)
  return (
    <div class="definition-diff">
      <div class="toolbar">
        <Segments label={textWords.diffViews} options={views} selected={view} onSelect={setView} />
        <span class="muted">{textWords.changeCount(count)}</span>
      </div>
      {view === 'text' ? (
        <Lazy key={`${JSON.stringify(before)}\n${JSON.stringify(after)}`} load={loadTextDiff} props={{ before, after, labels }} />
      ) : (
        <ul class="part-changes">
          {parts.map((part) => (
            <PartChanges key={part.key} part={part} labels={labels} />
          ))}
        </ul>
      )}
    </div>
  )
}

type Labels = NonNullable<DefinitionDiffProps['labels']>

/** The text editor is loaded when texts are shown. */
const loadTextDiff = async () => (await import('./text-diff.tsx')).TextDiff

const signs: Readonly<Record<ChangeKind, { readonly sign: string; readonly word: string }>> = {
  added: { sign: '+', word: textWords.added },
  removed: { sign: '−', word: textWords.removed },
  changed: { sign: '~', word: textWords.changed },
  moved: { sign: '⇄', word: textWords.moved },
}

function PartChanges({ part, labels }: { part: PartChange; labels: Labels }) {
  const { sign, word } = signs[part.kind]
  return (
    <li class={`part-change is-${part.kind}`}>
      <h3>
        <span class="sign" aria-hidden="true">
          {sign}
        </span>
        <Name text={part.title} max={60} />
        <span class="muted">{word}</span>
      </h3>
      {part.whole !== undefined && (
        <Value value={part.whole} kind={part.kind} label={part.kind === 'added' ? labels.after : labels.before} />
      )}
      {part.fields.map((field) => (
        <FieldChanges key={field.field} change={field} labels={labels} />
      ))}
    </li>
  )
}

function FieldChanges({ change: { field, before, after }, labels }: { change: FieldChange; labels: Labels }) {
  return (
    <div class="field-change">
      {field !== '' && (
        <code class="field-name">
          <Name text={field} max={80} />
        </code>
      )}
      <Value value={before} kind="removed" label={labels.before} />
      <Value value={after} kind="added" label={labels.after} />
    </div>
  )
}

/** Longer ones are cut: the text has them in full. */
const maxShown = 4000

function Value({ value, kind, label }: { value: unknown; kind: ChangeKind; label: string }) {
  const text = showValue(value)
  return (
    <div class={`change-value is-${kind}`}>
      <span class="change-label">{label}</span>
      {value === undefined ? (
        <span class="muted">{textWords.nothing}</span>
      ) : (
        <pre>
          <bdi>{text.slice(0, maxShown).split('\n').map(showHidden).join('\n')}</bdi>
          {text.length > maxShown && '…'}
        </pre>
      )}
    </div>
  )
}
