/** Saves a draft: what it changes, and the choices where another user saved or deleted the pipeline. Nothing of theirs is overwritten. */

import { type JsonObject, numberOf, scalarOf } from '@fairlead/base/json/values.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Button, copyText } from '../components/button.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { cutMiddle, showHidden } from '../model/names.ts'
import { formatClock } from '../model/time.ts'
import { plural } from '../words.ts'
import { type KeyPath, mergeDefinitions, withoutStamps } from './changes.ts'
import { ChangeValue, DefinitionDiff } from './definition-diff.tsx'
import { fieldOfPath, showValue, titleOfPath } from './describe-changes.ts'
import type { TabProps } from './draft.ts'
import { Ways } from './forms/form.tsx'
import { type Newer, saveDraft } from './store.ts'

export function SaveDialog({ draft, onSaved }: TabProps & { onSaved: (id: string) => void }) {
  const definition = draft.definition.value
  const stored = draft.stored.value
  const action = `Save ${scalarOf(definition['name']) ?? 'the pipeline'}`
  const run = async () => {
    const newer = await saveDraft(draft)
    const again = <SaveDialog draft={draft} onSaved={onSaved} />
    if (newer !== undefined) return <MergeDialog draft={draft} newer={newer} next={again} />
    onSaved(scalarOf(draft.stored.peek()?.['id']) ?? '')
    return undefined
  }
  return (
    <FormDialog action={action} run={run} next={(merge) => merge} wide>
      {stored === undefined && <p>This creates the pipeline in {draft.application}.</p>}
      <DefinitionDiff before={stored} after={definition} />
    </FormDialog>
  )
}

/** @param next The dialog that follows, once the draft is based on the newer version. */
export function MergeDialog({ draft, newer, next }: TabProps & { newer: Newer; next?: VNode }) {
  if (newer !== 'gone') return <ConflictDialog draft={draft} theirs={newer} next={next} />
  const run = async () => {
    draft.stored.value = undefined
  }
  return (
    <FormDialog
      title="The pipeline was deleted"
      action="Save as a new pipeline"
      run={run}
      next={() => next}
    >
      <p>
        Another user deleted this pipeline while you were editing. Your changes are kept: you can
        save them as a new pipeline.
      </p>
    </FormDialog>
  )
}

/** "Ben saved release at 14:20 while you were editing." */
export function describeOther({ lastModifiedBy, name, updateTs }: JsonObject): string {
  const ms = numberOf(updateTs)
  const time = ms === undefined ? '' : ` at ${formatClock(ms)}`
  return `${scalarOf(lastModifiedBy) ?? 'Another user'} saved ${scalarOf(name) ?? 'the pipeline'}${time} while you were editing.`
}

function ConflictDialog({
  draft,
  theirs,
  next,
}: TabProps & { theirs: JsonObject; next: VNode | undefined }) {
  const [choices, setChoices] = useState<Readonly<Record<string, 'mine' | 'theirs'>>>({})
  const base = draft.stored.value ?? {}
  const mine = draft.definition.value
  const { conflicts, taken } = mergeDefinitions(
    withoutStamps(base),
    withoutStamps(mine),
    withoutStamps(theirs),
  )
  const choiceOf = (path: KeyPath) => choices[JSON.stringify(path)]
  const merge = async () => draft.rebase(base, theirs, choiceOf)
  const nameOf = (path: KeyPath) =>
    [titleOfPath(path, [mine, theirs, base]), fieldOfPath(path)].filter(Boolean).join(': ')
  const isReady = conflicts.every(({ path }) => choiceOf(path) !== undefined)
  return (
    <FormDialog
      title="Another version was saved"
      action="Merge"
      isReady={isReady}
      run={merge}
      next={() => next}
      wide
    >
      <p>
        {describeOther(theirs)} {describeMerge(taken.length, conflicts.length)}
      </p>
      <p>
        <CopyMine draft={draft} />
      </p>
      {conflicts.map(({ path, ...values }) => (
        <Ways
          key={JSON.stringify(path)}
          label={showHidden(
            `${nameOf(path)}, before: ${cutMiddle(showValue(values.base) || 'not set')}`,
          )}
          ways={[
            {
              id: 'mine',
              label: 'Keep mine',
              help: <ChangeValue value={values.mine} kind="added" />,
            },
            {
              id: 'theirs',
              label: 'Take theirs',
              help: <ChangeValue value={values.theirs} kind="changed" />,
            },
          ]}
          chosen={choiceOf(path)}
          onChoose={(choice) => setChoices({ ...choices, [JSON.stringify(path)]: choice })}
        />
      ))}
    </FormDialog>
  )
}

export function CopyMine({ draft }: TabProps) {
  return (
    <Button small onClick={() => void copyText(JSON.stringify(draft.definition.peek(), null, 2))}>
      Copy mine
    </Button>
  )
}

function describeMerge(taken: number, conflicts: number) {
  if (taken + conflicts === 0) return 'Your version has the same changes.'
  const merges = `${plural(taken, 'change')} ${taken === 1 ? 'merges by itself' : 'merge by themselves'}`
  const asks = `${conflicts} ${conflicts === 1 ? 'needs' : 'need'} your choice`
  return `${[taken > 0 && merges, conflicts > 0 && asks].filter(Boolean).join(', ')}.`
}
