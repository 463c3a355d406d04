/** A dialog of fields: sent once at a time, and after a failure the fields stay. Another dialog may follow, such as one with a secret. */
import type { ComponentChildren, VNode } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { cutMiddle } from '../model/names.ts'
import { Button } from './button.tsx'
import { closeDialog, closerOfDialog, Dialog, openDialog } from './dialog.tsx'
import { reportFailure } from './notices.tsx'
import { FailedAction } from './screen.tsx'

/** Longest label of a button that holds a name. */
const maxLabel = 80

/** What follows when it is done. */
export interface Outcome<Answer> {
  /** Words of the paths that are read again. */
  readonly refreshes?: string
  /** The dialog that follows, also where the user has closed this one meanwhile. */
  readonly next?: (answer: Answer) => VNode | undefined
  /** Leads to another page, unless the user has closed the dialog meanwhile. */
  readonly onDone?: (answer: Answer) => void
}

interface FormDialogProps<Answer> extends Outcome<Answer> {
  /** Verb and object: what is done, and what the button says unless it has another label. */
  readonly action: string
  /** The action unless given. */
  readonly title?: string
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
  /** @throws {ApiError} */
  readonly run: () => Promise<Answer>
}

export function FormDialog<Answer>(props: FormDialogProps<Answer>) {
  const { action, title = action, children, onTried, onClose = closeDialog, wide = false } = props
  const {
    submitLabel = cutMiddle(action, maxLabel),
    kind = 'primary',
    dismissal = 'Cancel',
  } = props
  const { isReady = true, isValid = true, isChecked = false } = props
  const id = useId()
  const run = async (isOpen: () => boolean) => {
    const close = closerOfDialog()
    const answer = await props.run()
    if (props.refreshes !== undefined) refreshMatching(props.refreshes)
    const next = props.next?.(answer)
    if (next !== undefined) openDialog(next)
    else if (isOpen()) {
      props.onDone?.(answer)
      close()
    }
  }
  const { busy, error, submit } = useSubmit({ what: action, isReady: isReady && isValid, run })
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

interface SubmitOptions {
  /** What is done, for the page when it fails after the form was left. */
  readonly what: string
  readonly isReady: boolean
  /** @throws {ApiError} */
  readonly run: (isOpen: () => boolean) => Promise<void>
}

export function useSubmit({ what, isReady, run }: SubmitOptions) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const isOpen = useIsShown()
  const submit = async (event: Event) => {
    event.preventDefault()
    if (busy || !isReady) return
    setBusy(true)
    setError(undefined)
    try {
      await run(isOpen)
    } catch (cause) {
      if (!isOpen()) return reportFailure(what, cause)
      const failure = asApiError(cause)
      if (failure.status === 403) refreshMatching('/auth/explain')
      setError(failure)
    }
    setBusy(false)
  }
  return { busy, error, submit: (event: Event) => void submit(event) }
}

/** Whether the component is still in the page: what it waited for may come later. */
export function useIsShown(): () => boolean {
  const isShown = useRef(true)
  useLayoutEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  return () => isShown.current
}
