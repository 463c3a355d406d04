/** A dialog of fields whose answer may lead to another dialog, such as one with a secret. */
import type { ComponentChildren, VNode } from 'preact'
import { useId, useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { describeError, words } from '../words.ts'
import { Banner } from './banner.tsx'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'
import { RequestId } from './states.tsx'

interface FormDialogProps {
  readonly title: string
  /** Verb and object, on the button. */
  readonly action: string
  readonly children: ComponentChildren
  readonly isReady?: boolean
  /** Returns the dialog that follows, if any; a failure is shown, and the fields stay. @throws {ApiError} */
  readonly run: () => Promise<VNode | undefined>
}

export function FormDialog({ title, action, children, isReady = true, run }: FormDialogProps) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const id = useId()
  const submit = async (event: Event) => {
    event.preventDefault()
    if (busy || !isReady) return
    setBusy(true)
    setError(undefined)
    try {
      const next = await run()
      if (next === undefined) closeDialog()
      else openDialog(next)
    } catch (cause) {
      setError(asApiError(cause))
      setBusy(false)
    }
  }
  const footer = (
    <>
      <button type="button" class="button" onClick={closeDialog}>
        {words.cancel}
      </button>
      <button type="submit" form={id} class="button is-primary" aria-disabled={busy || !isReady} aria-busy={busy}>
        {action}
      </button>
    </>
  )
  return (
    <Dialog title={title} footer={footer} class="is-narrow">
      <form id={id} onSubmit={(event) => void submit(event)} noValidate>
        {children}
        {error !== undefined && (
          <Banner tone="failed">
            <strong>{describeError(error).title}</strong> {describeError(error).advice} <RequestId id={error.requestId} />
          </Banner>
        )}
      </form>
    </Dialog>
  )
}
