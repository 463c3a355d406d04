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
  const { application, pipeline, denied, isEditing = false, onDeleted } = options
  const name = textOf(pipeline['name']) ?? ''
  const id = textOf(pipeline['id']) ?? name
  const change = (changes: Json) => changeStored(application, id, changes)
  const own: readonly MenuItem[] = [
    { label: 'Edit', icon: 'edit', letter: 'e', href: to.editPipeline(application, id) },
    { label: 'Rename', icon: 'edit', denied, onSelect: () => openDialog(<RenameDialog name={name} onRename={change} />) },
  ]
  return [
    ...(isEditing ? [] : own),
    { label: 'History', icon: 'clock', letter: 'h', href: to.editPipeline(application, id, { tab: 'history' }) },
    { label: 'Copy …', icon: 'copy', denied, href: to.newPipeline(application, { from: id }) },
    switchAction(name, pipeline['disabled'] === true, denied, change),
    ...moves({ ...options, name, id }),
    {
      label: 'Delete',
      icon: 'trash',
      destructive: true,
      denied,
      onSelect: () => confirmDeletion(application, name, onDeleted),
    },
  ]
}

type Change = (changes: Json) => Promise<void>

function switchAction(name: string, isDisabled: boolean, denied: string | undefined, change: Change): MenuItem {
  const verb = isDisabled ? 'Enable' : 'Disable'
  const effect = isDisabled
    ? 'Users may start it, and its triggers do.'
    : `Neither users nor triggers of ${name} start it. Running executions continue.`
  const run = () => change({ disabled: !isDisabled })
  const onSelect = () => confirm({ title: `${verb} ${name}?`, effect, action: `${verb} ${name}`, run })
  return { label: verb, icon: 'power', denied, onSelect }
}

function confirmDeletion(application: string, name: string, onDeleted: (() => void) | undefined): void {
  confirm({
    title: `Delete ${name}?`,
    effect: 'Its triggers start nothing more. Its executions stay until they expire. The pipeline cannot be restored.',
    action: `Delete ${name}`,
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
  const move = (label: string, icon: 'up' | 'down', next: number): MenuItem => {
    const run = () => reorder(application, order.toSpliced(at, 1).toSpliced(next, 0, id))
    return { label, icon, denied, onSelect: () => act(`Move ${name}`, run) }
  }
  return [
    ...(at > 0 ? [move('Move up', 'up', at - 1)] : []),
    ...(at < order.length - 1 ? [move('Move down', 'down', at + 1)] : []),
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

function RenameDialog({ name, onRename }: { name: string; onRename: Change }) {
  const [next, setNext] = useState(name)
  const isReady = next.trim() !== '' && next.trim() !== name
  const run = async () => {
    await onRename({ name: next.trim() })
    return undefined
  }
  return (
    <FormDialog title={`Rename ${name}`} action="Rename" isReady={isReady} run={run}>
      <TextField
        label="Name"
        help="Its executions keep the name that they had. Triggers and stages find it by its id."
        value={next}
        onChange={setNext}
      />
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
