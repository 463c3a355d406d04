/** A dialog with a search field above the groups of what it finds. @see WAI-ARIA Authoring Practices, combobox */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { Icon } from './icon.tsx'

interface PickerGroup<Item> {
  readonly title: string
  readonly items: readonly Item[]
  /** Above the items. */
  readonly head?: ComponentChildren
}

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
  readonly groups: readonly PickerGroup<Item>[]
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
  const { title, note, label, placeholder, listLabel, text, onText, groups, chosen, status, children } = props
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const count = groups.reduce((sum, { items }) => sum + items.length, 0)
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen, count])
  const starts = groups.map((_, at) => groups.slice(0, at).reduce((sum, { items }) => sum + items.length, 0))
  return (
    <Dialog title={title} class={props.class}>
      {note}
      <div class="palette-field">
        <Icon name="search" size={20} />
        <input
          type="text"
          role="combobox"
          aria-autocomplete="list"
          aria-label={label}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={count === 0 ? undefined : `${id}-${chosen}`}
          placeholder={placeholder}
          autoComplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
          onKeyDown={(event) => onKeyDown(event, props, count)}
        />
      </div>
      <div class="palette-list" id={id} role="listbox" aria-label={listLabel} ref={list}>
        {groups.map((group, at) => (
          <Group key={group.title} {...props} id={id} group={group} from={starts[at] ?? 0} />
        ))}
      </div>
      {children}
      <div class="visually-hidden" role="status">
        {status}
      </div>
    </Dialog>
  )
}

function onKeyDown<Item>(event: KeyboardEvent, { groups, chosen, onChoose, onTake, onKey }: PickerProps<Item>, count: number) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined && event.key !== 'Enter') return onKey?.(event)
  event.preventDefault()
  if (step === undefined) onTake(groups.flatMap(({ items }) => items)[chosen], event)
  else if (count > 0) onChoose((chosen + step + count) % count)
}

interface GroupProps<Item> extends PickerProps<Item> {
  readonly id: string
  readonly group: PickerGroup<Item>
  /** The number of its first item. */
  readonly from: number
}

function Group<Item>({ id, group, from, keyOf, row, rowClass = '', chosen, onChoose, onTake }: GroupProps<Item>) {
  return (
    <div role="group" aria-label={group.title}>
      {group.head}
      {group.items.map((item, index) => (
        <div
          key={keyOf(item)}
          id={`${id}-${from + index}`}
          role="option"
          tabIndex={-1}
          aria-selected={from + index === chosen}
          class={`palette-hit ${rowClass}`}
          onClick={(event) => onTake(item, event)}
          onPointerMove={() => from + index !== chosen && onChoose(from + index)}
        >
          {row(item, from + index === chosen)}
        </div>
      ))}
    </div>
  )
}
