/** Stages from left to right: one Tab stop, arrows follow the edges. Of many nodes, those in view are in the page. */
import type { ComponentChildren, JSX, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { isSame } from '../model/edits.ts'
import {
  type Edge,
  type GraphPlaces,
  graphMargin,
  nodeHeight,
  planGraph,
} from '../model/graph-layout.ts'
import { cutMiddle, showHidden } from '../model/names.ts'
import { rem, textScale } from './text.tsx'

const [widestNode, narrowestNode] = [200, 120]
const [wideGap, narrowGap] = [44, 20]
const [leastZoom, mostZoom] = [0.25, 1.5]
const minimapFrom = 40
const [mapWidth, mapHeight, leastMapHeight] = [320, 72, 36]
const maxTipWidth = 260
/** From so many nodes on only those in view are drawn, and some around it, so that scrolling shows no gaps. */
const manyNodes = 60
const marginPx = 260
/** Average width in a name, with what is left at the end of a line. */
const charWidth = 8.4
/** So many of the nodes before one are named. */
const maxNamed = 3

export interface GraphItem {
  readonly id: string
  readonly name: string
  /** Below the name in the tooltip. */
  readonly facts: readonly (string | undefined)[]
  /** Spoken after the name, before the place in the graph. */
  readonly spoken: readonly (string | undefined)[]
  readonly height: number
  readonly class: string
  /** Attributes of its button. */
  readonly button: Omit<JSX.IntrinsicElements['button'], 'icon' | 'label'>
  readonly mark?: ComponentChildren
  /** Below the name. */
  readonly under: ComponentChildren
  readonly after?: ComponentChildren
  /** Further buttons beside its own. */
  readonly children?: ComponentChildren
}

interface GraphProps<Line extends Edge> {
  /** Each after those before it, which is also their order for screen readers. */
  readonly items: readonly GraphItem[]
  readonly edges: readonly Line[]
  /** The node that is in view at first, and keeps its place on the screen when others come or go. */
  readonly home: string | undefined
  readonly edgeClass: (edge: Line) => string
  /** Keys that the graph does not use itself, pressed on a node. */
  readonly onKey?: (event: KeyboardEvent, id: string) => void
}

export function Graph<Line extends Edge>(props: GraphProps<Line>) {
  const { items, edges, home } = props
  const view = useGraphView(items, edges, home)
  const { layout, box, zoom } = view
  const { focused, setFocused, moveTo } = useNodeFocus(box)
  const [tip, setTip] = useState<string>()
  const showTip = ({ target }: Event) => {
    const [node, tooltip] = ['.node-main', '.node-tip'].map((part) =>
      (target as Element).closest<HTMLElement>(part),
    )
    // It stays under the pointer.
    if (tooltip == null) setTip(node?.dataset['node'])
  }
  const hideTip = () => setTip(undefined)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') hideTip()
    const next = followKey(event, props, view)
    if (next !== undefined) moveTo(next)
  }
  const inFocus = [focused, home].find((id) => items.some((item) => item.id === id)) ?? items[0]?.id
  const before = Map.groupBy(edges, ({ to }) => to)
  const nameOf = new Map(items.map(({ id, name }) => [id, name]))
  return (
    <div
      class="graph-frame"
      onPointerLeave={hideTip}
      onFocusOut={hideTip}
      onPointerOver={showTip}
      onFocusIn={showTip}
    >
      <div class="graph" ref={box}>
        <div style={{ width: rem(layout.width * zoom), height: rem(layout.height * zoom) }}>
          <div
            class={`graph-canvas ${zoom < 0.7 ? 'is-small' : ''}`}
            role="group"
            aria-label="Stages"
            style={{
              ...sizeOf(layout),
              '--node': rem(layout.nodeWidth),
              transform: zoom === 1 ? undefined : `scale(${zoom})`,
            }}
            onKeyDown={onKeyDown}
          >
            <Edges layout={layout} {...props} />
            {items.map((item, at) => {
              const place = layout.places.get(item.id)
              const isDrawn =
                items.length <= manyNodes || item.id === inFocus || (place && isInView(place, view))
              if (place === undefined || !isDrawn) return null
              const names = (before.get(item.id) ?? [])
                .slice(0, maxNamed)
                .flatMap(({ from }) => nameOf.get(from) ?? [])
              return (
                <Node
                  key={item.id}
                  {...item}
                  place={place}
                  width={layout.nodeWidth}
                  tabIndex={item.id === inFocus ? 0 : -1}
                  position={[
                    names.length > 0 && `after ${names.join(', ')}`,
                    `${at + 1} of ${items.length}`,
                  ]}
                  onFocusIn={() => setFocused(item.id)}
                />
              )
            })}
          </div>
        </div>
      </div>
      <Tip item={items.find(({ id }) => id === tip)} view={view} />
      <Strip items={items} view={view} />
    </div>
  )
}

function sizeOf({ width, height }: GraphPlaces) {
  return { width: rem(width), height: rem(height) }
}

interface NodeProps extends GraphItem {
  readonly position: readonly (string | false)[]
  readonly place: { readonly x: number; readonly y: number }
  readonly width: number
  readonly tabIndex: number
  readonly onFocusIn: () => void
}

/** Beginning and end of its name tell it apart; screen readers get all of it. */
function Node({ id, name, spoken, button, mark, under, after, children, ...drawn }: NodeProps) {
  const shown = showHidden(name)
  const room = drawn.width - (mark === undefined ? 30 : 58)
  const { x, y } = drawn.place
  return (
    <div
      class={`node ${drawn.class}`}
      style={{ left: rem(x), top: rem(y), height: rem(drawn.height) }}
      data-place={id}
      onFocusIn={drawn.onFocusIn}
    >
      <button type="button" class="node-main" data-node={id} tabIndex={drawn.tabIndex} {...button}>
        {mark}
        <span class="visually-hidden">
          {[shown, ...spoken, ...drawn.position].filter(Boolean).join(', ')}
        </span>
        <span class="node-text" aria-hidden="true">
          <span class="node-name">
            <bdi>{cutMiddle(shown, 2 * Math.floor(room / charWidth))}</bdi>
          </span>
          {under}
        </span>
        {after}
      </button>
      {children}
    </div>
  )
}

type GraphView = ReturnType<typeof useGraphView>

/** The layout in the room that there is: nodes become narrower before the text becomes smaller. */
function useGraphView(
  items: readonly GraphItem[],
  edges: readonly Edge[],
  home: string | undefined,
) {
  const key = JSON.stringify([
    items.map(({ id, height }) => [id, height]),
    edges.map(({ from, to }) => [from, to]),
  ])
  const plan = useMemo(() => planGraph(items, edges), [key])
  const box = useRef<HTMLDivElement>(null)
  const scale = useMemo(textScale, [])
  /** Undefined: as it is at first. */
  const [chosen, setZoom] = useState<number>()
  const seen = useSeen(box)
  const width = seen.width / scale
  const room = (width - 2 * graphMargin) / plan.ranks
  const gap = clamp(narrowGap, room * 0.18, wideGap)
  const nodeWidth = clamp(narrowestNode, room - gap, widestNode)
  const layout = useMemo(() => plan.place(nodeWidth, gap), [plan, nodeWidth, gap])
  /** Zoom at which all of it is in view. */
  const wholeZoom = Math.max(
    0.1,
    Math.min(1, width / layout.width, (innerHeight * 0.7) / scale / layout.height),
  )
  /** Smaller text is hard to read: a larger graph scrolls. */
  const zoom = chosen ?? 1
  /** Pixels on the screen for one of the layout. */
  const drawn = zoom * scale
  useHome(box, layout, drawn, home)
  return { layout, box, seen, zoom, setZoom, wholeZoom, drawn }
}

function clamp(least: number, wanted: number, most: number) {
  return Math.round(Math.max(least, Math.min(most, wanted)))
}

/** What of the element that scrolls is in view, in pixels on the screen. */
function useSeen(box: RefObject<HTMLDivElement | null>) {
  const [seen, setSeen] = useState({ x: 0, y: 0, width: innerWidth * 0.7, height: innerHeight / 2 })
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const read = () => {
      const { scrollLeft: x, scrollTop: y, clientWidth: width, clientHeight: height } = element
      setSeen((before) =>
        isSame(before, { x, y, width, height }) ? before : { x, y, width, height },
      )
    }
    const resized = new ResizeObserver(read)
    read()
    resized.observe(element)
    // Browsers report it once before each painting.
    element.addEventListener('scroll', read, { passive: true })
    return () => {
      resized.disconnect()
      element.removeEventListener('scroll', read)
    }
  }, [])
  return seen
}

/** Where a node is on the screen: at first in the middle, and later where it was. */
function useHome(
  box: RefObject<HTMLDivElement | null>,
  layout: GraphPlaces,
  drawn: number,
  home: string | undefined,
) {
  const before = useRef<
    { readonly home: string; readonly x: number; readonly y: number } | undefined
  >(undefined)
  const place = home === undefined ? undefined : layout.places.get(home)
  const [x, y] = [(place?.x ?? 0) * drawn, (place?.y ?? 0) * drawn]
  useLayoutEffect(() => {
    const { current } = box
    if (home === undefined || place === undefined || current === null) return
    const last = before.current
    before.current = { home, x, y }
    if (last?.home === home) current.scrollBy(x - last.x, y - last.y)
    else if (last === undefined) {
      const [width, height] = [layout.nodeWidth * drawn, nodeHeight * drawn]
      current.scrollTo(
        x - (current.clientWidth - width) / 2,
        y - (current.clientHeight - height) / 2,
      )
    }
  }, [home, x, y])
}

function isInView(
  { x, y }: { readonly x: number; readonly y: number },
  { seen, drawn, layout }: GraphView,
) {
  const isNear = (from: number, size: number, start: number, length: number) =>
    (from + size) * drawn > start - marginPx && from * drawn < start + length + marginPx
  return (
    isNear(x, layout.nodeWidth, seen.x, seen.width) && isNear(y, nodeHeight, seen.y, seen.height)
  )
}

/** Moves the focus to nodes, also to one that is drawn only then. */
function useNodeFocus(box: RefObject<HTMLDivElement | null>) {
  const [focused, setFocused] = useState<string>()
  const wanted = useRef<string | undefined>(undefined)
  const focus = (id: string): boolean => {
    const node = box.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`)
    node?.focus({ preventScroll: true })
    node?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    return node != null
  }
  useEffect(() => {
    if (wanted.current !== undefined) focus(wanted.current)
    wanted.current = undefined
  })
  const moveTo = (id: string) => {
    // The next key may come before a node is drawn anew.
    if (!focus(id)) wanted.current = id
    setFocused(id)
  }
  return { focused, setFocused, moveTo }
}

/** Zooms, or moves the focus within a node. @returns the node to which the key leads instead */
function followKey<Line extends Edge>(
  event: KeyboardEvent,
  props: GraphProps<Line>,
  view: GraphView,
) {
  const { key, target } = event
  const node = (target as HTMLElement).closest<HTMLElement>('.node')
  const current = node?.dataset['place']
  if (event.ctrlKey || event.metaKey || event.altKey || current === undefined) return undefined
  if (['+', '-', '0'].includes(key)) {
    event.preventDefault()
    view.setZoom(key === '0' ? undefined : zoomed(view.zoom, key === '+' ? 1 : -1))
    return undefined
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  const buttons = [...(node?.querySelectorAll<HTMLElement>('button') ?? [])]
  // Up and down first pass through what a node contains.
  const within = step && buttons[buttons.indexOf(target as HTMLElement) + step]
  const next = within ? undefined : neighbour(key, current, props, view.layout)
  if (!within && next === undefined) props.onKey?.(event, current)
  else event.preventDefault()
  if (within) within.focus()
  return next
}

/** The node to which a key leads: along the edges, or up and down in a column. */
function neighbour<Line extends Edge>(
  key: string,
  current: string,
  { items, edges }: GraphProps<Line>,
  { places }: GraphPlaces,
) {
  if (key === 'ArrowRight') return edges.find(({ from }) => from === current)?.to
  if (key === 'ArrowLeft') return edges.find(({ to }) => to === current)?.from
  if (key === 'Home') return items[0]?.id
  if (key === 'End') return items.at(-1)?.id
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  const here = places.get(current)
  if (step === undefined || here === undefined) return undefined
  const column = items.flatMap(({ id }) => {
    const { x, y } = places.get(id) ?? here
    return id !== current && x === here.x && (y - here.y) * step > 0 ? [{ id, y }] : []
  })
  return column.toSorted((a, b) => (a.y - b.y) * step)[0]?.id
}

/** Below its node, within the frame. */
function Tip({
  item,
  view: { layout, drawn, seen },
}: {
  item: GraphItem | undefined
  view: GraphView
}) {
  if (item === undefined) return null
  const { x, y } = layout.places.get(item.id) ?? { x: 0, y: 0 }
  const left = Math.max(0, Math.min(x * drawn - seen.x, seen.width - maxTipWidth))
  return (
    <div
      class="node-tip"
      aria-hidden="true"
      style={{ left: `${left}px`, top: `${(y + nodeHeight) * drawn - seen.y}px` }}
    >
      <strong>{showHidden(item.name)}</strong>
      {item.facts.map((fact) => fact && <span key={fact}>{fact}</span>)}
    </div>
  )
}

function Edges<Line extends Edge>({
  layout,
  edges,
  edgeClass,
}: GraphProps<Line> & { layout: GraphPlaces }) {
  const alike = Map.groupBy(edges.keys(), (at) => edgeClass(edges[at] as Line))
  // Those that matter lie above the others.
  const classes = [...alike].toSorted(([a], [b]) => a.length - b.length)
  return (
    <svg
      class="edges"
      {...sizeOf(layout)}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      aria-hidden="true"
    >
      {classes.map(([style, places]) => (
        <path key={style} class={style} d={places.map((at) => layout.lines[at]).join('')} />
      ))}
    </svg>
  )
}

/** Below the graph, so that it hides no node; only where not all of it is in view as it is. */
function Strip({ items, view }: { items: readonly GraphItem[]; view: GraphView }) {
  const { zoom, setZoom, wholeZoom } = view
  if (wholeZoom === 1 && zoom === 1) return null
  const steps = [
    ['Zoom out', '−', zoomed(zoom, -1)],
    ['Zoom to 100 %', `${Math.round(zoom * 100)} %`, undefined],
    ['Zoom in', '+', zoomed(zoom, 1)],
  ] as const
  return (
    <div class="graph-strip row">
      {items.length >= minimapFrom && <Minimap items={items} view={view} />}
      <span class="grow" />
      {Math.abs(zoom - wholeZoom) >= 0.01 && (
        <button type="button" class="button small" onClick={() => setZoom(wholeZoom)}>
          Whole pipeline
        </button>
      )}
      {steps.map(([label, text, next]) => (
        <button
          key={label}
          type="button"
          class={`icon-button small ${next === undefined ? 'wide' : ''}`}
          aria-label={label}
          onClick={() => setZoom(next)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}

function zoomed(zoom: number, by: 1 | -1) {
  const step = (by === 1 ? Math.floor(zoom * 4) : Math.ceil(zoom * 4)) + by
  return Math.max(leastZoom, Math.min(mostZoom, step / 4))
}

/** All of a large graph, with the part that is in view. For the pointer; keys move in the graph itself. */
function Minimap({
  items,
  view: { layout, seen, drawn, box },
}: {
  items: readonly GraphItem[]
  view: GraphView
}) {
  const { width, height, places, nodeWidth } = layout
  const scale = Math.min(mapWidth / width, mapHeight / height)
  const moveTo = (event: PointerEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect()
    const x = ((event.clientX - frame.left) / frame.width) * width
    const y = ((event.clientY - frame.top) / frame.height) * height
    box.current?.scrollTo(x * drawn - seen.width / 2, y * drawn - seen.height / 2)
  }
  const boxOf = ({ id }: GraphItem) => {
    const { x = 0, y = 0 } = places.get(id) ?? {}
    return `M${x} ${y}h${nodeWidth}v${nodeHeight}h${-nodeWidth}z`
  }
  return (
    <svg
      class="minimap"
      width={rem(width * scale)}
      // A long row would be a line without height.
      height={rem(Math.max(leastMapHeight, height * scale))}
      preserveAspectRatio="none"
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden="true"
      onPointerDown={moveTo}
      onPointerMove={(event) => event.buttons === 1 && moveTo(event)}
    >
      {[...Map.groupBy(items, (item) => item.class)].map(([style, alike]) => (
        <path key={style} class={style} d={alike.map(boxOf).join('')} />
      ))}
      <rect
        class="minimap-view"
        x={seen.x / drawn}
        y={seen.y / drawn}
        width={seen.width / drawn}
        height={seen.height / drawn}
      />
    </svg>
  )
}
