/** Saves a draft: what it changes, and the choices where another user saved or deleted the pipeline. Nothing of theirs is overwritten. */
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { ApiError, asApiError } from '../api/api-error.ts'
import { refreshMatching } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { copyText } from '../components/copy-button.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { cutMiddle, showHidden } from '../model/names.ts'
import { type Json, numberOf, textOf } from '../model/read.ts'
import { formatClock } from '../model/time.ts'
import { plural } from '../words.ts'
import { isSameDefinition, type KeyPath, type MergeChoice, mergeDefinitions, withoutStamps } from './changes.ts'
import { ChangeValue, DefinitionDiff } from './definition-diff.tsx'
import { fieldOfPath, showValue, titleOfPath } from './describe-changes.ts'
import type { Draft } from './draft.ts'
import { Ways } from './forms/form.tsx'
import { toRefusals } from './problems.ts'
import { readDefinition, readDefinitions, sendDefinition } from './store.ts'

interface SaveDialogProps {
  readonly draft: Draft
  readonly onSaved: (id: string) => void
}

export function SaveDialog({ draft, onSaved }: SaveDialogProps) {
  const definition = draft.definition.value
  const stored = draft.stored.value
  const action = `Save ${textOf(definition['name']) ?? 'the pipeline'}`
  const run = async () => {
    try {
      const newer = await saveDraft(draft)
      if (newer !== undefined) {
        return <MergeDialog draft={draft} newer={newer} next={<SaveDialog draft={draft} onSaved={onSaved} />} />
      }
      onSaved(textOf(draft.stored.peek()?.['id']) ?? '')
    } catch (cause) {
      draft.refusals.value = toRefusals(asApiError(cause).message, draft.definition.peek())
      const [refusal] = draft.refusals.peek()
      if (refusal === undefined) throw cause
      // Above the page stands what the server says; the field takes the focus.
      draft.shown.value = refusal.path
    }
    return undefined
  }
  return (
    <FormDialog title={action} action={action} run={run} wide>
      {stored === undefined && <p>This creates the pipeline in {draft.application}.</p>}
      <DefinitionDiff before={stored} after={definition} />
    </FormDialog>
  )
}

/** What another user has stored, or that the pipeline is gone. */
type Newer = Json | 'gone'

/**
 * What changes during the save stays an unsaved change.
 *
 * @returns what the store has instead; nothing is written then
 * @throws {ApiError}
 */
async function saveDraft(draft: Draft): Promise<Newer | undefined> {
  const newer = await findNewer(draft)
  if (newer !== undefined) return newer
  const { id, updateTs } = draft.stored.peek() ?? {}
  // Under the identity of what the draft began from, whatever the text of the user says.
  const sent = { ...draft.definition.peek(), application: draft.application, id, updateTs }
  try {
    await sendDefinition(sent)
  } catch (cause) {
    const other = asApiError(cause).status === 400 ? await findNewer(draft) : undefined
    if (other !== undefined) return other
    throw cause
  }
  draft.rebase(sent, await readSaved(sent))
  draft.isSaved.value = true
  refreshMatching('pipelineConfigs')
  return undefined
}

/**
 * What the store has instead of what the draft began from. Not every store reports a stale save, so this is asked before each one. A
 * newer version of the same content is taken over.
 *
 * @throws {ApiError}
 */
async function findNewer({ application, stored }: Draft): Promise<Newer | undefined> {
  const begun = stored.peek()
  const id = textOf(begun?.['id'])
  if (begun === undefined || id === undefined) return undefined
  try {
    const current = await readDefinition(application, id)
    if (String(current['updateTs']) === String(begun['updateTs'])) return undefined
    if (!isSameDefinition(current, begun)) return current
    stored.value = current
    return undefined
  } catch (cause) {
    if (asApiError(cause).status === 404) return 'gone'
    throw cause
  }
}

/** @throws {ApiError} */
async function readSaved({ application, id, ...sent }: Json & { readonly application: string }): Promise<Json> {
  if (textOf(id) !== undefined) return readDefinition(application, String(id))
  const name = String(sent['name']).trim().toLowerCase()
  const found = (await readDefinitions(application)).find((pipeline) => String(pipeline['name']).toLowerCase() === name)
  if (found === undefined) throw new ApiError({ status: 404, message: `The list of ${application} does not have ${name} yet.` })
  return found
}

interface MergeDialogProps {
  readonly draft: Draft
  readonly newer: Newer
  /** The dialog that follows, once the draft is based on the newer version. */
  readonly next?: VNode
}

export function MergeDialog({ draft, newer, next }: MergeDialogProps) {
  if (newer !== 'gone') return <ConflictDialog draft={draft} theirs={newer} next={next} />
  const run = async () => {
    draft.stored.value = undefined
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
export function describeOther({ lastModifiedBy, name, updateTs }: Json): string {
  const ms = numberOf(updateTs)
  const time = ms === undefined ? '' : ` at ${formatClock(ms)}`
  return `${textOf(lastModifiedBy) ?? 'Another user'} saved ${textOf(name) ?? 'the pipeline'}${time} while you were editing.`
}

function ConflictDialog({ draft, theirs, next }: { draft: Draft; theirs: Json; next: VNode | undefined }) {
  const [choices, setChoices] = useState<ReadonlyMap<string, MergeChoice>>(new Map())
  const base = draft.stored.value ?? {}
  const mine = draft.definition.value
  const { conflicts, taken } = useMemo(
    () => mergeDefinitions(withoutStamps(base), withoutStamps(mine), withoutStamps(theirs)),
    [base, mine, theirs],
  )
  const versions = [mine, theirs, base]
  const choiceOf = (path: KeyPath) => choices.get(JSON.stringify(path))
  const merge = async () => {
    draft.rebase(base, theirs, choiceOf)
    return next
  }
  const isReady = conflicts.every(({ path }) => choiceOf(path) !== undefined)
  return (
    <FormDialog title="Another version was saved" action="Merge" isReady={isReady} run={merge} wide>
      <p>
        {describeOther(theirs)} {describeMerge(taken.length, conflicts.length)}
      </p>
      <p>
        <Button small onClick={() => void copyText(JSON.stringify(mine, null, 2))}>
          Copy mine
        </Button>
      </p>
      {conflicts.map(({ path, ...values }) => (
        <Ways
          key={JSON.stringify(path)}
          label={showHidden(`${nameOf(path, versions)}, before: ${cutMiddle(showValue(values.base) || 'not set')}`)}
          ways={[
            { id: 'mine', label: 'Keep mine', help: <ChangeValue value={values.mine} kind="added" /> },
            { id: 'theirs', label: 'Take theirs', help: <ChangeValue value={values.theirs} kind="changed" /> },
          ]}
          chosen={choiceOf(path)}
          onChoose={(choice) => setChoices(new Map(choices).set(JSON.stringify(path), choice))}
        />
      ))}
    </FormDialog>
  )
}

function describeMerge(taken: number, conflicts: number): string {
  if (taken + conflicts === 0) return 'Your version has the same changes.'
  const merges = `${plural(taken, 'change')} ${taken === 1 ? 'merges by itself' : 'merge by themselves'}`
  const asks = `${conflicts} ${conflicts === 1 ? 'needs' : 'need'} your choice`
  return `${[taken > 0 && merges, conflicts > 0 && asks].filter(Boolean).join(', ')}.`
}

function nameOf(path: KeyPath, versions: readonly Json[]): string {
  const field = fieldOfPath(path)
  return titleOfPath(path, versions) + (field === '' ? '' : `: ${field}`)
}
