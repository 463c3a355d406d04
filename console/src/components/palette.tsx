/** Search over everything by name, in three keystrokes. @see WAI-ARIA Authoring Practices, combobox */

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { words } from '../words.ts'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'
import { Icon } from './icon.tsx'
import { Name } from './name.tsx'
import { type Hit, minRemote, useHits } from './search-hits.ts'

export function openPalette(): void {
  openDialog(<Palette />)
}

const maxPerGroup = 8

function Palette() {
  const { route: navigate } = useLocation()
  const [text, setText] = useState('')
  const [at, choose] = useState(0)
  /** Of the chosen hit: 0 opens it, the others are its further actions. */
  const [action, setAction] = useState(0)
  const setAt = (next: number) => {
    choose(next)
    setAction(0)
  }
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const found = useHits(text.trim())
  const isCut = found.some(({ hits: all }) => all.length > maxPerGroup)
  const all: Hit = { label: words.showAllHits, icon: 'search', href: to.search(text.trim()) }
  const groups = [
    ...found.map((group) => ({ ...group, hits: group.hits.slice(0, maxPerGroup) })),
    ...(isCut ? [{ title: words.moreHits, hits: [all], failed: false }] : []),
  ]
  const sizes = new Map(found.map(({ title, hits: some }) => [title, some.length]))
  const hits = groups.flatMap(({ hits: some }) => some)
  const chosen = Math.min(at, Math.max(0, hits.length - 1))

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen, hits.length])

  const open = (hit: Hit | undefined, inNewTab: boolean, by = 0) => {
    if (hit === undefined) return
    closeDialog()
    if (hit.run !== undefined) return hit.run()
    const href = hit.actions?.[by - 1]?.href ?? hit.href
    if (href === undefined) return
    if (inNewTab) window.open(href, '_blank', 'noopener')
    else navigate(href)
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      if (hits.length > 0) setAt((chosen + step + hits.length) % hits.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      open(hits[chosen], event.ctrlKey || event.metaKey, action)
    } else if (event.key === 'Tab') {
      const next = action + (event.shiftKey ? -1 : 1)
      if (next < 0 || next > (hits[chosen]?.actions?.length ?? 0)) return
      event.preventDefault()
      setAction(next)
    }
  }
  let index = 0
  return (
    <Dialog title={words.searchDialog} class="palette">
      <div class="palette-field">
        <Icon name="search" size={20} />
        <input
          type="text"
          role="combobox"
          aria-autocomplete="list"
          aria-label={words.search}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={hits.length === 0 ? undefined : `${id}-${chosen}`}
          placeholder={words.searchPlaceholder}
          autoComplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={onKey}
        />
      </div>
      <div class="palette-list" id={id} role="listbox" aria-label={words.search} ref={list}>
        {groups.map(({ title, hits: some, failed }) =>
          some.length === 0 && failed !== true ? null : (
            <div key={title} role="group" aria-label={title}>
              <div class="palette-group" aria-hidden="true">
                {title}
                {(sizes.get(title) ?? 0) > some.length &&
                  some.length > 0 &&
                  ` ${words.cutHits(some.length, sizes.get(title) ?? 0)}`}
              </div>
              {failed === true && <div class="palette-note">{words.searchFailed(title)}</div>}
              {some.map((hit) => {
                const mine = index++
                return (
                  <div
                    key={hit.href ?? hit.label}
                    id={`${id}-${mine}`}
                    role="option"
                    tabIndex={-1}
                    aria-selected={mine === chosen}
                    class="palette-hit"
                    onClick={(event) => open(hit, event.ctrlKey || event.metaKey)}
                    onPointerMove={() => mine !== chosen && setAt(mine)}
                  >
                    <Icon name={hit.icon} />
                    <span class="grow">
                      <Name text={hit.label} max={60} />
                    </span>
                    {hit.detail !== undefined && (
                      <span class="muted">
                        <Name text={hit.detail} max={40} />
                      </span>
                    )}
                    {hit.actions?.map(({ label }, number) => (
                      <span
                        key={label}
                        class={`palette-action ${mine === chosen && action === number + 1 ? 'is-chosen' : ''}`}
                        aria-hidden="true"
                        onClick={(event) => {
                          event.stopPropagation()
                          open(hit, event.ctrlKey || event.metaKey, number + 1)
                        }}
                      >
                        {label}
                      </span>
                    ))}
                  </div>
                )
              })}
            </div>
          ),
        )}
      </div>
      {hits.length === 0 && text !== '' && (
        <p class="palette-note">
          {words.noHit(text)} {text.trim().length < minRemote && words.searchShort}
        </p>
      )}
      <div class="visually-hidden" role="status">
        {action > 0 ? hits[chosen]?.actions?.[action - 1]?.label : text === '' ? '' : words.results(hits.length)}
      </div>
    </Dialog>
  )
}
