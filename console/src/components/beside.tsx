/** A list or graph with what is chosen in it: side by side on wide screens, the chosen one as a page of its own on narrow ones. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Icon } from './text.tsx'
import { useWide } from './use-phone.ts'

interface BesideProps {
  readonly children: ComponentChildren
  /** What is chosen; nothing leaves the whole width to the rest. */
  readonly side: ComponentChildren
  /** Names the region of the chosen thing. */
  readonly label: string
  /** The address without a choice: the way back on narrow screens, and by Esc. */
  readonly back: { readonly href: string; readonly label: string }
}

export function Beside({ children, side, label, back }: BesideProps) {
  const { route: navigate } = useLocation()
  const hasSide = side !== undefined && side !== null && side !== false
  const aside = useRef<HTMLElement>(null)
  const isWide = useWide()
  const isOpened = useRef(false)
  // Where it takes the place of the list, the reader goes on there; beside the list, the focus stays.
  useEffect(() => {
    if (isOpened.current && hasSide && !isWide) aside.current?.focus()
    isOpened.current = true
  }, [hasSide, label])
  // Esc closes what is chosen, after menus, dialogs and fields have had it.
  useEffect(() => {
    const onKey = ({ key, target, defaultPrevented }: KeyboardEvent) => {
      if (!hasSide || key !== 'Escape' || defaultPrevented) return
      const isElsewhere = (target as Element).closest?.('input, textarea, select, .cm-editor')
      if (!isElsewhere && document.querySelector('dialog[open], [role="menu"]') === null) navigate(back.href, true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
  return (
    <div class={`beside ${hasSide ? 'has-side' : ''}`}>
      <div class="beside-main">{children}</div>
      {hasSide && (
        <aside class="beside-side" aria-label={label} tabIndex={-1} ref={aside}>
          <a class="beside-back" href={back.href}>
            <Icon name="left" /> {back.label}
          </a>
          {side}
        </aside>
      )}
    </div>
  )
}
