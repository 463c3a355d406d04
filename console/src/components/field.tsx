/** A labelled field with its help and its error. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: ComponentChildren
  readonly help?: ComponentChildren
  readonly error?: string | undefined
  readonly required?: boolean
  /** Receives the ids that tie it to label, help and error. */
  readonly children: (tied: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': boolean
    'aria-required': boolean | undefined
  }) => ComponentChildren
}

export function Field({ label, help, error, required, children }: FieldProps) {
  const id = useId()
  const described = [help !== undefined && `${id}-help`, error !== undefined && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </label>
      {children({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': error !== undefined,
        'aria-required': required || undefined,
      })}
      {help !== undefined && (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} class="error">
          {error}
        </p>
      )}
    </div>
  )
}
