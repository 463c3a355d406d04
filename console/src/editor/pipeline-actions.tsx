/** What can be done with a stored pipeline as a whole: copy, rename, disable, delete. */

import { useState } from 'preact/hooks'
import { to } from '../address.ts'
import { actionHeaders, client, unwrap } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import { openDialog } from '../components/dialog.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { TextField } from '../components/form-fields.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { showHidden } from '../model/names.ts'
import { type Json, textOf } from '../model/read.ts'
import { sendDefinition } from './send-definition.ts'
import { editorWords } from './words.ts'

interface PipelineActions {
  readonly application: string
  readonly pipeline: Json
  /** Why the user may not change it. */
  readonly denied: string | undefined
  /** In the editor, which changes the name itself. */
  readonly isEditing?: boolean
  /** Ids of all pipelines of the application in their order, where this one can be moved among them. */
  readonly order?: readonly string[] | undefined
  readonly onDeleted?: () => void
}

export function pipelineActions(options: PipelineActions): readonly MenuItem[] {
  const { application, pipeline, denied, isEditing = false, order, onDeleted } = options
  const name = textOf(pipeline['name']) ?? ''
  const id = textOf(pipeline['id']) ?? name
  const isDisabled = pipeline['disabled'] === true
  const change = (changes: Json) => changeStored(application, id, changes)
  const edit: MenuItem = { label: editorWords.editIt, icon: 'edit', letter: 'e', href: to.editPipeline(application, id) }
  const copy = denied === undefined ? { href: to.newPipeline(application, { from: id }) } : { denied }
  const askName = () => openDialog(<RenameDialog name={name} onRename={(next) => change({ name: next })} />)
  const rename: MenuItem = { label: editorWords.rename, icon: 'edit', denied, onSelect: askName }
  return [
    ...(isEditing ? [] : [edit]),
    { label: editorWords.history, icon: 'clock', letter: 'h', href: to.editPipeline(application, id, { tab: 'history' }) },
    { label: editorWords.copyIt, icon: 'copy', ...copy },
    ...(isEditing ? [] : [rename]),
    {
      label: isDisabled ? editorWords.enable : editorWords.disable,
      icon: 'power',
      denied,
      onSelect: () => confirmSwitch(name, isDisabled, () => change({ disabled: !isDisabled })),
    },
    ...moves({ application, name, id, order, denied }),
    {
      label: editorWords.deleteIt,
      icon: 'trash',
      destructive: true,
      denied,
      onSelect: () => confirmDeletion(application, name, onDeleted),
    },
  ]
}

function confirmSwitch(name: string, isDisabled: boolean, run: () => Promise<void>): void {
  confirm({
    title: isDisabled ? editorWords.enableTitle(name) : editorWords.disableTitle(name),
    effect: isDisabled ? editorWords.enableEffect : editorWords.disableEffect(name),
    action: isDisabled ? editorWords.enableAction(name) : editorWords.disableAction(name),
    run,
  })
}

function confirmDeletion(application: string, name: string, onDeleted: (() => void) | undefined): void {
  confirm({
    title: editorWords.deleteTitle(name),
    effect: editorWords.deleteEffect,
    action: editorWords.deleteAction(name),
    level: 2,
    // A name that is long or cannot be typed is not asked for.
    ...(name.length <= 60 && showHidden(name) === name && { typed: name.trim() }),
    destructive: true,
    run: async (isOpen) => {
      await deletePipeline(application, name)
      if (isOpen()) onDeleted?.()
    },
  })
}

type Moved = Pick<PipelineActions, 'application' | 'order' | 'denied'> & { readonly name: string; readonly id: string }

function moves({ application, name, id, order, denied }: Moved): readonly MenuItem[] {
  const at = order?.indexOf(id) ?? -1
  if (order === undefined || at < 0) return []
  const move = (by: -1 | 1) => () =>
    act(editorWords.moveIt(name), () => reorder(application, order.toSpliced(at, 1).toSpliced(at + by, 0, id)))
  return [
    ...(at > 0 ? [{ label: editorWords.moveUpList, icon: 'up' as const, denied, onSelect: move(-1) }] : []),
    ...(at < order.length - 1 ? [{ label: editorWords.moveDownList, icon: 'down' as const, denied, onSelect: move(1) }] : []),
  ]
}

/** @throws {ApiError} */
async function reorder(application: string, order: readonly string[]): Promise<void> {
  const idsToIndices = Object.fromEntries(order.map((id, index) => [id, index]))
  try {
    await unwrap(client.POST('/actions/pipelines/reorder', { headers: actionHeaders, body: { application, idsToIndices } }))
  } finally {
    refreshMatching('pipelineConfigs')
  }
}

function RenameDialog({ name, onRename }: { name: string; onRename: (name: string) => Promise<void> }) {
  const [next, setNext] = useState(name)
  const isReady = next.trim() !== '' && next.trim() !== name
  const run = async () => {
    await onRename(next.trim())
    return undefined
  }
  return (
    <FormDialog title={editorWords.renameTitle(name)} action={editorWords.rename} isReady={isReady} run={run}>
      <TextField label={editorWords.name} help={editorWords.renameHelp} value={next} onChange={setNext} />
    </FormDialog>
  )
}

/** On what is stored now; a save between the read and this one is refused. @throws {ApiError} */
async function changeStored(application: string, id: string, changes: Json): Promise<void> {
  const all = await unwrap(client.GET('/applications/{application}/pipelineConfigs', { params: { path: { application } } }))
  const stored = all.find((pipeline) => pipeline.id === id) as Json | undefined
  if (stored !== undefined) await sendDefinition({ ...stored, ...changes })
  refreshMatching('pipelineConfigs')
}

/** @throws {ApiError} */
async function deletePipeline(application: string, pipelineName: string): Promise<void> {
  await unwrap(
    client.DELETE('/pipelines/{application}/{pipelineName}', {
      params: { path: { application, pipelineName } },
      headers: actionHeaders,
    }),
  )
  refreshMatching('pipelineConfigs')
}
