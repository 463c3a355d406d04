/** Around a save: the difference before it, the choices of a conflict, the question before changes are lost. */
import { useMemo, useState } from 'preact/hooks'
import type { ApiError } from '../api/api-error.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { copyText } from '../components/copy-button.tsx'
import { actionLabel, closeDialog, Dialog, openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { reportFailure } from '../components/notices.tsx'
import { FailedAction } from '../components/states.tsx'
import { useIsShown } from '../components/use-submit.ts'
import { type Json, objectOf, textOf } from '../model/read.ts'
import { formatClock } from '../model/time.ts'
import { words } from '../words.ts'
import { type Conflict, type KeyPath, type MergeChoice, mergeDefinitions, orderKey } from './changes.ts'
import { type Draft, toStored, withoutStamps } from './draft.ts'
import { Lazy } from './lazy.tsx'
import { type SaveOutcome, saveDraft } from './save.ts'
import { stagesOf, titleOfStage } from './stages.ts'
import { editorWords } from './words.ts'

interface SaveDialogProps {
  readonly draft: Draft
  readonly onSaved: (id: string) => void
}

export function openSaveDialog(props: SaveDialogProps): void {
  openDialog(<SaveDialog {...props} />)
}

function SaveDialog({ draft, onSaved }: SaveDialogProps) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const isOpen = useIsShown()
  const definition = draft.definition.value
  const before = withoutStamps(draft.stored.value?.definition ?? {})
  const problems = draft.problems.value
  const name = textOf(definition['name']) ?? editorWords.newPipeline
  const save = async () => {
    if (busy) return
    setBusy(true)
    setError(undefined)
    const outcome = await saveDraft(draft)
    setBusy(false)
    if (outcome.kind === 'refused') {
      if (isOpen()) setError(outcome.error)
      else reportFailure(editorWords.savePipeline(name), outcome.error)
    } else if (outcome.kind === 'saved') {
      if (isOpen()) closeDialog()
      onSaved(outcome.id)
    } else if (isOpen()) openConflict({ draft, outcome, onMerged: () => openSaveDialog({ draft, onSaved }) })
  }
  const footer = (
    <>
      <Button onClick={closeDialog}>{words.cancel}</Button>
      <Button kind="primary" aria-disabled={busy} aria-busy={busy} onClick={() => void save()}>
        {actionLabel(editorWords.savePipeline(name))}
      </Button>
    </>
  )
  return (
    <Dialog title={editorWords.savePipeline(name)} footer={footer} class="is-wide">
      {error !== undefined && <NotSaved error={error} draft={draft} />}
      {problems.length > 0 && error === undefined && (
        <Banner tone="warning">{editorWords.savedWithProblems(problems.length)}</Banner>
      )}
      {draft.stored.value === undefined && <p>{editorWords.willCreate}</p>}
      <DiffLater before={before} after={withoutStamps(definition)} />
    </Dialog>
  )
}

/** The difference view is loaded with the first dialog that shows it. */
const loadDiff = async () => (await import('./definition-diff.tsx')).DefinitionDiff

function DiffLater(props: { readonly before: Json; readonly after: Json }) {
  return <Lazy load={loadDiff} props={props} />
}

/** The refusal of the server, and the way to what it names. */
function NotSaved({ error, draft }: { error: ApiError; draft: Draft }) {
  const [first] = draft.refusals.value
  if (error.status === 403) {
    return (
      <Banner tone="failed">
        <strong>{error.message}</strong> {editorWords.keptHere}
      </Banner>
    )
  }
  if (error.status !== 400 && error.status !== 422) return <FailedAction error={error} />
  return (
    <Banner tone="failed">
      <strong>{editorWords.notSaved}</strong> {error.message}{' '}
      {first !== undefined && (
        <button
          type="button"
          class="link"
          onClick={() => {
            closeDialog()
            draft.shown.value = first.path
          }}
        >
          {editorWords.showIt}
        </button>
      )}
    </Banner>
  )
}

interface ConflictProps {
  readonly draft: Draft
  readonly outcome: Extract<SaveOutcome, { kind: 'conflict' | 'gone' }>
  /** Once the draft is based on the newer version. */
  readonly onMerged: () => void
}

export function openConflict(props: ConflictProps): void {
  openDialog(
    props.outcome.kind === 'gone' ? <GoneDialog {...props} /> : <ConflictDialog {...props} theirs={props.outcome.theirs} />,
  )
}

function ConflictDialog({ draft, theirs, onMerged }: ConflictProps & { theirs: Json }) {
  const [choices, setChoices] = useState<ReadonlyMap<string, MergeChoice>>(new Map())
  const base = draft.stored.value?.definition ?? {}
  const mine = draft.definition.value
  const { conflicts, taken } = useMemo(
    () => mergeDefinitions(withoutStamps(base), withoutStamps(mine), withoutStamps(theirs)),
    [base, mine, theirs],
  )
  const isDecided = conflicts.every(({ path }) => choices.has(keyOf(path)))
  const merge = () => {
    if (!isDecided) return
    draft.rebase(base, theirs, (path) => choices.get(keyOf(path)))
    closeDialog()
    onMerged()
  }
  const { lastModifiedBy, updateTs } = toStored(theirs)
  const name = textOf(theirs['name']) ?? ''
  const footer = (
    <>
      <Button onClick={() => void copyText(JSON.stringify(mine, null, 2))}>{editorWords.copyMine}</Button>
      <div class="grow" />
      <Button onClick={closeDialog}>{words.cancel}</Button>
      <Button kind="primary" aria-disabled={!isDecided} onClick={merge}>
        {editorWords.merge}
      </Button>
    </>
  )
  return (
    <Dialog title={editorWords.conflict} footer={footer} class="is-wide">
      <p>
        {editorWords.savedMeanwhile(
          lastModifiedBy ?? editorWords.someoneElse,
          name,
          updateTs === undefined ? undefined : formatClock(Number(updateTs)),
        )}{' '}
        {editorWords.merges(taken.length, conflicts.length)}
      </p>
      {conflicts.map((conflict) => (
        <ConflictChoice
          key={keyOf(conflict.path)}
          conflict={conflict}
          stages={[...stagesOf(mine), ...stagesOf(theirs)]}
          choice={choices.get(keyOf(conflict.path))}
          onChoose={(choice) => setChoices(new Map([...choices, [keyOf(conflict.path), choice]]))}
        />
      ))}
      {taken.length > 0 && <Taken paths={taken} stages={[...stagesOf(theirs), ...stagesOf(base)]} />}
      <BothVersions before={withoutStamps(theirs)} after={withoutStamps(mine)} />
    </Dialog>
  )
}

function BothVersions(props: { readonly before: Json; readonly after: Json }) {
  const [isShown, setShown] = useState(false)
  return (
    <details class="advanced" open={isShown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>{editorWords.bothVersions}</summary>
      {isShown && <DiffLater {...props} />}
    </details>
  )
}

/** Changes of theirs that are taken over. */
function Taken({ paths, stages }: { paths: readonly KeyPath[]; stages: readonly Json[] }) {
  return (
    <>
      <h3 class="sub">{editorWords.theirChanges}</h3>
      <ul class="plain-list">
        {paths.map((path) => (
          <li key={keyOf(path)}>
            <Icon name="check" /> <Name text={describePath(path, stages)} max={120} />
          </li>
        ))}
      </ul>
    </>
  )
}

interface ConflictChoiceProps {
  readonly conflict: Conflict
  readonly stages: readonly Json[]
  readonly choice: MergeChoice | undefined
  readonly onChoose: (choice: MergeChoice) => void
}

function ConflictChoice({ conflict, stages, choice, onChoose }: ConflictChoiceProps) {
  return (
    <fieldset class="conflict">
      <legend>
        <Name text={describePath(conflict.path, stages)} max={120} />
      </legend>
      <div class="conflict-sides">
        {(['mine', 'theirs'] as const).map((side) => (
          <label key={side} class="conflict-side">
            <span class="check">
              <input type="radio" name={keyOf(conflict.path)} checked={choice === side} onChange={() => onChoose(side)} />{' '}
              <strong>{editorWords.keep[side]}</strong>
            </span>
            <Value value={conflict[side]} />
          </label>
        ))}
      </div>
      <p class="muted">
        {editorWords.before} <Value value={conflict.base} />
      </p>
    </fieldset>
  )
}

const maxShown = 1000

function Value({ value }: { value: unknown }) {
  if (value === undefined) return <span class="muted">{editorWords.notThere}</span>
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return (
    <code class="value">
      <Name text={text} max={maxShown} />
    </code>
  )
}

function keyOf(path: KeyPath): string {
  return JSON.stringify(path)
}

/** Stages by their names. */
function describePath(path: KeyPath, stages: readonly Json[]): string {
  const [list, key, ...rest] = path
  if (key === orderKey) return editorWords.orderOf(list ?? '')
  if (list !== 'stages' || key === undefined) return path.join('.')
  const stage = stages.find(({ refId }) => String(refId) === key)
  return [editorWords.stage(titleOfStage(objectOf(stage)), key), ...(rest.length === 0 ? [] : [rest.join('.')])].join(': ')
}

function GoneDialog({ draft, onMerged }: ConflictProps) {
  const asNew = () => {
    draft.detach()
    closeDialog()
    onMerged()
  }
  const footer = (
    <>
      <Button onClick={closeDialog}>{words.cancel}</Button>
      <Button kind="primary" onClick={asNew}>
        {editorWords.saveAsNew}
      </Button>
    </>
  )
  return (
    <Dialog title={editorWords.gone} footer={footer} class="is-narrow">
      <p>{editorWords.goneText}</p>
    </Dialog>
  )
}
