/** Of many rows those near the view, so that the page holds no more of them. They scroll with the window. */
import {
  observeWindowOffset,
  observeWindowRect,
  Virtualizer,
  type VirtualizerOptions,
  windowScroll,
} from '@tanstack/virtual-core'
import type { RefObject } from 'preact'
import { useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks'
import { textScale } from './rem.ts'

export interface RowSizes {
  /** Estimated, in pixels at the usual text size; drawn rows are measured. */
  readonly rowHeight: number | ((at: number) => number)
  /** Up to so many rows are all in the page, where the browser finds them. */
  readonly drawAll?: number
  /** Rows around the view: fewer where each has many elements. */
  readonly overscan?: number
}

interface RowsInView {
  /** Their places among all. */
  readonly places: readonly number[]
  /** Pixels of the rows that are left out. */
  readonly before: number
  readonly after: number
  /** Whether some may be left out. */
  readonly isPart: boolean
  /** For the element of a row, whose `data-index` is its place. */
  readonly measure: (element: Element | null) => void
}

export function useRowsInView(list: RefObject<HTMLElement | null>, keys: readonly string[], sizes: RowSizes): RowsInView {
  const { rowHeight, drawAll = 80, overscan = 12 } = sizes
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const scale = useMemo(textScale, [])
  const margin = useRef(0)
  const kept = useRef<Virtualizer<Window, Element> | undefined>(undefined)
  const isPart = keys.length > drawAll
  // What stands above the list does not change while it scrolls, and to ask would make the browser lay out the page twice.
  if (isPart && kept.current?.isScrolling !== true) {
    margin.current = (list.current?.getBoundingClientRect().top ?? 0) + window.scrollY
  }
  const options: VirtualizerOptions<Window, Element> = {
    enabled: isPart,
    count: keys.length,
    estimateSize: (at: number) => scale * (typeof rowHeight === 'number' ? rowHeight : rowHeight(at)),
    getItemKey: (at: number) => keys[at] as string,
    overscan,
    getScrollElement: () => window,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    scrollMargin: margin.current,
    initialOffset: () => window.scrollY,
    onChange: () => redraw(undefined as never),
  }
  const virtualizer = kept.current ?? new Virtualizer(options)
  kept.current = virtualizer
  virtualizer.setOptions(options)
  useLayoutEffect(() => {
    if (!isPart) return
    const detach = virtualizer._didMount()
    redraw(undefined as never)
    return detach
  }, [isPart])
  useLayoutEffect(() => virtualizer._willUpdate())
  if (!isPart) return { places: [...keys.keys()], before: 0, after: 0, isPart, measure: () => {} }
  const items = virtualizer.getVirtualItems()
  return {
    places: items.map(({ index }) => index),
    before: Math.max(0, (items[0]?.start ?? margin.current) - margin.current),
    after: Math.max(0, virtualizer.getTotalSize() + margin.current - (items.at(-1)?.end ?? margin.current)),
    isPart,
    measure: virtualizer.measureElement,
  }
}
