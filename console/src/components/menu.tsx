/** A button that opens a list of actions. @see WAI-ARIA Authoring Practices, menu button */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { pressedDenied } from '../api/rights.ts'
import { letterEvent } from '../letter-keys.ts'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  readonly label: string
  readonly icon?: IconName
  readonly onSelect?: () => void
  readonly href?: string
  /** Stands last, apart from the others. */
  readonly destructive?: boolean
  /** Why it is not offered; the item stays visible. */
  readonly denied?: string | undefined
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

export function Menu({ label, items, children, class: style = 'icon-button', head }: MenuProps) {
  // The content of the button names it, unless there is none.
  const name = label ?? (children === undefined ? 'More actions' : undefined)
  const [open, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const close = () => {
    setOpen(false)
    root.current?.querySelector('button')?.focus()
  }
  const letters = items.flatMap(({ letter }) => letter ?? []).join(' ')
  useItemLetters(root, items, letters)
  useOpenList(root, list, open, () => setOpen(false))
  const onKey = (event: KeyboardEvent) => {
    const all = entries(list.current)
    const next = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const at = all.indexOf(document.activeElement as HTMLElement)
    const target = next === undefined ? { Home: all[0], End: all.at(-1) }[event.key] : all.at((at + next) % all.length)
    if (event.key === 'Tab') return setOpen(false)
    if (event.key === 'Escape') {
      event.stopPropagation()
      close()
    } else if (target !== undefined) target.focus()
    else return
    event.preventDefault()
  }
  return (
    <div class="menu" ref={root}>
      <button
        type="button"
        class={style}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={name}
        data-letters={letters || undefined}
        title={children === undefined ? name : undefined}
        onClick={() => setOpen(!open)}
      >
        {children ?? <Icon name="more" />}
      </button>
      {open && (
        <div class="menu-list">
          {head}
          <div id={id} role="menu" aria-label={name ?? 'Menu'} ref={list} tabIndex={-1} onKeyDown={onKey}>
            {inMenuOrder(items).map((item) => (
              <Entry key={item.label} item={item} onDone={() => (item.href === undefined ? close() : setOpen(false))} />
            ))}
          </div>
        </div>
      )}
    </div>
  )
}

/** Letters that the row of the menu passes on. */
function useItemLetters(root: Box, items: readonly MenuItem[], letters: string): void {
  const { route: navigate } = useLocation()
  useEffect(() => {
    const button = root.current?.querySelector('button')
    const onLetter = (event: Event) => {
      const item = items.find(({ letter }) => letter === (event as CustomEvent<string>).detail)
      if (item === undefined || item.denied !== undefined) return
      if (item.href === undefined) item.onSelect?.()
      else navigate(item.href)
    }
    if (letters !== '') button?.addEventListener(letterEvent, onLetter)
    return () => button?.removeEventListener(letterEvent, onLetter)
  })
}

type Box = { readonly current: HTMLElement | null }

/** An open list has the focus, and closes when the pointer goes elsewhere. */
function useOpenList(root: Box, list: Box, isOpen: boolean, close: () => void): void {
  useEffect(() => {
    if (!isOpen) return
    const box = list.current?.parentElement
    const edge = root.current?.closest('.beside-side')?.getBoundingClientRect().left ?? 0
    // It ends where its button ends, unless that leaves no room for it.
    if (box && box.getBoundingClientRect().left < edge) box.classList.add('is-start')
    entries(list.current)[0]?.focus()
    const onPointer = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) close()
    }
    document.addEventListener('pointerdown', onPointer)
    return () => document.removeEventListener('pointerdown', onPointer)
  }, [isOpen])
}

function inMenuOrder(items: readonly MenuItem[]): readonly MenuItem[] {
  return [...items.filter(({ destructive }) => !destructive), ...items.filter(({ destructive }) => destructive)]
}

function Entry({ item, onDone }: { item: MenuItem; onDone: () => void }) {
  const { label, icon, href, onSelect, destructive, denied, checked } = item
  const content = (
    <>
      {icon !== undefined && <Icon name={icon} />}
      <span class="grow">
        {label}
        {denied !== undefined && <small>{denied}</small>}
      </span>
      {checked === true && <Icon name="check" />}
    </>
  )
  const style = `menu-item ${destructive ? 'is-destructive' : ''}`
  if (href !== undefined && denied === undefined) {
    const leave = () => {
      onDone()
      onSelect?.()
    }
    return (
      <a class={style} role="menuitem" tabIndex={-1} href={href} onClick={leave}>
        {content}
      </a>
    )
  }
  const select = () => {
    pressedDenied.value = denied
    if (denied !== undefined) return
    onDone()
    onSelect?.()
  }
  const role = checked === undefined ? { role: 'menuitem' as const } : { role: 'menuitemradio' as const, 'aria-checked': checked }
  return (
    <button type="button" class={style} tabIndex={-1} aria-disabled={denied !== undefined} onClick={select} {...role}>
      {content}
    </button>
  )
}

function entries(list: HTMLElement | null): HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])]
}
