/** A box to tick, with what it means. */
import type { ComponentChildren } from 'preact'

export interface CheckProps {
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly children: ComponentChildren
  /** Id of its help. */
  readonly describedBy?: string
}

export function Check({ checked, onChange, children, describedBy }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        aria-describedby={describedBy}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />{' '}
      {children}
    </label>
  )
}
