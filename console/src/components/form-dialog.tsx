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
  /** Without it the button does nothing. */
  readonly isReady?: boolean
  /** Whether the fields may be sent; those that are wrong say so once that was tried. */
  readonly isValid?: boolean
  readonly onTried?: () => void
  /** For forms with rows of fields. */
  readonly wide?: boolean
  /**
   * Returns the dialog that follows, if any; a failure is shown, and the fields stay. Where the user has closed the dialog meanwhile,
   * it leads to no other page.
   *
   * @throws {ApiError}
   */
  readonly run: (isOpen: () => boolean) => Promise<VNode | undefined>
}

export function FormDialog(props: FormDialogProps) {
  const { title, action, children, isReady = true, isValid = true, onTried, wide = false, run } = props
  const id = useId()
  const { busy, error, submit } = useSubmit({
    what: action,
    isReady: isReady && isValid,
    run: async (isOpen) => {
      const next = await run(isOpen)
      // A secret is shown once, whatever the user does by now.
      if (next !== undefined) openDialog(next)
      else if (isOpen()) closeDialog()
    },
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
      <form
        id={id}
        onSubmit={(event) => {
          onTried?.()
          submit(event)
        }}
        noValidate
      >
        {children}
        {error !== undefined && <FailedAction error={error} />}
      </form>
    </Dialog>
  )
}
