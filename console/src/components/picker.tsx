/** A dialog with a search field above the groups of what it finds. @see WAI-ARIA Authoring Practices, combobox */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { Icon } from './text.tsx'

interface PickerProps<Item> {
  readonly title: string
  readonly class: string
  /** Above the search field. */
  readonly note?: ComponentChildren
  readonly label: string
  readonly placeholder: string
  readonly listLabel: string
  readonly text: string
  readonly onText: (text: string) => void
  /** Each item is in one of them; the head stands above them. */
  readonly groups: readonly {
    readonly title: string
    readonly items: readonly Item[]
    readonly head?: ComponentChildren
  }[]
  readonly keyOf: (item: Item) => string
  readonly row: (item: Item, isChosen: boolean) => VNode
  readonly rowClass?: string
  /** The number of the chosen item in all groups. */
  readonly chosen: number
  readonly onChoose: (at: number) => void
  /** @param item Undefined where nothing is found */
  readonly onTake: (item: Item | undefined, event: KeyboardEvent | MouseEvent) => void
  readonly onKey?: (event: KeyboardEvent) => void
  /** Said to screen readers. */
  readonly status: string
  /** Below the list. */
  readonly children?: ComponentChildren
}

export function Picker<Item>(props: PickerProps<Item>) {
  const { groups, chosen, onChoose, onTake, onKey, onText, row, rowClass = '' } = props
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const all = groups.flatMap(({ items }) => items)
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen, all.length])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined && event.key !== 'Enter') return onKey?.(event)
    event.preventDefault()
    if (step === undefined) onTake(all[chosen], event)
    else if (all.length > 0) onChoose((chosen + step + all.length) % all.length)
  }
  const toOption = (item: Item) => {
    const at = all.indexOf(item)
    return (
      <div
        key={props.keyOf(item)}
        id={`${id}-${at}`}
        role="option"
        tabIndex={-1}
        aria-selected={at === chosen}
        class={`palette-hit ${rowClass}`}
        onClick={(event) => onTake(item, event)}
        onPointerMove={() => at !== chosen && onChoose(at)}
      >
        {row(item, at === chosen)}
      </div>
    )
  }
  return (
    <Dialog title={props.title} class={props.class}>
      {props.note}
      <div class="palette-field">
        <Icon name="search" size={20} />
        <input
          type="text"
          role="combobox"
          aria-autocomplete="list"
          aria-label={props.label}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={all.length === 0 ? undefined : `${id}-${chosen}`}
          placeholder={props.placeholder}
          autoComplete="off"
          spellcheck={false}
          value={props.text}
          onInput={(event) => onText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      <div class="palette-list" id={id} role="listbox" aria-label={props.listLabel} ref={list}>
        {groups.map(({ title, head, items }) => (
          <div key={title} role="group" aria-label={title}>
            {head}
            {items.map(toOption)}
          </div>
        ))}
      </div>
      {props.children}
      <div class="visually-hidden" role="status">
        {props.status}
      </div>
    </Dialog>
  )
}
