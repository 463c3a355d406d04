/** Search over everything by name, in three keystrokes. */
import { useState } from 'preact/hooks'
import { to, useNavigate } from '../address.ts'
import { noteUse } from '../model/recent.ts'
import { plural } from '../words.ts'
import { closeDialog, openDialog } from './dialog.tsx'
import { Picker } from './picker.tsx'
import {
  type Hit,
  HitText,
  keyOfHit,
  searchNote,
  searchPlaceholder,
  useHits,
} from './search-hits.tsx'

export function openPalette(): void {
  openDialog(<Palette />)
}

/** Results of each group, while a text is typed. */
const maxPerGroup = 8

function Palette() {
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  /** What Enter does with the chosen hit: 0 opens it, the others are its further actions. */
  const [action, setAction] = useState(0)
  const text = typed.trim()
  const groups = useGroups(text)
  const hits = groups.flatMap(({ items }) => items)
  const chosen = Math.min(at, Math.max(0, hits.length - 1))
  const actions = hits[chosen]?.actions ?? []
  const choose = (next: number) => {
    setAt(next)
    setAction(0)
  }
  const take = (
    hit: Hit | undefined,
    { ctrlKey, metaKey }: KeyboardEvent | MouseEvent,
    by: number,
  ) => {
    if (hit === undefined) return
    closeDialog()
    const href = hit.actions?.[by - 1]?.href ?? hit.href
    noteUse(by > 0 && href !== undefined ? href : keyOfHit(hit))
    if (hit.run !== undefined) hit.run(navigate)
    else if (href !== undefined && (ctrlKey || metaKey)) window.open(href, '_blank', 'noopener')
    else if (href !== undefined) navigate(href)
  }
  const onKey = (event: KeyboardEvent) => {
    const next = action + (event.shiftKey ? -1 : 1)
    if (event.key !== 'Tab' || next < 0 || next > actions.length) return
    event.preventDefault()
    setAction(next)
  }
  const row = (hit: Hit, isChosen: boolean) => (
    <>
      <HitText hit={hit} />
      {hit.actions?.map(({ label }, index) => (
        <span
          key={label}
          class={`palette-action ${isChosen && action === index + 1 ? 'is-chosen' : ''}`}
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation()
            take(hit, event, index + 1)
          }}
        >
          {label}
        </span>
      ))}
    </>
  )
  return (
    <Picker
      title="Search"
      class="palette"
      label="Search"
      placeholder={searchPlaceholder}
      listLabel="Search"
      text={typed}
      onText={(value) => {
        setTyped(value)
        choose(0)
      }}
      groups={groups}
      keyOf={keyOfHit}
      row={row}
      chosen={chosen}
      onChoose={choose}
      onTake={(hit, event) => take(hit, event, event.type === 'keydown' ? action : 0)}
      onKey={onKey}
      status={actions[action - 1]?.label ?? (text === '' ? '' : plural(hits.length, 'result'))}
    >
      {hits.length === 0 && text !== '' && (
        <p class="palette-note">
          {`Nothing matches “${text}”.`} {searchNote(text)}
        </p>
      )}
    </Picker>
  )
}

/** The first of each group; what is cut has a screen of its own. */
function useGroups(text: string) {
  const found = useHits(text)
  const max = text === '' ? Number.POSITIVE_INFINITY : maxPerGroup
  const all: Hit = {
    label: 'Show everything that was found',
    icon: 'search',
    href: to.search(text),
  }
  const more = found.some(({ hits }) => hits.length > max)
    ? [{ title: 'More', hits: [all], failed: false }]
    : []
  return [...found, ...more].map(({ title, hits, failed = false }) => ({
    title,
    items: hits.slice(0, max),
    head: (
      <>
        <div class="palette-group" aria-hidden="true">
          {title}
          {hits.length > max && ` ${max} of ${hits.length} shown`}
        </div>
        {failed && <div class="palette-note">{`${title} could not be searched.`}</div>}
      </>
    ),
  }))
}
