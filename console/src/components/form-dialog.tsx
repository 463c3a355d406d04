/** A dialog of fields whose answer may lead to another dialog, such as one with a secret. */
import type { ComponentChildren, VNode } from 'preact'
import { useId } from 'preact/hooks'
import { Button } from './button.tsx'
import { actionLabel, closeDialog, Dialog, openDialog } from './dialog.tsx'
import { FailedAction } from './states.tsx'
import { useSubmit } from './use-submit.ts'

interface FormDialogProps {
  readonly title: string
  /** Verb and object: what is done, and what the button says unless it has another label. */
  readonly action: string
  readonly submitLabel?: string
  readonly kind?: 'primary' | 'destructive'
  /** On the button that changes nothing. */
  readonly dismissal?: string
  readonly children: ComponentChildren
  /** Without it the button does nothing. */
  readonly isReady?: boolean
  /** Whether the fields may be sent; those that are wrong say so once that was tried. */
  readonly isValid?: boolean
  /** The browser checks the fields as well. */
  readonly isChecked?: boolean
  readonly onTried?: () => void
  /** When the user leaves it. */
  readonly onClose?: () => void
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
  const { title, action, children, onTried, onClose = closeDialog, wide = false, run } = props
  const { submitLabel = actionLabel(action), kind = 'primary', dismissal = 'Cancel' } = props
  const { isReady = true, isValid = true, isChecked = false } = props
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
  const onSubmit = (event: Event) => {
    onTried?.()
    submit(event)
  }
  const footer = (
    <>
      <Button onClick={onClose}>{dismissal}</Button>
      <Button type="submit" form={id} kind={kind} aria-disabled={busy || !isReady} aria-busy={busy}>
        {submitLabel}
      </Button>
    </>
  )
  return (
    <Dialog title={title} footer={footer} onClose={onClose} class={wide ? '' : 'is-narrow'}>
      <form id={id} onSubmit={onSubmit} noValidate={!isChecked}>
        {children}
        {error !== undefined && <FailedAction error={error} />}
      </form>
    </Dialog>
  )
}
