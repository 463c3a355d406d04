/** Search over everything by name, in three keystrokes. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { noteUse } from '../model/recent.ts'
import { plural } from '../words.ts'
import { closeDialog, openDialog } from './dialog.tsx'
import { Icon } from './icon.tsx'
import { Name } from './name.tsx'
import { Picker } from './picker.tsx'
import { keyOfHit, useHits } from './search-hits.tsx'
import { type Hit, type HitGroup, minRemote, searchPlaceholder, searchShort } from './search-remote.ts'
import { StatusText } from './status-mark.tsx'

export function openPalette(): void {
  openDialog(<Palette />)
}

/** Of each group, while a text is typed. */
const maxPerGroup = 8

function Palette() {
  const { route: navigate } = useLocation()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  /** What Enter does with the chosen hit: 0 opens it, the others are its further actions. */
  const [action, setAction] = useState(0)
  const choose = (next: number) => {
    setAt(next)
    setAction(0)
  }
  const groups = toGroups(useHits(text.trim()), text.trim())
  const hits = groups.flatMap(({ items }) => items)
  const chosen = Math.min(at, Math.max(0, hits.length - 1))
  const open = (hit: Hit | undefined, { ctrlKey, metaKey }: KeyboardEvent | MouseEvent, by: number) => {
    if (hit === undefined) return
    closeDialog()
    const href = hit.actions?.[by - 1]?.href ?? hit.href
    noteUse(by === 0 ? keyOfHit(hit) : (href ?? ''))
    if (hit.run !== undefined) return hit.run(navigate)
    if (href === undefined) return
    if (ctrlKey || metaKey) window.open(href, '_blank', 'noopener')
    else navigate(href)
  }
  const onKey = (event: KeyboardEvent) => {
    const next = action + (event.shiftKey ? -1 : 1)
    if (event.key !== 'Tab' || next < 0 || next > (hits[chosen]?.actions?.length ?? 0)) return
    event.preventDefault()
    setAction(next)
  }
  const onText = (typed: string) => {
    setText(typed)
    choose(0)
  }
  const actionLabel = action > 0 ? hits[chosen]?.actions?.[action - 1]?.label : undefined
  return (
    <Picker
      title="Search"
      class="palette"
      label="Search"
      placeholder={searchPlaceholder}
      listLabel="Search"
      iconSize={20}
      text={text}
      onText={onText}
      groups={groups}
      keyOf={keyOfHit}
      row={(hit, isChosen) => <HitRow hit={hit} action={isChosen ? action : 0} onOpen={(event, by) => open(hit, event, by)} />}
      chosen={chosen}
      onChoose={choose}
      onTake={(hit, event) => open(hit, event, event.type === 'keydown' ? action : 0)}
      onKey={onKey}
      status={actionLabel ?? (text === '' ? '' : plural(hits.length, 'result'))}
    >
      {hits.length === 0 && text !== '' && (
        <p class="palette-note">
          {`Nothing matches “${text}”.`} {text.trim().length < minRemote && searchShort}
        </p>
      )}
    </Picker>
  )
}

/** The first of each group; what is cut has a screen of its own. */
function toGroups(found: readonly HitGroup[], text: string) {
  const max = text === '' ? Number.POSITIVE_INFINITY : maxPerGroup
  const isCut = found.some(({ hits }) => hits.length > max)
  const all: Hit = { label: 'Show everything that was found', icon: 'search', href: to.search(text) }
  const more: HitGroup[] = isCut ? [{ title: 'More', hits: [all] }] : []
  return [...found, ...more]
    .filter(({ hits, failed }) => hits.length > 0 || failed === true)
    .map(({ title, hits, failed }) => {
      const items = hits.slice(0, max)
      const head = (
        <>
          <div class="palette-group" aria-hidden="true">
            {title}
            {hits.length > items.length && ` ${items.length} of ${hits.length} shown`}
          </div>
          {failed === true && <div class="palette-note">{`${title} could not be searched.`}</div>}
        </>
      )
      return { title, items, head }
    })
}

interface HitRowProps {
  readonly hit: Hit
  /** The number of the chosen action; 0: none. */
  readonly action: number
  readonly onOpen: (event: MouseEvent, by: number) => void
}

function HitRow({ hit: { icon, label, detail, actions, state }, action, onOpen }: HitRowProps) {
  return (
    <>
      <Icon name={icon} />
      <span class="grow">
        <Name text={label} max={60} />
      </span>
      {detail !== undefined && (
        <span class="muted">
          <Name text={detail} max={40} />
        </span>
      )}
      {state !== undefined && <StatusText status={state} />}
      {actions?.map(({ label: text }, index) => (
        <span
          key={text}
          class={`palette-action ${action === index + 1 ? 'is-chosen' : ''}`}
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation()
            onOpen(event, index + 1)
          }}
        >
          {text}
        </span>
      ))}
    </>
  )
}
