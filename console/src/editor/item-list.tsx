/** Lists of objects of one kind, each of which opens as a form. */

import {
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  scalarOf,
} from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Banner, Button, IconButton } from '../components/button.tsx'
import { Icon, Name } from '../components/text.tsx'
import { plural } from '../words.ts'
import type { Draft } from './draft.ts'
import { isSamePath, isWithin, type Path, valueAt, withValueAt } from './json-path.ts'

/** Above that, the items of a list are folded. */
const maxOpenItems = 2

export interface ItemKind {
  readonly itemName: string
  readonly form: (item: JsonObject, path: Path, draft: Draft) => ComponentChildren
  /** Default: what is usually called a name. */
  readonly title?: (item: JsonObject) => string | undefined
  readonly detail?: (item: JsonObject) => string | undefined
  readonly fresh?: (items: readonly JsonObject[]) => JsonObject
  /** Instead of a list without items. */
  readonly empty?: string
}

interface ItemListProps {
  readonly draft: Draft
  readonly path: Path
  readonly kind: ItemKind
}

export function ItemList({ draft, path, kind }: ItemListProps) {
  const { itemName, fresh = () => ({}), empty } = kind
  const value = valueAt(draft.definition.value, path) ?? []
  const items = listOf(value).map(objectOf)
  // An entry that is null is shown as one without fields.
  if (!Array.isArray(value) || value.some((each) => each !== null && !isObject(each))) {
    return <Banner tone="warning">This is not a list of objects. Correct it in the text.</Banner>
  }
  const add = () => {
    draft.set([...path, items.length], fresh(items), `Add ${itemName}`)
    draft.shown.value = [...path, items.length]
  }
  return (
    <div>
      {items.length === 0 && empty !== undefined && <p class="muted">{empty}</p>}
      {/* Items have no identity but their place. */}
      {items.map((_, index) => (
        <ListItem key={index} draft={draft} path={path} kind={kind} items={items} index={index} />
      ))}
      <Button small icon="plus" onClick={add}>
        Add {itemName}
      </Button>
    </div>
  )
}

function moved(list: readonly unknown[], from: number, to: number) {
  return list.toSpliced(from, 1).toSpliced(to, 0, list[from])
}

function ListItem({
  draft,
  path,
  kind,
  items,
  index,
}: ItemListProps & { items: readonly JsonObject[]; index: number }) {
  const here = [...path, index]
  const item = items[index] ?? {}
  const usual = scalarOf(
    item['name'] ?? item['displayName'] ?? item['key'] ?? item['value'] ?? item['stack'],
  )
  const title =
    (kind.title === undefined ? usual : kind.title(item)) ?? `${kind.itemName} ${index + 1}`
  const box = useRef<HTMLDetailsElement>(null)
  const fold = useFold(items.length <= maxOpenItems, isWithin(draft.shown.value ?? [], here))
  useFocus(draft, here, box, fold.open)
  const problems = draft.problems.value.filter((problem) => isWithin(problem.path, here)).length
  const move = (to: number) =>
    draft.change(`Move ${title}`, (definition) =>
      withValueAt(definition, path, moved(listOf(valueAt(definition, path)), index, to)),
    )
  const tools = [
    { icon: 'up', label: `Move ${title} up`, isShown: index > 0, onClick: () => move(index - 1) },
    {
      icon: 'down',
      label: `Move ${title} down`,
      isShown: index < items.length - 1,
      onClick: () => move(index + 1),
    },
    {
      icon: 'trash',
      label: `Remove ${title}`,
      isShown: true,
      onClick: () => draft.set(here, undefined, `Remove ${title}`),
    },
  ] as const
  return (
    <details ref={box} class="list-item" {...fold}>
      <summary>
        <Icon name="right" />
        <span class="grow cut">
          <Name text={title} max={60} />{' '}
          <Name class="muted regular" text={kind.detail?.(item) ?? ''} max={60} />
        </span>
        <ProblemCount count={problems} />
      </summary>
      <div class="list-item-tools">
        {tools.map(
          ({ isShown, ...tool }) => isShown && <IconButton key={tool.icon} small {...tool} />,
        )}
      </div>
      {fold.open && <div class="list-item-body">{kind.form(item, here, draft)}</div>}
    </details>
  )
}

const inputs =
  'input, select, textarea, .cm-content, button:not(.expression-switch, .list-item-tools *)'

/** Whether a fold is open, which what is wanted opens: its content is drawn only then. */
export function useFold(isOpen: boolean, isWanted: boolean) {
  const [open, setOpen] = useState(isOpen)
  useEffect(() => {
    if (isWanted) setOpen(true)
  }, [isWanted])
  return {
    open,
    onToggle: ({ currentTarget }: { currentTarget: HTMLDetailsElement }) =>
      setOpen(currentTarget.open),
  }
}

/** The first input of the box takes the focus where `draft.shown` leads there. */
export function useFocus(
  draft: Draft,
  path: Path,
  box: { readonly current: HTMLElement | null },
  isDrawn = true,
): void {
  const isWanted = isDrawn && draft.shown.value !== undefined && isSamePath(draft.shown.value, path)
  useEffect(() => {
    if (!isWanted) return
    draft.shown.value = undefined
    for (
      let fold = box.current?.closest('details');
      fold != null;
      fold = fold.parentElement?.closest('details')
    )
      fold.open = true
    const input = box.current?.querySelector<HTMLElement>(inputs)
    input?.focus()
    if (input instanceof HTMLInputElement) input.select()
    box.current?.scrollIntoView({ block: 'center' })
  }, [isWanted])
}

export function ProblemCount({ count }: { count: number }) {
  if (count === 0) return null
  return (
    <span class="problem-count">
      <Icon name="warn" /> <span>{count}</span>{' '}
      <span class="visually-hidden">{plural(count, 'problem')} here</span>
    </span>
  )
}
