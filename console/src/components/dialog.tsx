/** Dialogs: one at a time, above the unchanged page. The browser keeps the focus inside and gives it back. */
import { signal } from '@preact/signals'
import { type ComponentChildren, Fragment, type VNode } from 'preact'
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { cutMiddle } from '../model/names.ts'
import { IconButton } from './button.tsx'

const maxTitle = 160

const opened = signal<VNode | undefined>(undefined)

/** Shows a component that renders a `Dialog`. @returns What closes it, and no other that was opened since */
export function openDialog(dialog: VNode): () => void {
  opened.value = dialog
  return closerOfDialog()
}

/** What closes the open dialog, and no other that was opened since. */
export function closerOfDialog(): () => void {
  const dialog = opened.peek()
  return () => {
    if (opened.peek() === dialog) closeDialog()
  }
}

export function closeDialog(): void {
  opened.value = undefined
}

/** Runs on the way to another page. What only its buttons close stays, such as a secret. */
export function closeDialogOfPage(): void {
  if (document.querySelector('dialog[open][data-stays]') === null) closeDialog()
}

/** The place of dialogs, in the frame of the page. */
export function DialogOutlet() {
  const dialog = opened.value
  const number = useRef(0)
  // One that follows another of its kind begins without the values of the former.
  const key = useMemo(() => ++number.current, [dialog])
  return <Fragment key={key}>{dialog}</Fragment>
}

interface DialogProps {
  readonly title: ComponentChildren
  readonly children: ComponentChildren
  /** Buttons. */
  readonly footer?: ComponentChildren
  readonly onClose?: () => void
  readonly class?: string
  /** Without it only the buttons close the dialog. */
  readonly closable?: boolean
}

export function Dialog({
  title,
  children,
  footer,
  onClose = closeDialog,
  class: style = '',
  closable = true,
}: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Before the next key: what is typed at once belongs to the dialog.
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    // A field, else the button that changes nothing, which comes first.
    const field = dialog?.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea)')
    const focused = field ?? dialog?.querySelector<HTMLElement>('.dialog-foot :is(button, a)')
    focused?.focus()
    return () => dialog?.close()
  }, [])
  const onCancel = (event: Event) => {
    event.preventDefault()
    if (closable) onClose()
  }
  // After the fields have said what is wrong with them.
  const onSubmit = () =>
    requestAnimationFrame(() =>
      element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    )
  return (
    <dialog
      ref={element}
      class={`dialog ${style}`}
      aria-labelledby={id}
      data-stays={!closable || undefined}
      onCancel={onCancel}
      onSubmit={onSubmit}
      onKeyDown={submitByKey}
    >
      <header class="dialog-head">
        <h2 id={id}>{typeof title === 'string' ? cutMiddle(title, maxTitle) : title}</h2>
        {closable && <IconButton icon="close" label="Close" onClick={onClose} />}
      </header>
      <div class="dialog-body">{children}</div>
      {footer !== undefined && <footer class="dialog-foot">{footer}</footer>}
    </dialog>
  )
}

/** Ctrl Enter sends the form of the dialog from wherever the focus is, also from a field of several lines. */
function submitByKey(event: KeyboardEvent) {
  const form = (event.currentTarget as HTMLElement).querySelector('form')
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || form === null) return
  event.preventDefault()
  form.requestSubmit()
}
