/** A button for what needs a right: without it the button stays in view, and says why it does nothing. */
import type { ComponentChildren } from 'preact'
import type { Right } from '../api/rights.ts'

interface RightButtonProps {
  readonly right: Right
  readonly onClick: () => void
  readonly class?: string
  readonly children: ComponentChildren
}

export function RightButton({ right, onClick, class: style = '', children }: RightButtonProps) {
  return (
    <button
      type="button"
      class={`button ${style}`}
      aria-disabled={!right.allowed}
      title={right.reason}
      onClick={() => right.allowed && onClick()}
    >
      {children}
    </button>
  )
}
