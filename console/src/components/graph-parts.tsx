/** Parts of every graph of stages: its size on the screen, canvas, edges, strip of controls, tooltip, and the way of the arrow keys. */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type GraphPlaces, graphMargin, nodeHeight, planGraph } from '../model/graph-layout.ts'
import { cutMiddle, showHidden } from '../model/names.ts'
import { Minimap } from './minimap.tsx'
import { rem, textScale } from './rem.ts'

const [widestNode, narrowestNode] = [200, 148]
const [wideGap, narrowGap] = [44, 28]
/** Smaller text is hard to read: a larger graph scrolls. */
const leastAtFirst = 0.75
const [leastZoom, mostZoom] = [0.25, 1.5]
const minimapFrom = 40
const maxTipWidth = 260

export interface Edge {
  readonly from: string
  readonly to: string
}

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Graph {
  readonly layout: GraphPlaces
  /** The element that scrolls. */
  readonly box: RefObject<HTMLDivElement | null>
  readonly zoom: number
  /** Undefined: as it was at first. */
  readonly setZoom: (zoom: number | undefined) => void
  /** At which all of it is in view. */
  readonly wholeZoom: number
  /** Pixels on the screen for one of the layout. */
  readonly drawn: number
  /** What is in view, in pixels on the screen. */
  readonly view: Box
}

/**
 * The layout in the room that there is: nodes become narrower before the text becomes smaller.
 *
 * @param home The node that is in view at first, and keeps its place on the screen when others come or go.
 */
export function useGraph(
  nodes: readonly { readonly id: string; readonly height: number }[],
  edges: readonly Edge[],
  home: string | undefined,
): Graph {
  const key = JSON.stringify([nodes, edges.map(({ from, to }) => [from, to])])
  const plan = useMemo(() => planGraph(nodes, edges), [key])
  const box = useRef<HTMLDivElement>(null)
  const scale = useMemo(textScale, [])
  const [chosen, setZoom] = useState<number | undefined>(undefined)
  const view = useView(box)
  const width = view.width / scale
  const room = (width - 2 * graphMargin) / plan.ranks
  const gap = clamp(narrowGap, room * 0.18, wideGap)
  const nodeWidth = clamp(narrowestNode, room - gap, widestNode)
  const layout = useMemo(() => plan.place(nodeWidth, gap), [plan, nodeWidth, gap])
  const wholeZoom = Math.min(1, width / layout.width, (innerHeight * 0.56) / scale / layout.height)
  const zoom = chosen ?? Math.max(leastAtFirst, wholeZoom)
  const graph = { layout, box, zoom, setZoom, wholeZoom: Math.max(0.1, wholeZoom), drawn: zoom * scale, view }
  useHome(graph, home)
  return graph
}

function clamp(least: number, wanted: number, most: number): number {
  return Math.round(Math.max(least, Math.min(most, wanted)))
}

function useView(box: RefObject<HTMLDivElement | null>): Box {
  const [view, setView] = useState<Box>({ x: 0, y: 0, width: innerWidth * 0.7, height: innerHeight / 2 })
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    let frame = 0
    const read = () => {
      frame = 0
      const { scrollLeft, scrollTop, clientWidth, clientHeight } = element
      const next = { x: scrollLeft, y: scrollTop, width: clientWidth, height: clientHeight }
      setView((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next))
    }
    const soon = () => {
      frame ||= requestAnimationFrame(read)
    }
    const resized = new ResizeObserver(read)
    read()
    resized.observe(element)
    element.addEventListener('scroll', soon, { passive: true })
    return () => {
      cancelAnimationFrame(frame)
      resized.disconnect()
      element.removeEventListener('scroll', soon)
    }
  }, [])
  return view
}

/** Where a node is on the screen: at first in the middle, and later where it was. */
function useHome({ layout, box, drawn }: Graph, home: string | undefined): void {
  const before = useRef<{ readonly home: string; readonly x: number; readonly y: number } | undefined>(undefined)
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
      current.scrollTo(x - (current.clientWidth - width) / 2, y - (current.clientHeight - height) / 2)
    }
  }, [home, x, y])
}

interface GraphCanvasProps<Drawn extends Edge> {
  readonly graph: Graph
  readonly nodes: readonly { readonly id: string; readonly tone?: string }[]
  readonly edges: readonly Drawn[]
  readonly edgeClass: (edge: Drawn) => string | undefined
  /** Keys other than those of the zoom. */
  readonly onKey: (event: KeyboardEvent) => void
  /** All of a node in words, for the pointer or the focus on it. */
  readonly tipOf: (id: string) => ComponentChildren
  /** The nodes, each at its place. */
  readonly children: ComponentChildren
}

export function GraphCanvas<Drawn extends Edge>(props: GraphCanvasProps<Drawn>) {
  const { graph, edges, edgeClass, onKey, tipOf, children } = props
  const { layout, box, zoom, setZoom } = graph
  const { tip, over, out } = useTip()
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event
    if (key === 'Escape') out()
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    if (!isPlain || !['+', '-', '0'].includes(key)) return onKey(event)
    event.preventDefault()
    setZoom(key === '0' ? undefined : zoomed(zoom, key === '+' ? 1 : -1))
  }
  return (
    <div class="graph-frame" onPointerLeave={out} onFocusOut={out} onPointerOver={over} onFocusIn={over}>
      <div class="graph" ref={box}>
        <div style={{ width: rem(layout.width * zoom), height: rem(layout.height * zoom) }}>
          <div
            class={`graph-canvas ${zoom < 0.7 ? 'is-small' : ''}`}
            role="group"
            aria-label="Stages"
            style={{
              width: rem(layout.width),
              height: rem(layout.height),
              '--node': rem(layout.nodeWidth),
              transform: zoom === 1 ? undefined : `scale(${zoom})`,
            }}
            onKeyDown={onKeyDown}
          >
            <Edges layout={layout} edges={edges} edgeClass={edgeClass} />
            {children}
          </div>
        </div>
      </div>
      {tip !== undefined && (
        <div class="node-tip" aria-hidden="true" style={tipPlace(graph, tip)}>
          {tipOf(tip)}
        </div>
      )}
      <Strip {...props} />
    </div>
  )
}

/** Of which node the tooltip is; it stays under the pointer. */
function useTip() {
  const [tip, setTip] = useState<string | undefined>(undefined)
  const over = ({ target }: Event) => {
    const [node, tooltip] = ['.node-main', '.node-tip'].map((part) => (target as Element).closest<HTMLElement>(part))
    if (tooltip == null) setTip(node?.dataset['node'])
  }
  return { tip, over, out: () => setTip(undefined) }
}

/** Below its node, within the frame. */
function tipPlace({ layout, drawn, view }: Graph, id: string) {
  const { x, y } = layout.places.get(id) ?? { x: 0, y: 0 }
  const left = Math.max(0, Math.min(x * drawn - view.x, view.width - maxTipWidth))
  return { left: `${left}px`, top: `${(y + nodeHeight) * drawn - view.y}px` }
}

function Edges<Drawn extends Edge>({
  layout: { width, height, lines },
  edges,
  edgeClass,
}: Pick<GraphCanvasProps<Drawn>, 'edges' | 'edgeClass'> & { layout: GraphPlaces }) {
  const alike = Map.groupBy(edges.keys(), (at) => edgeClass(edges[at] as Drawn) ?? '')
  // Those that matter lie above the others.
  const classes = [...alike].toSorted(([a], [b]) => a.length - b.length)
  return (
    <svg class="edges" width={rem(width)} height={rem(height)} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {classes.map(([style, places]) => (
        <path key={style} class={style} d={places.map((at) => lines[at]).join('')} />
      ))}
    </svg>
  )
}

/** Below the graph, so that it hides no node; only where not all of it is in view as it is. */
function Strip<Drawn extends Edge>({ graph, nodes }: GraphCanvasProps<Drawn>) {
  const { zoom, setZoom, wholeZoom } = graph
  if (wholeZoom === 1 && zoom === 1) return null
  const isWhole = Math.abs(zoom - wholeZoom) < 0.01
  return (
    <div class="graph-strip row">
      {nodes.length >= minimapFrom && <Minimap nodes={nodes} graph={graph} />}
      <span class="grow" />
      {!isWhole && wholeZoom < leastAtFirst && (
        <button type="button" class="button small" onClick={() => setZoom(wholeZoom)}>
          Whole pipeline
        </button>
      )}
      <button type="button" class="icon-button small" aria-label="Zoom out" onClick={() => setZoom(zoomed(zoom, -1))}>
        −
      </button>
      <button type="button" class="icon-button small wide" aria-label="Zoom to 100 %" onClick={() => setZoom(undefined)}>
        {`${Math.round(zoom * 100)} %`}
      </button>
      <button type="button" class="icon-button small" aria-label="Zoom in" onClick={() => setZoom(zoomed(zoom, 1))}>
        +
      </button>
    </div>
  )
}

function zoomed(zoom: number, by: 1 | -1): number {
  const step = (by === 1 ? Math.floor(zoom * 4) : Math.ceil(zoom * 4)) + by
  return Math.max(leastZoom, Math.min(mostZoom, step / 4))
}

/** Of the text of a name, with what is left at the end of a line. */
const charWidth = 8.4

interface CutNameProps {
  readonly text: string
  /** Of the node. */
  readonly width: number
  readonly lines: number
}

/** Beginning and end tell names apart; readers of the screen get all of it. */
export function CutName({ text, width, lines }: CutNameProps) {
  const shown = showHidden(text)
  const cut = cutMiddle(shown, lines * Math.floor((width - 58) / charWidth))
  return (
    <>
      <bdi aria-hidden={cut === shown ? undefined : true}>{cut}</bdi>
      {cut !== shown && <span class="visually-hidden">{shown}</span>}
    </>
  )
}

/** Moves the focus to nodes, also to one that is drawn only then. */
export function useNodeFocus(box: RefObject<HTMLDivElement | null>) {
  const [focused, setFocused] = useState<string | undefined>(undefined)
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

/** The node to which a key leads: along the edges, or up and down in a column. */
export function neighbour(
  key: string,
  current: string,
  nodes: readonly { readonly id: string }[],
  edges: readonly Edge[],
  { places }: GraphPlaces,
): string | undefined {
  if (key === 'ArrowRight') return edges.find(({ from }) => from === current)?.to
  if (key === 'ArrowLeft') return edges.find(({ to }) => to === current)?.from
  if (key === 'Home') return nodes[0]?.id
  if (key === 'End') return nodes.at(-1)?.id
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  const here = places.get(current)
  if (step === undefined || here === undefined) return undefined
  const column = nodes.flatMap(({ id }) => {
    const { x, y } = places.get(id) ?? here
    return id !== current && x === here.x && (y - here.y) * step > 0 ? [{ id, y }] : []
  })
  return column.toSorted((a, b) => (a.y - b.y) * step)[0]?.id
}
