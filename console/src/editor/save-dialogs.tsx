/** Around a save: what it changes, and the choices where another user saved or deleted the pipeline. */
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { copyText } from '../components/copy-button.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { type Json, textOf } from '../model/read.ts'
import { formatClock } from '../model/time.ts'
import { plural } from '../words.ts'
import { type Conflict, type KeyPath, type MergeChoice, mergeDefinitions } from './changes.ts'
import { ChangeValue, DefinitionDiff } from './definition-diff.tsx'
import { fieldOfPath, titleOfPath } from './describe-changes.ts'
import { type Draft, toStored, withoutStamps } from './draft.ts'
import { type SaveOutcome, saveDraft } from './save.ts'

interface SaveDialogProps {
  readonly draft: Draft
  readonly onSaved: (id: string) => void
}

export function SaveDialog({ draft, onSaved }: SaveDialogProps) {
  const definition = draft.definition.value
  const stored = draft.stored.value?.definition
  const action = `Save ${textOf(definition['name']) ?? 'the pipeline'}`
  const problems = draft.problems.value.length
  const save = async () => {
    const outcome = await saveDraft(draft)
    if (outcome.kind === 'refused') {
      const [refusal] = draft.refusals.peek()
      if (refusal === undefined) throw outcome.error
      // Above the page stands what the server says; the field takes the focus.
      draft.shown.value = [...refusal.path]
    } else if (outcome.kind === 'saved') onSaved(outcome.id)
    else return <MergeDialog draft={draft} outcome={outcome} next={<SaveDialog draft={draft} onSaved={onSaved} />} />
    return undefined
  }
  return (
    <FormDialog title={action} action={action} run={save} wide>
      {problems > 0 && (
        <Banner tone="warning">
          {plural(problems, 'problem')}: the pipeline can be saved like this, and cannot run before it is complete.
        </Banner>
      )}
      {stored === undefined && <p>This creates the pipeline in {draft.application}.</p>}
      <DefinitionDiff before={stored} after={definition} />
    </FormDialog>
  )
}

interface MergeProps {
  readonly draft: Draft
  readonly outcome: Extract<SaveOutcome, { kind: 'conflict' | 'gone' }>
  /** The dialog that follows, once the draft is based on the newer version. */
  readonly next?: VNode | undefined
}

export function MergeDialog({ outcome, ...rest }: MergeProps) {
  return outcome.kind === 'gone' ? <GoneDialog {...rest} /> : <ConflictDialog {...rest} theirs={outcome.theirs} />
}

type NewerProps = Pick<MergeProps, 'draft' | 'next'>

function GoneDialog({ draft, next }: NewerProps) {
  const run = async () => {
    draft.detach()
    return next
  }
  return (
    <FormDialog title="The pipeline was deleted" action="Save as a new pipeline" run={run}>
      <p>
        Another user deleted this pipeline while you were editing. Your changes are kept: you can save them as a new pipeline.
      </p>
    </FormDialog>
  )
}

/** "Ben saved release at 14:20 while you were editing." */
export function describeOther(theirs: Json): string {
  const { lastModifiedBy = 'Another user', updateTs } = toStored(theirs)
  const time = updateTs === undefined ? '' : ` at ${formatClock(Number(updateTs))}`
  return `${lastModifiedBy} saved ${textOf(theirs['name']) ?? 'the pipeline'}${time} while you were editing.`
}

function ConflictDialog({ draft, theirs, next }: NewerProps & { theirs: Json }) {
  const [choices, setChoices] = useState<ReadonlyMap<string, MergeChoice>>(new Map())
  const base = draft.stored.value?.definition ?? {}
  const mine = draft.definition.value
  const { conflicts, taken } = useMemo(
    () => mergeDefinitions(withoutStamps(base), withoutStamps(mine), withoutStamps(theirs)),
    [base, mine, theirs],
  )
  const versions = [mine, theirs, base]
  const merge = async () => {
    draft.rebase(base, theirs, (path) => choices.get(keyOf(path)))
    return next
  }
  return (
    <FormDialog
      title="Another version was saved"
      action="Merge"
      isReady={conflicts.every(({ path }) => choices.has(keyOf(path)))}
      run={merge}
      wide
    >
      <p>
        {describeOther(theirs)} {describeMerge(taken.length, conflicts.length)}
      </p>
      {conflicts.map((conflict) => (
        <ConflictChoice
          key={keyOf(conflict.path)}
          conflict={conflict}
          versions={versions}
          choice={choices.get(keyOf(conflict.path))}
          onChoose={(choice) => setChoices(new Map([...choices, [keyOf(conflict.path), choice]]))}
        />
      ))}
      {taken.length > 0 && <h3 class="sub">Taken over</h3>}
      <ul class="plain-list">
        {taken.map((path) => (
          <li key={keyOf(path)}>
            <Icon name="check" /> <PathName path={path} versions={versions} />
          </li>
        ))}
      </ul>
      <p>
        <Button small onClick={() => void copyText(JSON.stringify(mine, null, 2))}>
          Copy mine
        </Button>
      </p>
    </FormDialog>
  )
}

function describeMerge(taken: number, conflicts: number): string {
  if (taken + conflicts === 0) return 'Your version has the same changes.'
  const byThemselves = taken === 1 ? 'merges by itself' : 'merge by themselves'
  const parts = [
    ...(taken === 0 ? [] : [`${plural(taken, 'change')} ${byThemselves}`]),
    ...(conflicts === 0 ? [] : [`${conflicts} ${conflicts === 1 ? 'needs' : 'need'} your choice`]),
  ]
  return `${parts.join(', ')}.`
}

function PathName({ path, versions }: { path: KeyPath; versions: readonly Json[] }) {
  const field = fieldOfPath(path)
  return <Name text={titleOfPath(path, versions) + (field === '' ? '' : `: ${field}`)} max={120} />
}

interface ConflictChoiceProps {
  readonly conflict: Conflict
  readonly versions: readonly Json[]
  readonly choice: MergeChoice | undefined
  readonly onChoose: (choice: MergeChoice) => void
}

const sides = [
  ['mine', 'Keep mine'],
  ['theirs', 'Take theirs'],
] as const

function ConflictChoice({ conflict, versions, choice, onChoose }: ConflictChoiceProps) {
  return (
    <fieldset class="conflict">
      <legend>
        <PathName path={conflict.path} versions={versions} />
      </legend>
      <div class="conflict-sides">
        {sides.map(([side, label]) => (
          <label key={side} class="conflict-side">
            <span class="check">
              <input type="radio" name={keyOf(conflict.path)} checked={choice === side} onChange={() => onChoose(side)} />{' '}
              <strong>{label}</strong>
            </span>
            <ChangeValue value={conflict[side]} kind={side === 'mine' ? 'added' : 'changed'} />
          </label>
        ))}
      </div>
      <ChangeValue value={conflict.base} kind="changed" label="Before" />
    </fieldset>
  )
}

function keyOf(path: KeyPath): string {
  return JSON.stringify(path)
}
