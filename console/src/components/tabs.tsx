/** Tabs that are addresses, and tabs within a panel. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useQueryChange } from '../address.ts'
import { Menu } from './menu.tsx'

interface LinkTab {
  readonly label: string
  readonly href: string
  /** Waits under *More*, unless it is the current one. */
  readonly isEmpty?: boolean
}

/** Screens of one thing; the current one is marked. */
export function LinkTabs({ label, tabs }: { label: string; tabs: readonly LinkTab[] }) {
  const { path } = useLocation()
  // What stands above a screen, such as the start of a pipeline, has an address below it.
  const above = tabs.map(({ href }) => href).filter((href) => `${path}/`.startsWith(`${href}/`))
  const current = above.toSorted((a, b) => b.length - a.length)[0]
  const more = tabs.filter(({ href, isEmpty }) => isEmpty && href !== current)
  const shown = tabs.filter((tab) => !more.includes(tab))
  return (
    <nav class="tab-row" aria-label={label}>
      <div class="tabs" ref={useVisibleTab(path + shown.length)}>
        {shown.map(({ label: text, href }) => (
          <a key={href} href={href} aria-current={href === current ? 'page' : undefined}>
            {text}
          </a>
        ))}
      </div>
      {more.length > 0 && (
        <Menu items={more} class="more-tabs">
          More
        </Menu>
      )}
    </nav>
  )
}

/** On a narrow screen the row scrolls, and the current tab may lie beyond its edge. */
function useVisibleTab(current: string) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const row = list.current
    const tab = row?.querySelector<HTMLElement>('[aria-current], [aria-selected="true"]')
    if (row && tab)
      row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.clientWidth) / 2
  }, [current])
  return list
}

interface Choice<Id extends string> {
  readonly label: string
  readonly options: readonly { readonly id: Id; readonly label: string }[]
  readonly selected: Id
  readonly onSelect: (id: Id) => void
}

/** Views of one thing within a panel. @see WAI-ARIA Authoring Practices, tabs */
export function Tabs<Id extends string>(
  props: Choice<Id> & { readonly children: ComponentChildren },
) {
  const { label, options, selected, onSelect, children } = props
  const list = useVisibleTab(selected)
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const next =
      step && options.at((options.findIndex(({ id }) => id === selected) + step) % options.length)
    if (!next) return
    event.preventDefault()
    onSelect(next.id)
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {options.map(({ id, label: text }) => {
          const tab = {
            role: 'tab',
            'aria-selected': id === selected,
            tabIndex: id === selected ? 0 : -1,
          } as const
          return (
            <button key={id} type="button" data-tab={id} onClick={() => onSelect(id)} {...tab}>
              {text}
            </button>
          )
        })}
      </div>
      <div
        role="tabpanel"
        class="tab-panel"
        aria-label={options.find(({ id }) => id === selected)?.label}
      >
        {children}
      </div>
    </>
  )
}

interface AddressTabsProps {
  readonly label: string
  readonly tabs: readonly {
    readonly id: string
    readonly label: string
    readonly body: () => ComponentChildren
  }[]
}

/** Tabs whose choice is in the address, unless it is the first. */
export function AddressTabs({ label, tabs }: AddressTabsProps) {
  const change = useQueryChange()
  const { tab } = useLocation().query
  const selected = tabs.find(({ id }) => id === tab) ?? tabs[0]
  // A line belongs to its tab.
  const select = (id: string) =>
    change({ tab: id === tabs[0]?.id ? undefined : id, line: undefined })
  return (
    <Tabs label={label} options={tabs} selected={selected?.id ?? ''} onSelect={select}>
      {selected?.body()}
    </Tabs>
  )
}

/** A choice between few views: buttons side by side. */
export function Segments<Id extends string>({ label, options, selected, onSelect }: Choice<Id>) {
  return (
    <fieldset class="segments" aria-label={label}>
      {options.map(({ id, label: text }) => (
        <button key={id} type="button" aria-pressed={id === selected} onClick={() => onSelect(id)}>
          {text}
        </button>
      ))}
    </fieldset>
  )
}
