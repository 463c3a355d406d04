/** A long list of which only the rows near the view are in the page. It scrolls with the window. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  observeWindowOffset,
  observeWindowRect,
  type Virtualizer,
  windowScroll,
} from '@tanstack/virtual-core'
import type { ComponentChildren, RefObject } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { useVirtualizer } from '../runtime/virtualizer.ts'
import { NewRows, useHeldRows } from './held-rows.tsx'
import { kept } from './kept.tsx'
import { textScale } from './rem.ts'

interface VirtualListProps<Item> {
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** Estimated, in pixels at the usual text size; drawn rows are measured. */
  readonly rowHeight: number | ((item: Item) => number)
  readonly row: (item: Item, index: number) => ComponentChildren
  readonly label?: string
  readonly class?: string
  /** Up to so many rows are all in the page, where the browser finds them. */
  readonly drawAll?: number
  /** Rows around the view: fewer where each has many elements. */
  readonly overscan?: number
  /** For a list that changes while it is read: what its rows are of, such as the filter. Rows then keep their places. */
  readonly heldOf?: string
  /** The head of a table, whose rows have the roles of one themselves. */
  readonly tableHead?: ComponentChildren
  /** Scrolls in a box of its own with this class instead of with the window. */
  readonly boxed?: boolean
}

const alwaysDrawn = 80

interface DrawnListProps<Item> extends VirtualListProps<Item> {
  readonly list: RefObject<HTMLElement | null>
  /** Keys of rows that have left the list. */
  readonly gone: ReadonlySet<string>
}

export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { keyOf, drawAll = alwaysDrawn } = props
  const list = useRef<HTMLElement>(null)
  const { rows, ...held } = useHeldRows(list, props.items, keyOf, props.heldOf)
  const items = rows.map(({ item }) => item)
  const gone = new Set(rows.flatMap(({ item, isGone }) => (isGone ? [keyOf(item)] : [])))
  const drawn = { ...props, items, list, gone }
  return (
    <>
      {props.heldOf !== undefined && <NewRows {...held} />}
      {items.length > drawAll ? <Windowed {...drawn} /> : <Whole {...drawn} />}
    </>
  )
}

function Whole<Item>(props: DrawnListProps<Item>) {
  const { items, keyOf, row, gone } = props
  const Place = placeOf(props)
  return (
    <Rows {...props}>
      {items.map((item, index) => (
        <Place key={keyOf(item)} class={gone.has(keyOf(item)) ? 'is-gone' : undefined}>
          {row(item, index)}
        </Place>
      ))}
    </Rows>
  )
}

type RowsProps = Pick<DrawnListProps<unknown>, 'label' | 'class' | 'list' | 'tableHead'> & {
  readonly heightPx?: number
  readonly children: ComponentChildren
}

/** A list, or the body of a table below its head. */
function Rows({ label, class: style = '', list, tableHead, heightPx, children }: RowsProps) {
  const rows = {
    class: `rows ${heightPx === undefined ? '' : 'is-virtual'} ${style}`,
    ...(heightPx !== undefined && { style: { height: `${heightPx}px` } }),
    children,
  }
  if (tableHead === undefined) return <ul {...rows} aria-label={label} ref={list as RefObject<HTMLUListElement>} />
  return (
    <div role="table" aria-label={label}>
      {tableHead}
      <div {...rows} role="rowgroup" ref={list as RefObject<HTMLDivElement>} />
    </div>
  )
}

function placeOf({ tableHead }: { readonly tableHead?: ComponentChildren }): 'div' | 'li' {
  return tableHead === undefined ? 'li' : 'div'
}

function Windowed<Item>(props: DrawnListProps<Item>) {
  return props.boxed === true ? <InBox {...props} /> : <InPage {...props} />
}

function InPage<Item>(props: DrawnListProps<Item>) {
  const { list } = props
  const margin = useRef(0)
  const shared = useRowOptions(props)
  const virtualizer = useVirtualizer<Window>((present) => {
    // What stands above the list does not change while it scrolls, and to ask would make the browser lay out the page twice.
    if (present?.isScrolling !== true) margin.current = (list.current?.getBoundingClientRect().top ?? 0) + window.scrollY
    return {
      ...shared,
      getScrollElement: () => window,
      observeElementRect: observeWindowRect,
      observeElementOffset: observeWindowOffset,
      scrollToFn: windowScroll,
      scrollMargin: margin.current,
      initialOffset: () => window.scrollY,
    }
  })
  return <RowsInView {...props} virtualizer={virtualizer} above={margin.current} />
}

function InBox<Item>(props: DrawnListProps<Item>) {
  const box = useRef<HTMLDivElement>(null)
  const shared = useRowOptions(props)
  const scrolled = { getScrollElement: () => box.current, observeElementRect, observeElementOffset, scrollToFn: elementScroll }
  const virtualizer = useVirtualizer<Element>(() => ({ ...shared, ...scrolled }))
  return (
    <div class="boxed" ref={box}>
      <RowsInView {...props} virtualizer={virtualizer} above={0} />
    </div>
  )
}

function useRowOptions<Item>({ items, keyOf, rowHeight, overscan = 12 }: DrawnListProps<Item>) {
  const scale = useMemo(textScale, [])
  return {
    count: items.length,
    estimateSize: (index: number) => scale * (typeof rowHeight === 'number' ? rowHeight : rowHeight(items[index] as Item)),
    getItemKey: (index: number) => keyOf(items[index] as Item),
    overscan,
  }
}

interface RowsInViewProps<Item> extends DrawnListProps<Item> {
  readonly virtualizer: Pick<Virtualizer<Window, Element>, 'getTotalSize' | 'getVirtualItems' | 'measureElement'> | undefined
  /** Pixels of the page above the list. */
  readonly above: number
}

function RowsInView<Item>({ virtualizer, above, ...props }: RowsInViewProps<Item>) {
  const { items, row, gone, tableHead } = props
  const Place = placeOf(props)
  const position = (index: number) =>
    tableHead === undefined ? { 'aria-posinset': index + 1, 'aria-setsize': items.length } : {}
  if (virtualizer === undefined) return <Whole {...props} />
  return (
    <Rows {...props} heightPx={virtualizer.getTotalSize()}>
      {virtualizer.getVirtualItems().map(({ index, key, start }) => (
        <Place
          key={key}
          ref={virtualizer.measureElement}
          data-index={index}
          {...position(index)}
          style={{ top: `${start - above}px` }}
          class={gone.has(String(key)) ? 'at is-gone' : 'at'}
        >
          <Row row={row as AnyRow} item={items[index]} index={index} />
        </Place>
      ))}
    </Rows>
  )
}

type AnyRow = (item: unknown, index: number) => ComponentChildren

/** While only the view moves, rows that stay are not drawn again. */
const Row = kept(({ row, item, index }: { row: AnyRow; item: unknown; index: number }) => <>{row(item, index)}</>)
