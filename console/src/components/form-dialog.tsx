/** A dialog of fields whose answer may lead to another dialog, such as one with a secret. */
import type { ComponentChildren, VNode } from 'preact'
import { useId } from 'preact/hooks'
import { words } from '../words.ts'
import { actionLabel, closeDialog, Dialog, openDialog } from './dialog.tsx'
import { FailedAction } from './states.tsx'
import { useSubmit } from './use-submit.ts'

interface FormDialogProps {
  readonly title: string
  /** Verb and object, on the button. */
  readonly action: string
  readonly children: ComponentChildren
  readonly isReady?: boolean
  /** For forms with rows of fields. */
  readonly wide?: boolean
  /** Returns the dialog that follows, if any; a failure is shown, and the fields stay. @throws {ApiError} */
  readonly run: () => Promise<VNode | undefined>
}

export function FormDialog({ title, action, children, isReady = true, wide = false, run }: FormDialogProps) {
  const id = useId()
  const { busy, error, submit } = useSubmit(isReady, async () => {
    const next = await run()
    if (next === undefined) closeDialog()
    else openDialog(next)
  })
  const footer = (
    <>
      <button type="button" class="button" onClick={closeDialog}>
        {words.cancel}
      </button>
      <button type="submit" form={id} class="button is-primary" aria-disabled={busy || !isReady} aria-busy={busy}>
        {actionLabel(action)}
      </button>
    </>
  )
  return (
    <Dialog title={title} footer={footer} class={wide ? '' : 'is-narrow'}>
      <form id={id} onSubmit={submit} noValidate>
        {children}
        {error !== undefined && <FailedAction error={error} />}
      </form>
    </Dialog>
  )
}
