/** What can be done with a stored pipeline as a whole: copy, rename, disable, delete. */
import { useState } from 'preact/hooks'
import { to } from '../address.ts'
import { actionHeaders, client, unwrap } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Field } from '../components/field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { showHidden } from '../model/names.ts'
import { type Json, textOf } from '../model/read.ts'
import { sendDefinition } from './send-definition.ts'
import { words } from './words.ts'

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

export function pipelineActions({
  application,
  pipeline,
  denied,
  isEditing,
  order,
  onDeleted,
}: PipelineActions): readonly MenuItem[] {
  const name = textOf(pipeline['name']) ?? ''
  const id = textOf(pipeline['id']) ?? name
  const isDisabled = pipeline['disabled'] === true
  const change = (edit: (stored: Json) => Json) => changeStored(application, id, edit)
  return [
    ...(isEditing ? [] : [{ label: words.editIt, icon: 'edit' as const, letter: 'e', href: to.editPipeline(application, id) }]),
    { label: words.history, icon: 'clock', letter: 'h', href: to.editPipeline(application, id, { tab: 'history' }) },
    {
      label: words.copyIt,
      icon: 'copy',
      ...(denied === undefined ? { href: to.newPipeline(application, { from: id }) } : { denied }),
    },
    ...(isEditing
      ? []
      : [
          {
            label: words.rename,
            icon: 'edit' as const,
            denied,
            onSelect: () =>
              openDialog(<RenameDialog name={name} onRename={(next) => change((stored) => ({ ...stored, name: next }))} />),
          },
        ]),
    {
      label: isDisabled ? words.enable : words.disable,
      icon: 'power',
      denied,
      onSelect: () =>
        isDisabled
          ? confirm({
              title: words.enableTitle(name),
              effect: words.enableEffect,
              action: words.enableAction(name),
              level: 1,
              run: () => change((stored) => ({ ...stored, disabled: false })),
            })
          : confirm({
              title: words.disableTitle(name),
              effect: words.disableEffect(name),
              action: words.disableAction(name),
              level: 1,
              run: () => change((stored) => ({ ...stored, disabled: true })),
            }),
    },
    ...moves({ application, name, id, order, denied }),
    {
      label: words.deleteIt,
      icon: 'trash',
      destructive: true,
      denied,
      onSelect: () =>
        confirm({
          title: words.deleteTitle(name),
          effect: words.deleteEffect,
          action: words.deleteAction(name),
          level: 2,
          // A name that is long or cannot be typed is not asked for.
          ...(name.length <= 60 && showHidden(name) === name && { typed: name.trim() }),
          destructive: true,
          run: async (isOpen) => {
            await deletePipeline(application, name)
            if (isOpen()) onDeleted?.()
          },
        }),
    },
  ]
}

type Moved = Pick<PipelineActions, 'application' | 'order' | 'denied'> & { readonly name: string; readonly id: string }

function moves({ application, name, id, order, denied }: Moved): readonly MenuItem[] {
  const at = order?.indexOf(id) ?? -1
  if (order === undefined || at < 0) return []
  const move = (by: -1 | 1) => () =>
    act(words.moveIt(name), () => reorder(application, order.toSpliced(at, 1).toSpliced(at + by, 0, id)))
  return [
    ...(at > 0 ? [{ label: words.moveUpList, icon: 'up' as const, denied, onSelect: move(-1) }] : []),
    ...(at < order.length - 1 ? [{ label: words.moveDownList, icon: 'down' as const, denied, onSelect: move(1) }] : []),
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
    <FormDialog title={words.renameTitle(name)} action={words.rename} isReady={isReady} run={run}>
      <Field label={words.name} help={words.renameHelp}>
        {(tied) => <input {...tied} value={next} autoComplete="off" onInput={(event) => setNext(event.currentTarget.value)} />}
      </Field>
    </FormDialog>
  )
}

/** On what is stored now; a save between the read and this one is refused. @throws {ApiError} */
async function changeStored(application: string, id: string, edit: (stored: Json) => Json): Promise<void> {
  const all = await unwrap(client.GET('/applications/{application}/pipelineConfigs', { params: { path: { application } } }))
  const stored = all.find((pipeline) => pipeline.id === id) as Json | undefined
  if (stored !== undefined) await sendDefinition(edit(stored))
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
