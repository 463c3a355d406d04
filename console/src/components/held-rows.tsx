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
  const isRead = () => isUsed(list.current) || isUsed(bar.current) || isScrolled(list.current)
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const shown = useRef<{ readonly of: string | undefined; readonly items: readonly Item[] } | undefined>(undefined)
  const goneSince = useRef(new Map<string, number>())
  const isHeld = of !== undefined && shown.current?.of === of && isRead()
  const held = holdRows(isHeld ? shown.current?.items : undefined, items, keyOf)
  const nowMs = performance.now()
  const gone = held.rows.filter(({ isGone }) => isGone).map(({ item }) => keyOf(item))
  goneSince.current = new Map(gone.map((key) => [key, goneSince.current.get(key) ?? nowMs]))
  const rows = held.rows.filter(({ item, isGone }) => !isGone || nowMs - (goneSince.current.get(keyOf(item)) ?? 0) < goneMs)
  shown.current = { of, items: rows.map(({ item }) => item) }
  const isBehind = useRef(false)
  isBehind.current = held.waiting > 0 || gone.length > 0
  useEffect(() => {
    if (gone.length === 0) return
    const timer = setTimeout(() => redraw(undefined as never), goneMs)
    return () => clearTimeout(timer)
  }, [gone.join()])
  useLayoutEffect(() => {
    // The focus is nowhere while it moves.
    const look = () =>
      queueMicrotask(() => {
        if (isBehind.current && !isRead()) redraw(undefined as never)
      })
    const elements = of === undefined ? [] : [list.current, bar.current]
    for (const element of elements) for (const event of leaving) element?.addEventListener(event, look)
    return () => {
      for (const element of elements) for (const event of leaving) element?.removeEventListener(event, look)
    }
  }, [list.current, of === undefined])
  const release = () => {
    shown.current = undefined
    redraw(undefined as never)
  }
  return { rows, waiting: held.waiting, release, bar }
}

const leaving = ['pointerleave', 'focusout'] as const

function isUsed(element: HTMLElement | null): boolean {
  return element !== null && (element.matches(':hover') || element.contains(document.activeElement))
}

function isScrolled(list: HTMLElement | null): boolean {
  return list !== null && list.getBoundingClientRect().top < 0
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
