/** Above the views of the editor: what stands in the way of a save. */
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { copyText } from '../components/copy-button.tsx'
import { Denied } from '../components/denied.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Name } from '../components/name.tsx'
import type { Json } from '../model/read.ts'
import { plural } from '../words.ts'
import type { Draft, TabProps } from './draft.ts'
import type { Path } from './json-path.ts'
import type { Problem } from './problems.ts'
import { describeOther, MergeDialog } from './save-dialog.tsx'
import { stageOfKey, titleOfStage } from './stages.ts'

interface NotesProps extends TabProps {
  readonly denied: string | undefined
  /** What another user saved meanwhile. */
  readonly newer: Json | undefined
}

export function Notes({ draft, denied, newer }: NotesProps) {
  const readOnly = draft.readOnly.value
  const isDirty = draft.isDirty.value
  const act = (label: string, onClick: () => unknown) => (
    <Button small onClick={onClick}>
      {label}
    </Button>
  )
  const copyMine = () => copyText(JSON.stringify(draft.definition.peek(), null, 2))
  const merge = (theirs: Json) => openDialog(<MergeDialog draft={draft} newer={theirs} />)
  return (
    <>
      {denied !== undefined && (
        <Banner tone="warning" actions={isDirty && act('Copy mine', copyMine)}>
          <Denied reason={denied} /> {isDirty && 'Your changes are kept here.'}
        </Banner>
      )}
      {readOnly !== undefined && (
        <Banner tone="info" actions={draft.mayUnlock && denied === undefined && act('Unlock', () => draft.unlock())}>
          {readOnly}
        </Banner>
      )}
      {newer !== undefined && (
        <Banner tone="warning" actions={act('See and merge', () => merge(newer))}>
          {describeOther(newer)}
        </Banner>
      )}
    </>
  )
}

interface ProblemsProps extends TabProps {
  readonly onShow: (path: Path) => void
  readonly onSaveAnyway: () => void
}

const maxListed = 5

/** All problems after the first attempt to save; before, each stands at its field only. */
export function Problems({ draft, onShow, onSaveAnyway }: ProblemsProps) {
  const problems = draft.problems.value
  if (!draft.showsMissing.value || problems.length === 0) return null
  const isBlocked = blockingProblems(draft).length > 0
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
              <Name text={textOfProblem(draft, problem)} max={240} />
            </button>
          </li>
        ))}
      </ul>
      {problems.length > maxListed && <span class="muted">F8 leads from one to the next.</span>}
    </Banner>
  )
}

function textOfProblem(draft: Draft, { stage, message }: Problem): string {
  const node = stageOfKey(draft.definition.value, stage)
  return node === undefined ? message : `${titleOfStage(node.stage)}: ${message}`
}

/** What would not run; *Save anyway* stores it as it is, to be completed later. */
export function blockingProblems(draft: Draft): readonly Problem[] {
  return draft.problems.peek().filter(({ isWarning }) => isWarning !== true)
}
