/** Above the views of the editor: how the draft differs from what is stored, what can be done with it, and what stands in the way of a save. */

import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import { to, useNavigate } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { findingsIn, useFindings } from '../api/pipelines.ts'
import { saveOperation, useDenial, useStartDenial } from '../api/rights.ts'
import { Banner, Button, IconButton } from '../components/button.tsx'
import { Denied } from '../components/denied.tsx'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { Menu } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { Name, StatusText } from '../components/text.tsx'
import { openLeaveDialog } from '../leave.tsx'
import { plural } from '../words.ts'
import type { Draft, TabProps } from './draft.ts'
import type { Path } from './json-path.ts'
import { forgetDraft } from './open-draft.ts'
import { pipelineActions, release } from './pipeline-actions.ts'
import type { Problem } from './problems.ts'
import { CopyMine, describeOther, MergeDialog } from './save-dialog.tsx'
import { titleOfStage, toNodes } from './stages.ts'

export function Changes({ draft }: TabProps) {
  if (draft.unreadable.value !== undefined)
    return <span class="chip is-changed">The text has an error</span>
  if (draft.stored.value === undefined) return <span class="chip">Not saved yet</span>
  if (draft.isDirty.value)
    return <span class="chip is-changed">{plural(countChanges(draft), 'unsaved change')}</span>
  return draft.isSaved.value ? <StatusText status={{ kind: 'succeeded', word: 'Saved' }} /> : null
}

/** What is typed and cannot be read is a change, too. */
function countChanges({ changes }: Draft) {
  return Math.max(1, changes.value.length)
}

export function describeLoss(draft: Draft): string {
  const count = countChanges(draft)
  return `${plural(count, 'change')} of this pipeline ${count > 1 ? 'are' : 'is'} not saved.`
}

export function openStart({ stored }: Draft): void {
  const pipeline = stored.peek() as Schemas['Pipeline'] | undefined
  if (pipeline === undefined || pipeline.disabled === true) return
  act(`Start ${pipeline.name}`, async () => {
    const { StartDialog } = await import('../screens/start-dialog.tsx')
    openDialog(<StartDialog pipeline={pipeline} query={{}} onClose={closeDialog} />)
  })
}

/** @param run The one from which the user came to edit a stage. */
export function Actions({
  draft,
  run,
  onSave,
}: TabProps & { run: string | undefined; onSave: () => void }) {
  const navigate = useNavigate()
  const { application } = draft
  const denied = useDenial(saveOperation, application)
  const pipeline = draft.stored.value
  const isClean = pipeline !== undefined && !draft.isDirty.value
  const reason = denied ?? draft.readOnly.value
  const isOff = reason !== undefined || isClean
  const leave = () => {
    forgetDraft(draft)
    navigate(to.pipelines(application))
  }
  const discard = () => {
    if (pipeline !== undefined) return openLeaveDialog(describeLoss(draft), () => draft.discard())
    // Leaving asks where something would be lost.
    return draft.isDirty.peek() ? navigate(to.pipelines(application)) : leave()
  }
  return (
    <>
      <Steps draft={draft} />
      {!isClean && (
        <Button onClick={discard}>{pipeline === undefined ? 'Give up' : 'Discard changes'}</Button>
      )}
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
      {pipeline !== undefined && (
        <Menu
          items={pipelineActions({
            pipeline,
            application,
            denied,
            isEditing: true,
            onDeleted: leave,
          })}
        />
      )}
    </>
  )
}

function Steps({ draft }: TabProps) {
  const steps = [
    { icon: 'undo', verb: 'Undo', step: draft.undoLabel.value },
    { icon: 'redo', verb: 'Redo', step: draft.redoLabel.value },
  ] as const
  return steps.map(({ icon, verb, step }) => {
    const label = step === undefined ? `Nothing to ${icon}` : `${verb}: ${step}`
    const isOff = step === undefined
    return (
      <IconButton
        key={icon}
        icon={icon}
        label={label}
        aria-disabled={isOff}
        onClick={() => draft[icon]()}
      />
    )
  })
}

/** Starts what is stored: the next step after a save. */
function Start({ draft }: TabProps) {
  const denied = useStartDenial(draft.stored.value as Schemas['Pipeline'])
  return (
    <Button
      icon="play"
      kind={draft.isSaved.value ? 'primary' : undefined}
      denied={denied}
      onClick={() => openStart(draft)}
    >
      Start
    </Button>
  )
}

/** @param newer What another user saved meanwhile. */
export function Notes({
  draft,
  denied,
  newer,
}: TabProps & { denied: string | undefined; newer: JsonObject | undefined }) {
  const readOnly = draft.readOnly.value
  const isDirty = draft.isDirty.value
  const unlock = draft.mayUnlock && denied === undefined && toButton('Unlock', () => draft.unlock())
  const merge =
    newer &&
    toButton('See and merge', () => openDialog(<MergeDialog draft={draft} newer={newer} />))
  return (
    <>
      {denied !== undefined && (
        <Banner tone="warning" actions={isDirty && <CopyMine draft={draft} />}>
          <Denied reason={denied} /> {isDirty && 'Your changes are kept here.'}
        </Banner>
      )}
      {readOnly !== undefined && (
        <Banner tone="info" actions={unlock}>
          {readOnly}
        </Banner>
      )}
      {newer !== undefined && (
        <Banner tone="warning" actions={merge}>
          {describeOther(newer)}
        </Banner>
      )}
    </>
  )
}

function toButton(label: string, onClick: () => void) {
  return (
    <Button small onClick={onClick}>
      {label}
    </Button>
  )
}

/** What of the stored pipeline waits for a user with the right. */
export function Held({ draft, denied }: TabProps & { denied: string | undefined }) {
  const id = scalarOf(draft.stored.value?.['id'])
  const found = useFindings(draft.application).body
  const held = findingsIn(found, id).filter((finding) => finding.held)
  const name = scalarOf(draft.stored.value?.['name']) ?? ''
  const button = id !== undefined && (
    <Button small denied={denied} onClick={() => release(name, id)}>
      Release
    </Button>
  )
  return held.map(({ message }) => (
    <Banner key={message} tone="warning" actions={button}>
      {message}
    </Banner>
  ))
}

const maxListed = 5

/** What is missing is listed after the first attempt to save; before, it stands at its field only. */
export function Problems({
  draft,
  onShow,
  onSaveAnyway,
}: TabProps & { onShow: (path: Path) => void; onSaveAnyway: () => void }) {
  const showsMissing = draft.showsMissing.value
  const problems = draft.problems.value.filter(({ isMissing }) => showsMissing || !isMissing)
  if (problems.length === 0) return null
  const nodes = toNodes(draft.definition.value)
  const isBlocked = blockingProblems(draft).length > 0
  // What cannot be read would be lost.
  const isSavable =
    showsMissing &&
    isBlocked &&
    draft.held.value.length === 0 &&
    draft.unreadable.value === undefined
  return (
    <Banner
      tone={isBlocked ? 'failed' : 'warning'}
      actions={isSavable && toButton('Save anyway', onSaveAnyway)}
    >
      <strong>{plural(problems.length, 'problem')}</strong>
      <ul class="problem-list">
        {problems.slice(0, maxListed).map(({ path, message: all, stage }) => {
          // The rest stands at the field.
          const message = /^.+?\.(?=\s|$)/s.exec(all)?.[0] ?? all
          const node = nodes.find(({ key }) => key === stage)
          return (
            <li key={`${path.join()} ${message}`}>
              <button type="button" class="link" onClick={() => onShow(path)}>
                <Name
                  text={node === undefined ? message : `${titleOfStage(node.stage)}: ${message}`}
                  max={240}
                />
              </button>
            </li>
          )
        })}
      </ul>
      {problems.length > maxListed && <span class="muted">F8 leads from one to the next.</span>}
    </Banner>
  )
}

/** What cannot work; *Save anyway* stores it as it is, to be completed later. */
export function blockingProblems(draft: Draft): readonly Problem[] {
  return draft.problems.peek().filter(({ severity }) => severity === 'error')
}
