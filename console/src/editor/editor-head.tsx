/** The head of the editor: how the draft differs from what is stored, and what can be done with it. */
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { startOperation, useRight } from '../api/rights.ts'
import { Button, IconButton } from '../components/button.tsx'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { openLeaveDialog } from '../leave.tsx'
import { plural } from '../words.ts'
import type { Draft, TabProps } from './draft.ts'
import { forgetDraft } from './open-draft.ts'
import { pipelineActions } from './pipeline-actions.ts'

export function Changes({ draft }: TabProps) {
  if (draft.unreadable.value !== undefined) return <span class="chip is-changed">The text has an error</span>
  if (draft.stored.value === undefined) return <span class="chip">Not saved yet</span>
  if (draft.isDirty.value) {
    return <span class="chip is-changed">{plural(Math.max(1, draft.changes.value.length), 'unsaved change')}</span>
  }
  if (!draft.isSaved.value) return null
  return (
    <span class="status-text is-succeeded">
      <Icon name="check" /> Saved
    </span>
  )
}

/** In the question before changes are lost. */
export function describeLoss(draft: Draft): string {
  const count = Math.max(1, draft.changes.peek().length)
  return `${plural(count, 'change')} of this pipeline ${count > 1 ? 'are' : 'is'} not saved.`
}

/** The start dialog comes with the first start. */
export function openStart({ stored }: Draft): void {
  const pipeline = stored.peek() as Schemas['Pipeline'] | undefined
  if (pipeline === undefined || pipeline.disabled === true) return
  act(`Start ${pipeline.name}`, async () => {
    const { StartDialog } = await import('../screens/start-dialog.tsx')
    openDialog(<StartDialog pipeline={pipeline} query={{}} onClose={closeDialog} />)
  })
}

interface ActionsProps extends TabProps {
  /** Why the user may not save. */
  readonly denied: string | undefined
  /** The run from which the user came to edit a stage. */
  readonly run: string | undefined
  readonly onSave: () => void
}

export function Actions({ draft, denied, run, onSave }: ActionsProps) {
  const { route: navigate } = useLocation()
  const { application } = draft
  const pipeline = draft.stored.value
  const isClean = pipeline !== undefined && !draft.isDirty.value
  const reason = denied ?? draft.readOnly.value
  const isOff = reason !== undefined || isClean
  const toList = () => navigate(to.pipelines(application))
  const onDeleted = () => {
    forgetDraft(draft)
    toList()
  }
  const discard = () => {
    if (pipeline !== undefined) return openLeaveDialog(describeLoss(draft), () => draft.discard())
    // Leaving asks where something would be lost.
    if (!draft.isDirty.peek()) forgetDraft(draft)
    toList()
  }
  return (
    <>
      <Step icon="undo" verb="Undo" step={draft.undoLabel.value} onClick={() => draft.undo()} />
      <Step icon="redo" verb="Redo" step={draft.redoLabel.value} onClick={() => draft.redo()} />
      {!isClean && <Button onClick={discard}>{pipeline === undefined ? 'Give up' : 'Discard changes'}</Button>}
      {run !== undefined && isClean && (
        <a class="button" href={to.execution(run)}>
          Back to the run
        </a>
      )}
      {isClean && <Start draft={draft} />}
      <Button
        kind={isClean ? undefined : 'primary'}
        aria-disabled={isOff}
        title={reason ?? 'Ctrl S'}
        onClick={() => isOff || onSave()}
      >
        Save
      </Button>
      {pipeline !== undefined && <Menu items={pipelineActions({ pipeline, application, denied, isEditing: true, onDeleted })} />}
    </>
  )
}

interface StepProps {
  readonly icon: 'undo' | 'redo'
  readonly verb: string
  readonly step: string | undefined
  readonly onClick: () => void
}

function Step({ icon, verb, step, onClick }: StepProps) {
  const label = step === undefined ? `Nothing to ${icon}` : `${verb}: ${step}`
  return <IconButton icon={icon} label={label} title={label} aria-disabled={step === undefined} onClick={onClick} />
}

/** Of what is stored: the next step after a save. */
function Start({ draft }: TabProps) {
  const right = useRight({ operation: startOperation, application: draft.application })
  const isDisabled = draft.stored.value?.['disabled'] === true
  return (
    <Button
      icon="play"
      kind={draft.isSaved.value ? 'primary' : undefined}
      denied={isDisabled ? 'The pipeline is disabled.' : right.reason}
      onClick={() => openStart(draft)}
    >
      Start
    </Button>
  )
}
