/** Above the views of the editor: what stands in the way of a save. */
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { copyText } from '../components/copy-button.tsx'
import { Denied } from '../components/denied.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Name } from '../components/name.tsx'
import { plural } from '../words.ts'
import type { Draft } from './draft.ts'
import type { Path } from './json-path.ts'
import type { Problem } from './problems.ts'
import type { SaveOutcome } from './save.ts'
import { describeOther, MergeDialog } from './save-dialogs.tsx'
import { titleOfStage, toNodes } from './stages.ts'

export type ConflictOutcome = Extract<SaveOutcome, { kind: 'conflict' }>

interface NotesProps {
  readonly draft: Draft
  readonly denied: string | undefined
  readonly newer: ConflictOutcome | undefined
}

export function Notes({ draft, denied, newer }: NotesProps) {
  const readOnly = draft.readOnly.value
  const unlock = draft.mayUnlock && denied === undefined && (
    <Button small onClick={() => draft.unlock()}>
      Unlock
    </Button>
  )
  const merge = newer !== undefined && (
    <Button small onClick={() => openDialog(<MergeDialog draft={draft} outcome={newer} />)}>
      See and merge
    </Button>
  )
  return (
    <>
      {denied !== undefined && <DeniedSave draft={draft} denied={denied} />}
      {readOnly !== undefined && (
        <Banner tone="info" actions={unlock}>
          {readOnly}
        </Banner>
      )}
      {newer !== undefined && (
        <Banner tone="warning" actions={merge}>
          {describeOther(newer.theirs)}
        </Banner>
      )}
    </>
  )
}

function DeniedSave({ draft, denied }: { draft: Draft; denied: string }) {
  const isDirty = draft.isDirty.value
  const copy = isDirty && (
    <Button small onClick={() => void copyText(JSON.stringify(draft.definition.peek(), null, 2))}>
      Copy mine
    </Button>
  )
  return (
    <Banner tone="warning" actions={copy}>
      <Denied reason={denied} /> {isDirty && 'Your changes are kept here.'}
    </Banner>
  )
}

interface ProblemsProps {
  readonly draft: Draft
  readonly onShow: (path: Path) => void
  readonly onSaveAnyway: () => void
}

const maxListed = 5

/** All problems after the first attempt to save; before, each stands at its field only. */
export function Problems({ draft, onShow, onSaveAnyway }: ProblemsProps) {
  const problems = draft.problems.value
  if (!draft.showsMissing.value || problems.length === 0) return null
  const isBlocked = blockingProblems(draft).length > 0
  const more = problems.length - maxListed
  // What cannot be read would be lost.
  const isSavable = isBlocked && draft.held.value.length === 0 && draft.unreadable.value === undefined
  const saveAnyway = isSavable && (
    <Button small onClick={onSaveAnyway}>
      Save anyway
    </Button>
  )
  return (
    <Banner tone={isBlocked ? 'failed' : 'warning'} actions={saveAnyway}>
      <strong>{plural(problems.length, 'problem')}</strong>
      <ul class="problem-list">
        {problems.slice(0, maxListed).map((problem) => (
          <li key={`${problem.path.join()} ${problem.message}`}>
            <button type="button" class="link" onClick={() => onShow(problem.path)}>
              <ProblemText draft={draft} problem={problem} />
            </button>
          </li>
        ))}
      </ul>
      {more > 0 && <span class="muted">{more.toLocaleString()} more. F8 leads from one to the next.</span>}
    </Banner>
  )
}

function ProblemText({ draft, problem: { stage: key, message } }: { draft: Draft; problem: Problem }) {
  const stage = toNodes(draft.definition.value).find((node) => node.key === key)?.stage
  return (
    <>
      {stage !== undefined && (
        <>
          <Name text={titleOfStage(stage)} max={40} />:{' '}
        </>
      )}
      <Name text={message} max={200} />
    </>
  )
}

/** What would not run; *Save anyway* stores it as it is, to be completed later. */
export function blockingProblems(draft: Draft): readonly Problem[] {
  return draft.problems.peek().filter(({ severity }) => severity === 'error')
}
