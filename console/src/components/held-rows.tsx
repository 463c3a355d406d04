/** Keeps the rows of a list in place while the pointer or the focus is among them, or while its beginning is out of view. */
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import { type HeldRow, holdRows } from '../model/held-rows.ts'
import { Icon } from './icon.tsx'

/** How long a row stays that has left the list. */
const goneMs = 10_000

interface Held<Item> {
  readonly rows: readonly HeldRow<Item>[]
  readonly waiting: number
  /** Shows what waits. */
  readonly release: () => void
  /** The element of `NewRows`, which belongs to the rows. */
  readonly bar: RefObject<HTMLDivElement | null>
}

/**
 * @param list The element with the rows.
 * @param of What the rows are of, such as the filter: rows of something else are shown at once. Undefined holds nothing.
 */
export function useHeldRows<Item>(
  list: RefObject<HTMLElement | null>,
  items: readonly Item[],
  keyOf: (item: Item) => string,
  of: string | undefined,
): Held<Item> {
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
  return { rows, waiting, release: () => show(undefined), bar }
}

function isUsed(element: HTMLElement | null): boolean {
  return element !== null && (element.matches(':hover') || element.contains(document.activeElement))
}

/** Says what waits, above the rows and without moving them. */
export function NewRows({ waiting, release, bar }: Omit<Held<unknown>, 'rows'>) {
  return (
    <div class="new-rows" role="status" ref={bar}>
      {waiting > 0 && (
        <button type="button" class="button small is-primary" onClick={release}>
          <Icon name="up" /> {`${waiting.toLocaleString()} new`}
        </button>
      )}
    </div>
  )
}
