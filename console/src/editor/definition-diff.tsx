/** Two versions of a definition: changes by stage and field, or both texts. Before a save, in the difference view, history and conflicts. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { Name } from '../components/name.tsx'
import { ErrorState, Loading } from '../components/states.tsx'
import { Segments } from '../components/tabs.tsx'
import { showHidden } from '../model/names.ts'
import type { Json } from '../model/read.ts'
import { type ChangeKind, describeChanges, type FieldChange, type PartChange, showValue } from './describe-changes.ts'
import type { TextDiffProps } from './text-diff.tsx'
import { words } from './text-words.ts'

interface DefinitionDiffProps {
  readonly before: Json
  readonly after: Json
  /** Names of the two versions. */
  readonly labels?: { readonly before: string; readonly after: string }
}

const views = [
  { id: 'changes', label: words.changes },
  { id: 'text', label: words.asText },
] as const

const usual = { before: words.stored, after: words.mine }

export function DefinitionDiff({ before, after, labels = usual }: DefinitionDiffProps) {
  const [view, setView] = useState<'changes' | 'text'>('changes')
  const parts = describeChanges(before, after)
  if (parts.length === 0) return <p class="muted">{words.noChanges}</p>
  const count = parts.reduce((sum, { fields }) => sum + Math.max(1, fields.length), 0)
  return (
    <div class="definition-diff">
      <div class="toolbar">
        <Segments label={words.diffViews} options={views} selected={view} onSelect={setView} />
        <span class="muted">{words.changeCount(count)}</span>
      </div>
      {view === 'text' ? (
        <LoadedTextDiff
          key={`${JSON.stringify(before)}\n${JSON.stringify(after)}`}
          before={before}
          after={after}
          labels={labels}
        />
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
function LoadedTextDiff(props: TextDiffProps) {
  const [TextDiff, setTextDiff] = useState<ComponentType<TextDiffProps> | undefined>(undefined)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const load = () => {
    setError(undefined)
    import('./text-diff.tsx').then(
      (module) => setTextDiff(() => module.TextDiff),
      (cause: unknown) => setError(asApiError(cause)),
    )
  }
  useEffect(load, [])
  if (error !== undefined) return <ErrorState error={error} onRetry={load} />
  return TextDiff === undefined ? <Loading rows={6} /> : <TextDiff {...props} />
}

const signs: Readonly<Record<ChangeKind, { readonly sign: string; readonly word: string }>> = {
  added: { sign: '+', word: words.added },
  removed: { sign: '−', word: words.removed },
  changed: { sign: '~', word: words.changed },
  moved: { sign: '⇄', word: words.moved },
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
        <span class="muted">{words.nothing}</span>
      ) : (
        <pre>
          <bdi>{text.slice(0, maxShown).split('\n').map(showHidden).join('\n')}</bdi>
          {text.length > maxShown && '…'}
        </pre>
      )}
    </div>
  )
}
