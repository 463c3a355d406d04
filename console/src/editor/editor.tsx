/** The pipeline editor: one draft, and its views in tabs that are loaded when they are opened. */

import { type JsonObject, numberOf, scalarOf } from '@fairlead/base/json/values.ts'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { type ScreenProps, to, useNavigate, useQueryChange } from '../address.ts'
import { useLive } from '../api/live.ts'
import { saveOperation, useDenial } from '../api/rights.ts'
import { openDialog } from '../components/dialog.tsx'
import { useIsShown } from '../components/form-dialog.tsx'
import { announcement } from '../components/notices.tsx'
import { ErrorState, Lazy, Loading, PageHead, pipelineCrumbs } from '../components/screen.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Name } from '../components/text.tsx'
import { useLeaveGuard } from '../leave.tsx'
import { useKeyDown } from '../letter-keys.ts'
import { isSameDefinition } from './changes.ts'
import type { Draft, TabProps } from './draft.ts'
import {
  Actions,
  blockingProblems,
  Changes,
  describeLoss,
  Held,
  Notes,
  openStart,
  Problems,
} from './editor-head.tsx'
import type { Path } from './json-path.ts'
import { adoptDraft, forgetDraft, openDraft } from './open-draft.ts'
import { MergeDialog, SaveDialog } from './save-dialog.tsx'
import type { StageTypes } from './stages.ts'
import { checkDraft, definitionPath } from './store.ts'

const pauseMs = 500

const graph = {
  id: 'graph',
  label: 'Graph',
  load: async () => (await import('./graph-tab.tsx')).GraphTab,
}
const views = [
  graph,
  { id: 'text', label: 'Text', load: async () => (await import('./text-tab.tsx')).TextTab },
  {
    id: 'history',
    label: 'Changes',
    load: async () => (await import('./history-tab.tsx')).HistoryTab,
  },
  {
    id: 'dry-run',
    label: 'Dry run',
    load: async () => (await import('./dry-run-tab.tsx')).DryRunTab,
  },
]

function viewOf({ tab }: ScreenProps['query']) {
  return views.find(({ id }) => id === tab) ?? graph
}

export function EditPipeline({ params, query }: ScreenProps) {
  const { application = '', id = '' } = params
  // A stream would read it once more when it begins.
  const live = useLive(definitionPath, { path: { application, pipelineName: id } })
  const { body, error } = live
  const definition = body as JsonObject | undefined
  // What the editor reads as well is asked for at once.
  useLive('/capabilities/stageTypes', {}, 'open')
  useDenial(saveOperation, application)
  useEffect(() => void viewOf(query).load(), [])
  const isRead = definition !== undefined
  const draft = useMemo(() => openDraft(application, id, definition), [application, id, isRead])
  if (draft !== undefined)
    return <Editor key={id} draft={draft} id={id} latest={definition} query={query} />
  return (
    <>
      <PageHead
        tab={`Edit ${id}`}
        title={<Name text={id} />}
        crumbs={pipelineCrumbs(application)}
      />
      {error === undefined ? (
        <Loading rows={8} />
      ) : (
        <ErrorState error={error} onRetry={() => live.refresh()} />
      )}
    </>
  )
}

interface EditorProps extends TabProps, Pick<ScreenProps, 'query'> {
  /** A new pipeline has none. */
  readonly id: string | undefined
  /** What the store has now. */
  readonly latest?: JsonObject
}

export function Editor({ draft, id, latest, query }: EditorProps) {
  const change = useQueryChange()
  const types = useLive('/capabilities/stageTypes', {}, 'open').body
  useEffect(() => {
    if (types !== undefined) draft.types.value = types as unknown as StageTypes
  }, [types])
  const newer = useNewer(draft, latest)
  const denied = useDenial(saveOperation, draft.application)
  const name = scalarOf(draft.definition.value['name']) ?? 'New pipeline'
  const view = viewOf(query)
  const isShown = useIsShown()
  const show = (tab: string) => change({ tab: tab === 'graph' ? undefined : tab })
  const showField = (path: Path) => {
    if (draft.unreadable.peek() !== undefined) show('text')
    else if (view.id !== 'text') show('graph')
    draft.shown.value = path
  }
  const dialog = <SaveDialog draft={draft} onSaved={useOnSaved(draft, id, query)} />
  useFindings(draft, denied === undefined)
  const save = async () => {
    draft.readText?.()
    if (denied !== undefined || draft.readOnly.peek() !== undefined) return
    draft.showsMissing.value = true
    await checkDraft(draft)
    if (!isShown()) return
    const [blocking] = blockingProblems(draft)
    announcement.value = blocking?.message ?? ''
    if (blocking !== undefined) showField(blocking.path)
    else
      openDialog(
        newer === undefined ? dialog : <MergeDialog draft={draft} newer={newer} next={dialog} />,
      )
  }
  useLeaveGuard({
    isNeeded: () => draft.isDirty.peek(),
    loss: () => describeLoss(draft),
    discard: () => forgetDraft(draft),
  })
  useEditorKeys(draft, () => void save(), showField)
  return (
    <>
      <PageHead
        tab={`Edit ${name}`}
        title={<Name text={name} />}
        crumbs={pipelineCrumbs(draft.application)}
        state={<Changes draft={draft} />}
        actions={<Actions draft={draft} run={query['run']} onSave={() => void save()} />}
      />
      <Notes draft={draft} denied={denied} newer={newer} />
      <Held draft={draft} denied={denied} />
      <Problems draft={draft} onShow={showField} onSaveAnyway={() => openDialog(dialog)} />
      <Tabs label="Views of the pipeline" options={views} selected={view.id} onSelect={show}>
        <Lazy key={view.id} load={view.load} props={{ draft }} />
      </Tabs>
    </>
  )
}

/** The server checks what is shown: when it opens, and after a pause in its changes. */
function useFindings(draft: Draft, isAllowed: boolean) {
  const definition = draft.definition.value
  useEffect(() => {
    if (!isAllowed) return
    const timer = setTimeout(() => void checkDraft(draft), pauseMs)
    return () => clearTimeout(timer)
  }, [draft, definition, isAllowed])
}

/** A new pipeline moves to the address that it has now. */
function useOnSaved(
  draft: Draft,
  id: string | undefined,
  { stage, section, tab }: ScreenProps['query'],
) {
  const navigate = useNavigate()
  const isShown = useIsShown()
  return (saved: string) => {
    announcement.value = 'Saved'
    if (saved === id) return
    adoptDraft(draft, saved)
    // The user may have left while it was saved.
    if (isShown())
      navigate(to.editPipeline(draft.application, saved, { stage, section, tab }), true)
  }
}

/** A newer version in the store; one of the same content, or without changes of the user, is taken over. */
function useNewer(draft: Draft, latest: JsonObject | undefined) {
  const stored = draft.stored.value
  const savedAt = (definition: JsonObject | undefined) => numberOf(definition?.['updateTs']) ?? 0
  // An answer from before the last save is not newer.
  const newer = stored !== undefined && savedAt(latest) > savedAt(stored) ? latest : undefined
  const isTaken =
    newer !== undefined && (!draft.isDirty.value || isSameDefinition(newer, stored ?? {}))
  useEffect(() => {
    if (isTaken) draft.rebase(stored ?? {}, newer)
  }, [isTaken, newer])
  return isTaken ? undefined : newer
}

function useEditorKeys(draft: Draft, save: () => void, show: (path: Path) => void) {
  const last = useRef(-1)
  const keys: Readonly<Record<string, (isShifted: boolean) => void>> = {
    'Control+s': save,
    'Control+Enter': () =>
      draft.isDirty.peek() || draft.stored.peek() === undefined ? save() : openStart(draft),
    'Control+z': (isShifted) => (isShifted ? draft.redo() : draft.undo()),
    'Control+y': () => draft.redo(),
    F8: (isShifted) => {
      const problems = draft.problems.peek()
      last.current += isShifted ? -1 : 1
      const problem = problems.at(last.current % problems.length)
      if (problem !== undefined) show(problem.path)
    },
  }
  useKeyDown((event) => {
    const isControl = (event.ctrlKey || event.metaKey) && !event.altKey
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
    const run = keys[isControl ? `Control+${key}` : key]
    // The text view has its own undo, which leads to the same steps.
    const isTextKey =
      isControl &&
      key !== 's' &&
      (event.target as HTMLElement | null)?.closest('.cm-editor') != null
    if (run === undefined || isTextKey || document.querySelector('dialog[open]') !== null) return
    event.preventDefault()
    run(event.shiftKey)
  })
}
