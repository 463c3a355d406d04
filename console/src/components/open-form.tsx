/** A dialog of a few fields that are described as data. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { refreshMatching } from '../api/live.ts'
import { openDialog } from './dialog.tsx'
import { FormDialog } from './form-dialog.tsx'
import { CheckField, type Choice, ChoiceField, TextField, type TextFieldProps } from './form-fields.tsx'

type FieldOfForm = Pick<TextFieldProps, 'label' | 'help' | 'required' | 'input'> & { readonly choices?: readonly Choice[] }

interface Form<Values extends Readonly<Record<string, string | boolean>>, Answer> {
  readonly title: string
  /** Verb and object, on the button. */
  readonly action: string
  /** What happens, above the fields. */
  readonly effect?: string
  /** At first. One that is true or false is a checkbox. */
  readonly values: Values
  readonly fields: { readonly [Name in keyof Values]?: FieldOfForm }
  /** Below the fields. */
  readonly warning?: (values: Values) => ComponentChildren
  /** @throws {ApiError} */
  readonly run: (values: Values) => Promise<Answer>
  /** Words of the paths that are read again. */
  readonly refreshes: string
  /** The dialog that follows. */
  readonly next?: (answer: Answer) => VNode
}

export function openForm<Values extends Readonly<Record<string, string | boolean>>, Answer>(form: Form<Values, Answer>): void {
  openDialog(<FieldsDialog {...form} />)
}

function FieldsDialog<Values extends Readonly<Record<string, string | boolean>>, Answer>(form: Form<Values, Answer>) {
  const { title, action, effect, fields, warning, run, refreshes, next } = form
  const [values, setValues] = useState(form.values)
  const send = async () => {
    const answer = await run(values)
    refreshMatching(refreshes)
    return next?.(answer)
  }
  return (
    <FormDialog title={title} action={action} isChecked run={send}>
      {effect !== undefined && <p class="prose">{effect}</p>}
      {(Object.entries(fields) as [string, FieldOfForm][]).map(([name, { choices, ...field }]) => {
        const value = values[name]
        const set = (changed: string | boolean) => setValues({ ...values, [name]: changed })
        if (typeof value === 'boolean') return <CheckField key={name} label={field.label} checked={value} onChange={set} />
        const tied = { ...field, value: value ?? '', onChange: set }
        return choices === undefined ? <TextField key={name} {...tied} /> : <ChoiceField key={name} {...tied} choices={choices} />
      })}
      {warning?.(values)}
    </FormDialog>
  )
}
