/** A list or graph with what is chosen in it: side by side on wide screens, the chosen one as a page of its own on narrow ones. */
import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

interface BesideProps {
  readonly children: ComponentChildren
  /** What is chosen; undefined leaves the whole width to the rest. */
  readonly side: ComponentChildren | undefined
  /** Names the region of the chosen thing. */
  readonly label: string
  /** The address without a choice: the way back on narrow screens. */
  readonly back: { readonly href: string; readonly label: string }
}

export function Beside({ children, side, label, back }: BesideProps) {
  const hasSide = side !== undefined && side !== null && side !== false
  return (
    <div class={`beside ${hasSide ? 'has-side' : ''}`}>
      <div class="beside-main">{children}</div>
      {hasSide && (
        <aside class="beside-side" aria-label={label}>
          <a class="beside-back" href={back.href}>
            <Icon name="left" /> {back.label}
          </a>
          {side}
        </aside>
      )}
    </div>
  )
}
