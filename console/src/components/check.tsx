/** A box to tick, with what it means. */
import type { ComponentChildren } from 'preact'

export interface CheckProps {
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly children: ComponentChildren
}

export function Check({ checked, onChange, children }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} /> {children}
    </label>
  )
}
