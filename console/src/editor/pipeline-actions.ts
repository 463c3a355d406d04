/** What can be done with a stored pipeline as a whole: copy, rename, disable, move, delete. */

import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import { to } from '../address.ts'
import { client } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import type { IconName } from '../components/text.tsx'
import { showHidden } from '../model/names.ts'
import { readDefinition, releaseHeld, sendDefinition } from './store.ts'

export interface PipelineActions {
  readonly application: string
  readonly pipeline: JsonObject
  readonly denied: string | undefined
  readonly isEditing?: boolean
  /** Whether a part of it waits for a user with the right. */
  readonly isHeld?: boolean
  /** Ids of all pipelines of the application in their order, where this one can be moved among them. */
  readonly order?: readonly string[]
  readonly onDeleted?: () => void
}

export function pipelineActions(options: PipelineActions): readonly MenuItem[] {
  const {
    application,
    pipeline,
    denied,
    isEditing = false,
    isHeld = false,
    order = [],
    onDeleted,
  } = options
  const name = scalarOf(pipeline['name']) ?? ''
  const id = scalarOf(pipeline['id']) ?? name
  const isDisabled = pipeline['disabled'] === true
  // On what is stored now; a save between the read and this one is refused.
  const change = async (changes: JsonObject) =>
    sendDefinition({ ...(await readDefinition(application, id)), ...changes })
  const item = (label: string, icon: IconName, onSelect: () => void): MenuItem => ({
    label,
    icon,
    denied,
    onSelect,
  })
  const at = order.indexOf(id)
  const move = (label: string, icon: IconName, place: number) => {
    if (at < 0 || order[place] === undefined) return []
    const next = order.toSpliced(at, 1).toSpliced(place, 0, id)
    const body = {
      application,
      idsToIndices: Object.fromEntries(next.map((each, index) => [each, index])),
    }
    const send = () => client.POST('/actions/pipelines/reorder', { body })
    return [
      item(label, icon, () =>
        act(`Move ${name}`, () => send().finally(() => refreshMatching(refreshes))),
      ),
    ]
  }
  const edit: MenuItem = {
    label: 'Edit',
    icon: 'edit',
    letter: 'e',
    href: to.editPipeline(application, id),
  }
  return [
    ...(isHeld ? [item('Release', 'check', () => release(name, id))] : []),
    ...(isEditing ? [] : [edit, item('Rename', 'edit', () => openRename(name, change))]),
    {
      label: 'History',
      icon: 'clock',
      letter: 'h',
      href: to.editPipeline(application, id, { tab: 'history' }),
    },
    { label: 'Copy …', icon: 'copy', denied, href: to.newPipeline(application, { from: id }) },
    item(isDisabled ? 'Enable' : 'Disable', 'power', () => confirmSwitch(name, isDisabled, change)),
    ...move('Move up', 'up', at - 1),
    ...move('Move down', 'down', at + 1),
    {
      ...item('Delete', 'trash', () => confirmDeletion(application, name, onDeleted)),
      destructive: true,
    },
  ]
}

/** Without a question: what it takes over stands beside the button. */
export function release(name: string, id: string): void {
  act(`Release ${name}`, () => releaseHeld(name, id))
}

type Change = (changes: JsonObject) => Promise<void>
const refreshes = 'pipelineConfigs'

function openRename(name: string, change: Change) {
  confirm({
    title: `Rename ${name}`,
    action: 'Rename',
    effect: 'Its executions keep the name that they had. Triggers and stages find it by its id.',
    values: { name },
    fields: { name: { label: 'Name', required: true } },
    run: (values) => change({ name: values.name.trim() }),
    refreshes,
  })
}

function confirmSwitch(name: string, isDisabled: boolean, change: Change) {
  const action = `${isDisabled ? 'Enable' : 'Disable'} ${name}`
  const effect = isDisabled
    ? 'Users may start it, and its triggers do.'
    : `Neither users nor triggers of ${name} start it. Running executions continue.`
  confirm({ effect, action, run: () => change({ disabled: !isDisabled }), refreshes })
}

function confirmDeletion(application: string, name: string, onDeleted?: () => void) {
  const params = { path: { application, pipelineName: name } }
  confirm({
    effect:
      'Its triggers start nothing more. Its executions stay until they expire. The pipeline cannot be restored.',
    action: `Delete ${name}`,
    level: 2,
    // A name that is long or cannot be typed is not asked for.
    ...(name.length <= 60 && showHidden(name) === name && { typed: name.trim() }),
    destructive: true,
    run: () => client.DELETE('/pipelines/{application}/{pipelineName}', { params }),
    refreshes,
    onDone: () => onDeleted?.(),
  })
}
