/** A button that opens a list of actions. @see WAI-ARIA Authoring Practices, menu button */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useNavigate } from '../address.ts'
import { pressedDenied } from '../api/rights.ts'
import { letterEvent } from '../letter-keys.ts'
import { Icon, type IconName } from './text.tsx'

export interface MenuItem {
  readonly label: string
  readonly icon?: IconName
  readonly onSelect?: () => void
  readonly href?: string
  /** Stands last, apart from the others. */
  readonly destructive?: boolean
  /** Why it is not offered; the item stays visible. */
  readonly denied?: string
  /** A letter that selects it from the row of the menu. */
  readonly letter?: string
  /** Whether it is the chosen one of several. */
  readonly checked?: boolean
}

interface MenuProps {
  readonly label?: string
  readonly items: readonly MenuItem[]
  /** The content of the button; three dots unless given. */
  readonly children?: ComponentChildren
  readonly class?: string
  /** Above the items. */
  readonly head?: ComponentChildren
}

/** Whose row has just left a list while it was open: it is open again where the row comes into another one. */
let moved: string | undefined

export function Menu({ label, items, children, class: style = 'icon-button', head }: MenuProps) {
  // The content of the button names it, unless there is none.
  const name = label ?? (children === undefined ? 'More actions' : undefined)
  const [open, setOpen] = useState(false)
  // What leaves together with its row is not drawn once more.
  const isOpen = useRef(false)
  const show = (wanted: boolean) => {
    isOpen.current = wanted
    setOpen(wanted)
  }
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const close = () => {
    show(false)
    button.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Tab') return show(false)
    if (event.key === 'Escape') close()
    else if (!moveFocus(list.current, event.key)) return
    event.preventDefault()
    event.stopPropagation()
  }
  useLayoutEffect(() => {
    if (label && label === moved) show(true)
    return () => {
      if (!isOpen.current) return
      moved = label
      setTimeout(() => {
        moved = undefined
      }, 1000)
    }
  }, [])
  useLetters(button, items)
  useOpenList(list, open, () => show(false))
  return (
    <div class="menu">
      <button
        ref={button}
        type="button"
        class={style}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={name}
        data-letters={items.flatMap(({ letter }) => letter ?? []).join(' ') || undefined}
        title={children === undefined ? name : undefined}
        onClick={() => show(!open)}
      >
        {children ?? <Icon name="more" />}
      </button>
      {open && (
        <div class="menu-list">
          {head}
          <div
            id={id}
            role="menu"
            aria-label={name ?? 'Menu'}
            ref={list}
            tabIndex={-1}
            onKeyDown={onKeyDown}
          >
            {items
              .toSorted((a, b) => Number(a.destructive ?? false) - Number(b.destructive ?? false))
              .map((item) => (
                <Entry
                  key={item.label}
                  item={item}
                  onDone={() => (item.href === undefined ? close() : show(false))}
                />
              ))}
          </div>
        </div>
      )}
    </div>
  )
}

/** Letters that the row of the menu passes on. */
function useLetters(button: RefObject<HTMLElement | null>, items: readonly MenuItem[]) {
  const navigate = useNavigate()
  useEffect(() => {
    const onLetter = (event: Event) => {
      const item = items.find(
        ({ letter, denied }) =>
          letter === (event as CustomEvent<string>).detail && denied === undefined,
      )
      if (item?.href === undefined) item?.onSelect?.()
      else navigate(item.href)
    }
    button.current?.addEventListener(letterEvent, onLetter)
    return () => button.current?.removeEventListener(letterEvent, onLetter)
  })
}

/** An open list has the focus, and closes when the pointer goes elsewhere. */
function useOpenList(list: RefObject<HTMLElement | null>, isOpen: boolean, close: () => void) {
  useEffect(() => {
    const menu = list.current?.closest('.menu')
    if (!isOpen || !menu) return
    const box = list.current?.parentElement
    const edge = menu.closest('.beside-side')?.getBoundingClientRect().left ?? 0
    // It ends where its button ends, unless that leaves no room for it.
    if (box && box.getBoundingClientRect().left < edge) box.classList.add('is-start')
    moveFocus(list.current, 'Home')
    box?.scrollIntoView({ block: 'nearest' })
    const onPointer = ({ target }: PointerEvent) => {
      if (!menu.contains(target as Node)) close()
    }
    document.addEventListener('pointerdown', onPointer)
    return () => document.removeEventListener('pointerdown', onPointer)
  }, [isOpen])
}

/** @returns whether the key moves it */
function moveFocus(list: HTMLElement | null, key: string) {
  const all = [...(list?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])]
  const at = all.indexOf(document.activeElement as HTMLElement)
  const target = {
    ArrowDown: all[(at + 1) % all.length],
    ArrowUp: all.at(at - 1),
    Home: all[0],
    End: all.at(-1),
  }[key]
  target?.focus()
  return target !== undefined
}

function Entry({ item, onDone }: { item: MenuItem; onDone: () => void }) {
  const { label, icon, href, onSelect, destructive, denied, checked } = item
  const select = () => {
    pressedDenied.value = denied
    if (denied !== undefined) return
    onDone()
    onSelect?.()
  }
  const shared = {
    class: `menu-item ${destructive ? 'is-destructive' : ''}`,
    tabIndex: -1,
    onClick: select,
    ...(checked === undefined
      ? { role: 'menuitem' as const }
      : { role: 'menuitemradio' as const, 'aria-checked': checked }),
    children: [
      icon !== undefined && <Icon key="icon" name={icon} />,
      <span key="label" class="grow">
        {label}
        {denied !== undefined && <small>{denied}</small>}
      </span>,
      checked === true && <Icon key="checked" name="check" />,
    ],
  }
  return href === undefined || denied !== undefined ? (
    <button type="button" {...shared} aria-disabled={denied !== undefined} />
  ) : (
    <a {...shared} href={href} />
  )
}
