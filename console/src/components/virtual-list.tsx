/** Lists of any length: of many rows only those near the view are in the page, and rows that are read keep their places. */
import {
  observeWindowOffset,
  observeWindowRect,
  Virtualizer,
  type VirtualizerOptions,
  windowScroll,
} from '@tanstack/virtual-core'
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks'
import { type HeldRow, holdRows } from '../model/held-rows.ts'
import { kept } from './kept.tsx'
import { Icon, textScale } from './text.tsx'

interface RowSizes<Item> {
  /** Estimated, in pixels at the usual text size; drawn rows are measured. */
  readonly rowHeight: number | ((item: Item) => number)
  /** Up to so many rows are all in the page, where the browser finds them. */
  readonly drawAll?: number
  /** Rows around the view: fewer where each has many elements. */
  readonly overscan?: number
}

interface VirtualListProps<Item> extends RowSizes<Item> {
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  readonly row: (item: Item) => ComponentChildren
  readonly label?: string
  readonly class?: string
  /** For a list that changes while it is read: what its rows are of, such as the filter. Rows then keep their places. */
  readonly heldOf?: string
}

export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { items, keyOf, row, label, class: style = '', heldOf, ...sizes } = props
  const list = useRef<HTMLUListElement>(null)
  const { rows, bar } = useHeldRows(list, items, keyOf, heldOf)
  const { drawn, padding, isPart } = useRowsInView(list, rows, keyOf, sizes)
  return (
    <>
      {bar}
      <ul
        class={`rows ${isPart ? 'is-virtual' : ''} ${style}`}
        style={isPart ? padding : undefined}
        aria-label={label}
        ref={list}
      >
        {drawn.map(({ key, item, attributes }) => (
          <li
            key={key}
            {...attributes}
            {...(isPart && { 'aria-posinset': attributes['data-index'] + 1, 'aria-setsize': rows.length })}
          >
            <Row row={row as AnyRow} item={item} />
          </li>
        ))}
      </ul>
    </>
  )
}

type AnyRow = (item: unknown) => ComponentChildren

/** While only the view moves, rows that stay are not drawn again. */
export const Row = kept(({ row, item }: { row: AnyRow; item: unknown }) => <>{row(item)}</>)

/** Rows scroll with the window. */
export function useRowsInView<Item>(
  list: RefObject<HTMLElement | null>,
  rows: readonly HeldRow<Item>[],
  keyOf: (item: Item) => string,
  { rowHeight, drawAll = 80, overscan = 12 }: RowSizes<Item>,
) {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const scale = useMemo(textScale, [])
  const margin = useRef(0)
  const known = useRef<Virtualizer<Window, Element> | undefined>(undefined)
  const isPart = rows.length > drawAll
  const itemAt = (at: number) => rows[at]?.item as Item
  // What stands above the list does not change while it scrolls, and to ask would make the browser lay out the page twice.
  if (isPart && known.current?.isScrolling !== true) {
    margin.current = (list.current?.getBoundingClientRect().top ?? 0) + window.scrollY
  }
  const options: VirtualizerOptions<Window, Element> = {
    enabled: isPart,
    count: rows.length,
    estimateSize: (at) => scale * (typeof rowHeight === 'number' ? rowHeight : rowHeight(itemAt(at))),
    getItemKey: (at) => keyOf(itemAt(at)),
    overscan,
    getScrollElement: () => window,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    scrollMargin: margin.current,
    initialOffset: () => window.scrollY,
    onChange: () => redraw(undefined as never),
  }
  const virtualizer = known.current ?? new Virtualizer(options)
  known.current = virtualizer
  virtualizer.setOptions(options)
  useLayoutEffect(() => {
    if (!isPart) return
    const detach = virtualizer._didMount()
    redraw(undefined as never)
    return detach
  }, [isPart])
  useLayoutEffect(() => virtualizer._willUpdate())
  const inView = isPart ? virtualizer.getVirtualItems() : [...rows.keys()].map((index) => ({ index, start: 0, end: 0 }))
  const before = (inView[0]?.start ?? margin.current) - margin.current
  const after = virtualizer.getTotalSize() + margin.current - (inView.at(-1)?.end ?? margin.current)
  const drawn = inView.map(({ index }) => ({
    key: keyOf(itemAt(index)),
    item: itemAt(index),
    attributes: {
      'data-index': index,
      class: rows[index]?.isGone ? 'is-gone' : undefined,
      ref: isPart ? virtualizer.measureElement : undefined,
    },
  }))
  return { drawn, padding: { paddingBlock: isPart ? `${Math.max(0, before)}px ${Math.max(0, after)}px` : undefined }, isPart }
}

/** How long a row stays that has left the list. */
const goneMs = 10_000

/**
 * Keeps rows in place while the pointer or the focus is among them, or while the beginning of the list is out of view.
 *
 * @param list The element with the rows.
 * @param of What the rows are of, such as the filter: rows of something else are shown at once. Undefined holds nothing.
 */
export function useHeldRows<Item>(
  list: RefObject<HTMLElement | null>,
  items: readonly Item[],
  keyOf: (item: Item) => string,
  of: string | undefined,
) {
  const bar = useRef<HTMLDivElement>(null)
  const isRead = () => isUsed(list.current) || isUsed(bar.current) || (list.current?.getBoundingClientRect().top ?? 0) < 0
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const shown = useRef<{ readonly of: string | undefined; readonly items: readonly Item[] } | undefined>(undefined)
  const show = (next: readonly Item[] | undefined) => {
    shown.current = next && { of, items: next }
    redraw(undefined as never)
  }
  const isHeld = of !== undefined && shown.current?.of === of && isRead()
  const { rows, waiting } = holdRows(isHeld ? shown.current?.items : undefined, items, keyOf)
  const gone = rows.flatMap(({ item, isGone }) => (isGone ? keyOf(item) : []))
  shown.current = { of, items: rows.map(({ item }) => item) }
  const isBehind = useRef(false)
  isBehind.current = waiting > 0 || gone.length > 0
  useEffect(() => {
    if (gone.length === 0) return
    const timer = setTimeout(() => show(shown.current?.items.filter((item) => !gone.includes(keyOf(item)))), goneMs)
    return () => clearTimeout(timer)
  }, [gone.join('\n')])
  useLayoutEffect(() => {
    if (of === undefined) return
    // The focus is nowhere while it moves.
    const look = () => queueMicrotask(() => isBehind.current && !isRead() && redraw(undefined as never))
    const stop = new AbortController()
    for (const element of [list.current, bar.current]) {
      for (const event of ['pointerleave', 'focusout']) element?.addEventListener(event, look, stop)
    }
    return () => stop.abort()
  }, [list.current, of === undefined])
  /** Says what waits, above the rows and without moving them. */
  const waits = of !== undefined && (
    <div class="new-rows" role="status" ref={bar}>
      {waiting > 0 && (
        <button type="button" class="button small is-primary" onClick={() => show(undefined)}>
          <Icon name="up" /> {`${waiting.toLocaleString()} new`}
        </button>
      )}
    </div>
  )
  return { rows, bar: waits }
}

function isUsed(element: HTMLElement | null): boolean {
  return element !== null && (element.matches(':hover') || element.contains(document.activeElement))
}
