/** Lists of any length: of many rows only those near the view are in the page, and rows that are read keep their places. */
import type { ComponentChildren, RefObject } from 'preact'
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from 'preact/hooks'
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
  /** Rows that are drawn in one task: fewer where each has many elements. */
  readonly portion?: number
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
  const { drawn, style: room, isPart } = useRowsInView(list, rows, keyOf, sizes, heldOf)
  return (
    <>
      {bar}
      <ul
        class={`rows ${isPart ? 'is-virtual' : ''} ${style}`}
        style={room}
        aria-label={label}
        ref={list}
      >
        {drawn.map(({ key, item, attributes }) => (
          <li
            key={key}
            {...attributes}
            {...(isPart && {
              'aria-posinset': attributes['data-index'] + 1,
              'aria-setsize': rows.length,
            })}
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

/** Heights of rows by page: who comes back to it finds its place, if the rows are there. */
const measured = new Map<string, Map<string, number>>()

/**
 * Rows scroll with the window. A row that is drawn is measured, and keeps its height for the room that it leaves.
 *
 * @param of What the rows are of: those of something else are drawn from the first one on.
 */
export function useRowsInView<Item>(
  list: RefObject<HTMLElement | null>,
  rows: readonly HeldRow<Item>[],
  keyOf: (item: Item) => string,
  { rowHeight, drawAll = 80, overscan = 12, portion = 8 }: RowSizes<Item>,
  of?: string,
) {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const { heights, atOnce } = useMemo(() => {
    const known = measured.get(location.pathname)
    const heights = known ?? new Map<string, number>()
    measured.set(location.pathname, heights)
    return { heights, atOnce: known === undefined ? portion : 100 }
  }, [])
  const isPart = rows.length > drawAll
  // The browser computes styles of the whole page for it.
  const scale = useMemo(() => (isPart ? textScale() : 1), [isPart])
  const heightOf = (item: Item) =>
    heights.get(keyOf(item)) ??
    scale * (typeof rowHeight === 'number' ? rowHeight : rowHeight(item))
  /** Where each row begins below the top of the list, and where the last one ends. */
  const edges = [0]
  if (isPart) for (const { item } of rows) edges.push((edges.at(-1) ?? 0) + heightOf(item))
  const whole = usePortions(isPart ? 0 : rows.length, atOnce, of)
  const range = useRef<Range>([0, portion])
  const further = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(further.current), [])
  const look = () => {
    if (!isPart || list.current === null) return
    const top = -list.current.getBoundingClientRect().top
    const [above, below] = [top, top + innerHeight].map((y) =>
      edges.findLastIndex((edge) => edge <= y),
    ) as [number, number]
    const view: Range = [Math.max(0, above), Math.min(rows.length, below + 1)]
    const [first, end] = range.current
    // As long as all in view are drawn, nothing changes: at the end of a page, other rows move the view, and that other rows.
    if (view[0] < first || view[1] > end) draw(view)
  }
  const draw = (view: Range) => {
    clearTimeout(further.current)
    const around: Range = [
      Math.max(0, view[0] - overscan),
      Math.min(rows.length, view[1] + overscan),
    ]
    range.current = towards(range.current, view, around, portion)
    redraw(undefined as never)
    if (range.current[0] > around[0] || range.current[1] < around[1])
      further.current = setTimeout(() => draw(view))
  }
  const measure = useRef<(element: HTMLElement, height: number) => void>(undefined)
  measure.current = (element, height) => {
    const row = rows[Number(element.dataset['index'])]
    const grown = row === undefined || height === 0 ? 0 : height - heightOf(row.item)
    if (row === undefined || grown === 0) return
    heights.set(keyOf(row.item), height)
    // What is in view stays where it is. At the end of a page that shrinks the browser has seen to that.
    const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1
    if (element.getBoundingClientRect().top < 0 && (grown > 0 || !isAtEnd)) scrollBy(0, grown)
    redraw(undefined as never)
  }
  const observe = useCallback((element: HTMLElement | null) => {
    if (element === null) return
    const sizes = new ResizeObserver(([size]) =>
      measure.current?.(element, size?.borderBoxSize[0]?.blockSize ?? 0),
    )
    sizes.observe(element)
    return () => sizes.disconnect()
  }, [])
  useLayoutEffect(() => {
    // Here it would have the page laid out once more.
    const frame = requestAnimationFrame(look)
    const stop = new AbortController()
    for (const event of ['scroll', 'resize'])
      addEventListener(event, look, { signal: stop.signal, passive: true })
    return () => {
      cancelAnimationFrame(frame)
      stop.abort()
    }
  })
  const before = useRef({ of, keys: new Set<string>() })
  /** What is drawn stays, whatever comes before it: a menu may be open in it. */
  const staysUntil = () =>
    before.current.of === of
      ? 1 + rows.findLastIndex(({ item }) => before.current.keys.has(keyOf(item)))
      : 0
  const [first, end] = isPart
    ? (range.current.map((at) => Math.max(0, Math.min(at, rows.length))) as [number, number])
    : [0, Math.max(whole, staysUntil())]
  if (!isPart) range.current = [first, end]
  const drawn = rows.slice(first, end).map(({ item, isGone }, at) => ({
    key: keyOf(item),
    item,
    attributes: {
      'data-index': first + at,
      class: isGone ? 'is-gone' : undefined,
      ref: isPart ? observe : undefined,
    },
  }))
  before.current = { of, keys: new Set(drawn.map(({ key }) => key)) }
  const edge = (at: number) => edges[at] ?? 0
  const paddingBlock = `${edge(first)}px ${edge(rows.length) - edge(end)}px`
  // The browser would move the page once more for rows that have grown above the view.
  return { drawn, style: isPart ? { paddingBlock, overflowAnchor: 'none' } : undefined, isPart }
}

type Range = readonly [first: number, end: number]

/** The rows to draw next: a portion more, of those in view first, and of those around it then. */
function towards(drawn: Range, view: Range, around: Range, portion: number): Range {
  const isElsewhere = drawn[1] <= view[0] || drawn[0] >= view[1]
  let first = isElsewhere ? view[0] : Math.max(drawn[0], around[0])
  let end = isElsewhere ? view[0] : Math.min(drawn[1], around[1])
  let rest = portion
  for (const [from, to] of [view, around]) {
    const below = Math.max(0, Math.min(to - end, rest))
    const above = Math.max(0, Math.min(first - from, rest - below))
    end += below
    first -= above
    rest -= below + above
  }
  return [first, end]
}

/**
 * How many of some parts to draw now: a portion more in each task, so that none is long.
 *
 * @param of What the parts are of: those of something else begin anew
 */
export function usePortions(count: number, portion: number, of = ''): number {
  const [{ of: before, drawn }, setDrawn] = useState({ of, drawn: portion })
  const present = before === of ? drawn : portion
  const isPart = present < count
  useEffect(() => {
    if (!isPart) return
    const timer = setTimeout(() => setDrawn({ of, drawn: present + portion }))
    return () => clearTimeout(timer)
  }, [of, present, isPart])
  return isPart ? present : count
}

/** Noted when it happens: to ask has the page laid out. */
let isScrolled = false
if (typeof addEventListener === 'function')
  addEventListener('scroll', () => (isScrolled = scrollY > 0), { passive: true })

/** How long a row stays that has left the list; one with an open menu stays longer. */
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
  const isRead = () =>
    isUsed(list.current) ||
    isUsed(bar.current) ||
    (isScrolled && (list.current?.getBoundingClientRect().top ?? 0) < 0)
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const shown = useRef<
    { readonly of: string | undefined; readonly items: readonly Item[] } | undefined
  >(undefined)
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
    const timer = setInterval(() => {
      if (!list.current?.querySelector('.is-gone [aria-expanded=true]'))
        show(shown.current?.items.filter((item) => !gone.includes(keyOf(item))))
    }, goneMs)
    return () => clearInterval(timer)
  }, [gone.join('\n')])
  useLayoutEffect(() => {
    if (of === undefined) return
    // The focus is nowhere while it moves.
    const look = () =>
      queueMicrotask(() => isBehind.current && !isRead() && redraw(undefined as never))
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

function isUsed(element: HTMLElement | null) {
  return element !== null && (element.matches(':hover') || element.contains(document.activeElement))
}
