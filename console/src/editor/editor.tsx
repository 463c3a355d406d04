/** The pipeline editor: one draft, and its views in tabs that are loaded when they are opened. */

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { isPathPart, to } from '../address.ts'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { useLive } from '../api/live.ts'
import { saveOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { announcement } from '../components/announcement.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { Button, IconButton } from '../components/button.tsx'
import { copyText } from '../components/copy-button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { openLeaveDialog } from '../components/leave-dialog.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { ErrorState, Loading } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useIsShown } from '../components/use-submit.ts'
import { useLeaveGuard } from '../leave.ts'
import { textOf } from '../model/read.ts'
import { formatClock } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { toStageTypes } from './descriptions.ts'
import { type Draft, isSameDefinition, type TabProps, toStored } from './draft.ts'
import { Lazy } from './lazy.tsx'
import { adoptDraft, forgetDraft, openDraft } from './open-draft.ts'
import { pipelineActions } from './pipeline-actions.tsx'
import type { Problem } from './problems.ts'
import type { SaveOutcome } from './save.ts'
import { openConflict, openSaveDialog } from './save-dialogs.tsx'
import { titleOfStage, toNodes } from './stages.ts'
import { editorWords } from './words.ts'

interface View {
  readonly id: 'graph' | 'text' | 'diff' | 'history' | 'dry-run'
  readonly label: string
  readonly load: () => Promise<ComponentType<TabProps>>
}

const views: readonly View[] = [
  { id: 'graph', label: editorWords.graph, load: async () => (await import('./graph-tab.tsx')).GraphTab },
  { id: 'text', label: editorWords.text, load: async () => (await import('./text-tab.tsx')).TextTab },
  { id: 'diff', label: editorWords.diff, load: async () => (await import('./diff-tab.tsx')).DiffTab },
  { id: 'history', label: editorWords.history, load: async () => (await import('./history-tab.tsx')).HistoryTab },
  { id: 'dry-run', label: editorWords.dryRun, load: async () => (await import('./dry-run-tab.tsx')).DryRunTab },
]

export function EditPipeline({ params, query }: ScreenProps) {
  const { application = '', id = '' } = params as { application?: string; id?: string }
  const [draft, setDraft] = useState<Draft | undefined>(undefined)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const open = () => {
    setError(undefined)
    openDraft(application, id).then(setDraft, (cause: unknown) => setError(asApiError(cause)))
  }
  useEffect(open, [application, id])
  if (draft !== undefined) return <Editor draft={draft} id={id} query={query} />
  return (
    <>
      <PageHead tab={editorWords.edit(id)} title={<Name text={id} max={80} />} crumbs={crumbsOf(application)} />
      {error === undefined ? <Loading rows={8} /> : <ErrorState error={error} onRetry={open} />}
    </>
  )
}

function crumbsOf(application: string) {
  return [...applicationCrumbs(application), { label: words.pipelines, href: to.pipelines(application) }]
}

interface EditorProps {
  readonly draft: Draft
  /** The pipeline in the address; a new one has none. */
  readonly id: string | undefined
  readonly query: ScreenProps['query']
}

export function Editor({ draft, id, query }: EditorProps) {
  const change = useQueryChange()
  const { route: navigate } = useLocation()
  const { application } = draft
  useStageTypes(draft)
  const [newer, setNewer] = useNewer(draft)
  const right = useRight({ operation: saveOperation, application })
  const name = textOf(draft.definition.value['name']) ?? editorWords.newPipeline
  const view = views.find(({ id }) => id === query['tab']) ?? (views[0] as View)
  const show = (id: View['id']) => change({ tab: id === 'graph' ? undefined : id })

  const isShown = useIsShown()
  const onSaved = (saved: string) => {
    announcement.value = editorWords.saved
    setNewer(undefined)
    if (saved === id) return
    adoptDraft(draft, saved)
    // The user may have left while it was saved.
    if (isShown()) navigate(to.editPipeline(application, saved, { stage: query['stage'], section: query['section'] }), true)
  }
  const save = () => {
    if (!right.allowed || draft.readOnly.peek() !== undefined) return
    if (newer !== undefined) return openConflict({ draft, outcome: newer, onMerged: () => openSaveDialog({ draft, onSaved }) })
    draft.showsMissing.value = true
    const [blocking] = blockingProblems(draft)
    if (blocking === undefined) return openSaveDialog({ draft, onSaved })
    if (view.id !== 'text') showProblem(draft, blocking, () => show('graph'))
    announcement.value = blocking.message
  }
  useDraftGuard(draft)
  useEditorKeys(draft, save, () => show('graph'))

  return (
    <>
      <PageHead
        tab={editorWords.edit(name)}
        title={<Name text={name} max={80} />}
        crumbs={crumbsOf(application)}
        state={<Changes draft={draft} />}
        actions={<Actions draft={draft} denied={right.reason} onSave={save} />}
      />
      <Notes draft={draft} denied={right.reason} newer={newer} onMerged={() => setNewer(undefined)} />
      <Problems draft={draft} onShow={() => show('graph')} onSaveAnyway={() => openSaveDialog({ draft, onSaved })} />
      <Tabs label={editorWords.views} tabs={views} selected={view.id} onSelect={show}>
        <Lazy key={view.id} load={view.load} props={{ draft }} />
      </Tabs>
    </>
  )
}

/** Asks before changes are lost. */
function useDraftGuard(draft: Draft): void {
  useLeaveGuard({
    isNeeded: () => draft.isDirty.peek(),
    ask: (leave) =>
      openLeaveDialog(editorWords.leaveText(draft.changes.peek().length), () => {
        forgetDraft(draft)
        leave()
      }),
  })
}

function useStageTypes(draft: Draft): void {
  const types = useLive('/capabilities/stageTypes', {}, { refresh: 'open' }).reading.value.body
  useEffect(() => {
    if (types !== undefined) draft.types.value = toStageTypes(types)
  }, [types])
}

/** A newer version in the store; one of the same content, or without changes of the user, is taken over. */
function useNewer(draft: Draft) {
  const [newer, setNewer] = useState<SaveOutcome | undefined>(undefined)
  const id = textOf(draft.stored.value?.definition['id'])
  const isReadable = id !== undefined && isPathPart(id)
  const parameters = isReadable ? { path: { application: draft.application, pipelineName: id } } : undefined
  const { body } = useLive('/applications/{application}/pipelineConfigs/{pipelineName}', parameters, {
    refresh: 'steady',
    events: applicationEvents(draft.application, 'definitions'),
  }).reading.value
  useEffect(() => {
    const stored = draft.stored.peek()
    if (body === undefined || stored === undefined) return
    const stamp = Number(toStored(body).updateTs)
    // An answer from before the last save is not newer.
    if (Number.isNaN(stamp) || stamp <= Number(stored.updateTs ?? 0)) return setNewer(undefined)
    if (isSameDefinition(body, stored.definition) || !draft.isDirty.peek()) {
      draft.rebase(stored.definition, body)
      setNewer(undefined)
    } else setNewer({ kind: 'conflict', theirs: body })
  }, [body, draft.stored.value])
  const shown = newer?.kind === 'conflict' ? newer : undefined
  return [shown, setNewer] as const
}

/** Those that the server refuses; what is only missing can be saved and completed later. */
function blockingProblems(draft: Draft): readonly Problem[] {
  return draft.problems
    .peek()
    .filter(({ kind, severity, path }) => severity === 'error' && (kind === 'wrong' || (path.length === 1 && path[0] === 'name')))
}

function showProblem(draft: Draft, { path }: Problem, showGraph: () => void): void {
  showGraph()
  draft.shown.value = [...path]
}

function useEditorKeys(draft: Draft, save: () => void, showGraph: () => void): void {
  useEffect(() => {
    let last = -1
    const onKey = (event: KeyboardEvent) => {
      if (document.querySelector('dialog[open]') !== null) return
      const key = event.key.toLowerCase()
      const isControl = (event.ctrlKey || event.metaKey) && !event.altKey
      // The text view has its own undo, which leads to the same steps.
      const isText = (event.target as HTMLElement | null)?.closest('.cm-editor') != null
      if (isControl && key === 's') save()
      else if (isControl && key === 'z' && !isText) event.shiftKey ? draft.redo() : draft.undo()
      else if (isControl && key === 'y' && !isText) draft.redo()
      else if (event.key === 'F8') {
        const problems = draft.problems.peek()
        last = problems.length === 0 ? -1 : (last + (event.shiftKey ? -1 : 1) + problems.length) % problems.length
        const problem = problems[last]
        if (problem !== undefined) showProblem(draft, problem, showGraph)
      } else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
}

function Changes({ draft }: { draft: Draft }) {
  const count = draft.changes.value.length
  if (draft.unreadable.value !== undefined) return <span class="chip is-warning">{editorWords.textUnreadable}</span>
  if (draft.stored.value === undefined) return <span class="chip">{editorWords.notStored}</span>
  if (!draft.isDirty.value) return null
  return <span class="chip is-changed">{editorWords.unsaved(Math.max(1, count))}</span>
}

interface ActionsProps {
  readonly draft: Draft
  /** Why the user may not save. */
  readonly denied: string | undefined
  readonly onSave: () => void
}

function Actions({ draft, denied, onSave }: ActionsProps) {
  const { route: navigate } = useLocation()
  const stored = draft.stored.value
  const { undoLabel, redoLabel } = draft
  const isOff = denied !== undefined || draft.readOnly.value !== undefined || (stored !== undefined && !draft.isDirty.value)
  const reason = denied ?? draft.readOnly.value
  const discard = () => {
    if (stored !== undefined) return openLeaveDialog(editorWords.leaveText(draft.changes.peek().length), () => draft.discard())
    // Leaving asks where something would be lost.
    if (!draft.isDirty.peek()) forgetDraft(draft)
    navigate(to.pipelines(draft.application))
  }
  return (
    <>
      <StepButton
        icon="undo"
        label={editorWords.undoOf(undoLabel.value)}
        isOff={undoLabel.value === undefined}
        onClick={() => draft.undo()}
      />
      <StepButton
        icon="redo"
        label={editorWords.redoOf(redoLabel.value)}
        isOff={redoLabel.value === undefined}
        onClick={() => draft.redo()}
      />
      {(stored === undefined || draft.isDirty.value) && (
        <Button onClick={discard}>{stored === undefined ? editorWords.giveUp : editorWords.discard}</Button>
      )}
      <Button kind="primary" aria-disabled={isOff} title={reason ?? 'Ctrl S'} onClick={() => isOff || onSave()}>
        {editorWords.save}
      </Button>
      {stored !== undefined && (
        <Menu
          items={pipelineActions({
            pipeline: stored.definition,
            application: draft.application,
            denied,
            isEditing: true,
            onDeleted: () => {
              forgetDraft(draft)
              navigate(to.pipelines(draft.application))
            },
          })}
        />
      )}
    </>
  )
}

interface StepButtonProps {
  readonly icon: 'undo' | 'redo'
  readonly label: string
  readonly isOff: boolean
  readonly onClick: () => void
}

function StepButton({ isOff, label, ...button }: StepButtonProps) {
  return <IconButton label={label} title={label} aria-disabled={isOff} {...button} />
}

type ConflictOutcome = Extract<SaveOutcome, { kind: 'conflict' }>

interface NotesProps {
  readonly draft: Draft
  readonly denied: string | undefined
  readonly newer: ConflictOutcome | undefined
  readonly onMerged: () => void
}

/** What stands in the way of a save. */
function Notes({ draft, denied, newer, onMerged }: NotesProps) {
  const readOnly = draft.readOnly.value
  return (
    <>
      {denied !== undefined && <Denied draft={draft} denied={denied} />}
      {readOnly !== undefined && (
        <Banner
          tone="info"
          actions={
            draft.mayUnlock &&
            denied === undefined && (
              <Button small onClick={() => draft.unlock()}>
                {editorWords.unlock}
              </Button>
            )
          }
        >
          {readOnly}
        </Banner>
      )}
      {newer !== undefined && <Newer draft={draft} newer={newer} onMerged={onMerged} />}
    </>
  )
}

function Denied({ draft, denied }: { draft: Draft; denied: string }) {
  const { application } = draft
  const owner = useLive('/applications/{application}', { path: { application } }, { refresh: 'open' }).reading.value.body
  const email = textOf((owner as { attributes?: { email?: unknown } } | undefined)?.attributes?.email)
  const isDirty = draft.isDirty.value
  const copy = isDirty && (
    <Button small onClick={() => void copyText(JSON.stringify(draft.definition.peek(), null, 2))}>
      {editorWords.copyMine}
    </Button>
  )
  return (
    <Banner tone="warning" actions={copy}>
      {isDirty ? editorWords.rightEnded(application, email) : editorWords.mayNotChange(application, email)} {denied}
    </Banner>
  )
}

function Newer({ draft, newer, onMerged }: Omit<NotesProps, 'denied'> & { readonly newer: ConflictOutcome }) {
  const { lastModifiedBy, updateTs } = toStored(newer.theirs)
  const merge = (
    <Button small onClick={() => openConflict({ draft, outcome: newer, onMerged })}>
      {editorWords.seeAndMerge}
    </Button>
  )
  return (
    <Banner tone="warning" actions={merge}>
      {editorWords.savedMeanwhile(
        lastModifiedBy ?? editorWords.someoneElse,
        textOf(newer.theirs['name']) ?? '',
        updateTs === undefined ? undefined : formatClock(Number(updateTs)),
      )}
    </Banner>
  )
}

interface ProblemsProps {
  readonly draft: Draft
  readonly onShow: () => void
  readonly onSaveAnyway: () => void
}

const maxListed = 5

/** All problems after the first attempt to save; before, each stands at its field only. */
function Problems({ draft, onShow, onSaveAnyway }: ProblemsProps) {
  const problems = draft.problems.value
  if (!draft.showsMissing.value || problems.length === 0) return null
  const nodes = toNodes(draft.definition.value)
  const isBlocked = blockingProblems(draft).length > 0
  return (
    <Banner
      tone={isBlocked ? 'failed' : 'warning'}
      actions={
        isBlocked && (
          <Button small onClick={onSaveAnyway}>
            {editorWords.saveAnyway}
          </Button>
        )
      }
    >
      <strong>{editorWords.problems(problems.length)}</strong>
      <ul class="problem-list">
        {problems.slice(0, maxListed).map((problem) => {
          const stage = nodes.find(({ key }) => key === problem.stage)?.stage
          return (
            <li key={`${problem.path.join()} ${problem.message}`}>
              <button type="button" class="link" onClick={() => showProblem(draft, problem, onShow)}>
                {stage !== undefined && (
                  <>
                    <Name text={titleOfStage(stage)} max={40} />:{' '}
                  </>
                )}
                <Name text={problem.message} max={200} />
              </button>
            </li>
          )
        })}
      </ul>
      {problems.length > maxListed && <span class="muted">{editorWords.moreProblems(problems.length - maxListed)}</span>}
    </Banner>
  )
}
