/** What can be done with a stored pipeline as a whole: copy, rename, disable, move, delete. */
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
import { readDefinition, sendDefinition } from './store.ts'

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
  const { application, pipeline, denied, isEditing = false, order = [], onDeleted } = options
  const name = textOf(pipeline['name']) ?? ''
  const id = textOf(pipeline['id']) ?? name
  const change = async (changes: Json) => {
    // On what is stored now; a save between the read and this one is refused.
    await sendDefinition({ ...(await readDefinition(application, id)), ...changes })
    refreshMatching('pipelineConfigs')
  }
  const at = order.indexOf(id)
  const move = (label: string, icon: 'up' | 'down', next: number): MenuItem[] => {
    if (at < 0 || order[next] === undefined) return []
    const run = () => reorder(application, order.toSpliced(at, 1).toSpliced(next, 0, id))
    return [{ label, icon, denied, onSelect: () => act(`Move ${name}`, run) }]
  }
  const rename = () => openDialog(<RenameDialog name={name} onRename={(next) => change({ name: next })} />)
  const remove = () => confirmDeletion(application, name, onDeleted)
  const own: readonly MenuItem[] = [
    { label: 'Edit', icon: 'edit', letter: 'e', href: to.editPipeline(application, id) },
    { label: 'Rename', icon: 'edit', denied, onSelect: rename },
  ]
  return [
    ...(isEditing ? [] : own),
    { label: 'History', icon: 'clock', letter: 'h', href: to.editPipeline(application, id, { tab: 'history' }) },
    { label: 'Copy …', icon: 'copy', denied, href: to.newPipeline(application, { from: id }) },
    switchAction(name, pipeline['disabled'] === true, denied, change),
    ...move('Move up', 'up', at - 1),
    ...move('Move down', 'down', at + 1),
    { label: 'Delete', icon: 'trash', destructive: true, denied, onSelect: remove },
  ]
}

function switchAction(
  name: string,
  isDisabled: boolean,
  denied: string | undefined,
  change: (changes: Json) => Promise<void>,
): MenuItem {
  const verb = isDisabled ? 'Enable' : 'Disable'
  const effect = isDisabled
    ? 'Users may start it, and its triggers do.'
    : `Neither users nor triggers of ${name} start it. Running executions continue.`
  const run = () => change({ disabled: !isDisabled })
  const onSelect = () => confirm({ title: `${verb} ${name}?`, effect, action: `${verb} ${name}`, run })
  return { label: verb, icon: 'power', denied, onSelect }
}

function confirmDeletion(application: string, name: string, onDeleted: (() => void) | undefined): void {
  const params = { path: { application, pipelineName: name } }
  confirm({
    title: `Delete ${name}?`,
    effect: 'Its triggers start nothing more. Its executions stay until they expire. The pipeline cannot be restored.',
    action: `Delete ${name}`,
    level: 2,
    // A name that is long or cannot be typed is not asked for.
    ...(name.length <= 60 && showHidden(name) === name && { typed: name.trim() }),
    destructive: true,
    run: async (isOpen) => {
      await unwrap(client.DELETE('/pipelines/{application}/{pipelineName}', { params, headers: actionHeaders }))
      refreshMatching('pipelineConfigs')
      if (isOpen()) onDeleted?.()
    },
  })
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

function RenameDialog({ name, onRename }: { name: string; onRename: (next: string) => Promise<void> }) {
  const [next, setNext] = useState(name)
  const run = async () => {
    await onRename(next.trim())
    return undefined
  }
  return (
    <FormDialog title={`Rename ${name}`} action="Rename" isReady={!['', name].includes(next.trim())} run={run}>
      <TextField
        label="Name"
        help="Its executions keep the name that they had. Triggers and stages find it by its id."
        value={next}
        onChange={setNext}
      />
    </FormDialog>
  )
}
