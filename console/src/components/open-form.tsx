/** A dialog of a few fields that are described as data, and one for the secret that may follow. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { refreshMatching } from '../api/live.ts'
import type { Json } from '../model/read.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'
import { FormDialog } from './form-dialog.tsx'
import { Fields, type FieldTable } from './form-fields.tsx'

interface Form<Values extends Json, Answer> {
  /** The action unless given. */
  readonly title?: string
  /** Verb and object, on the button. */
  readonly action: string
  /** What happens, above the fields. */
  readonly effect?: string
  /** At first. */
  readonly values: Values
  readonly fields: FieldTable
  /** Below the fields. */
  readonly warning?: (values: Values) => ComponentChildren
  /** @throws {ApiError} */
  readonly run: (values: Values) => Promise<Answer>
  /** Words of the paths that are read again. */
  readonly refreshes: string
  /** The dialog that follows. */
  readonly next?: (answer: Answer) => VNode
}

export function openForm<Values extends Json, Answer>(form: Form<Values, Answer>): void {
  openDialog(<FieldsDialog {...form} />)
}

function FieldsDialog<Values extends Json, Answer>(form: Form<Values, Answer>) {
  const { action, title = action, effect, fields, warning, run, refreshes, next } = form
  const [values, setValues] = useState(form.values)
  const send = async () => {
    const answer = await run(values)
    refreshMatching(refreshes)
    return next?.(answer)
  }
  return (
    <FormDialog title={title} action={action} isChecked run={send}>
      {effect !== undefined && <p class="prose">{effect}</p>}
      <Fields fields={fields} values={values} onChange={(name, value) => setValues({ ...values, [name]: value })} />
      {warning?.(values)}
    </FormDialog>
  )
}

interface SecretDialogProps {
  /** "secret" or "password". */
  readonly what: string
  readonly of: string
  readonly secret: string
}

/** For what the API gives away once; only the statement that it was stored closes the dialog. */
export function SecretDialog({ what, of, secret }: SecretDialogProps) {
  const footer = (
    <Button kind="primary" onClick={closeDialog}>
      I have stored it
    </Button>
  )
  return (
    <Dialog title={`The ${what} of ${of}`} footer={footer} class="is-narrow" closable={false}>
      <p class="prose">{`This ${what} is shown once. Store it now; Fairlead keeps only its hash.`}</p>
      <p class="secret">
        <code class="grow">{secret}</code>
        <CopyButton text={secret} label={`Copy the ${what}`} />
      </p>
    </Dialog>
  )
}
