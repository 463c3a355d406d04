/** Parts of every graph of stages: layout, canvas, zoom, edges, and the way of the arrow keys. */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type Layout, layoutGraph } from '../graph/layout.ts'
import { words } from '../words.ts'
import { rem } from './rem.ts'

export const nodeSize = { width: 200, height: 52 } as const
/** Where edges begin and end, from the top of a node. */
const middle = nodeSize.height / 2
const corner = 6

export interface Edge {
  readonly from: string
  readonly to: string
}

interface LaidOut {
  /** The layout of the last shape until that of the present one is known: new nodes have no place in it. */
  readonly layout: Layout | undefined
  readonly isFailed: boolean
}

export function useLayout(nodes: readonly { readonly id: string; readonly height: number }[], edges: readonly Edge[]): LaidOut {
  const [done, setDone] = useState<LaidOut>({ layout: undefined, isFailed: false })
  const links = useMemo(() => JSON.stringify(edges.map(({ from, to }) => [from, to])), [edges])
  useEffect(() => {
    let isCurrent = true
    const shape = {
      nodes: nodes.map(({ id, height }) => ({ id, width: nodeSize.width, height })),
      edges: edges.map(({ from, to }) => [from, to] as const),
    }
    void layoutGraph(shape).then((layout) => isCurrent && setDone({ layout, isFailed: layout === undefined }))
    return () => {
      isCurrent = false
    }
  }, [nodes.map(({ id, height }) => `${id} ${height}`).join('\n'), links])
  return done
}

interface GraphCanvasProps<Drawn extends Edge> {
  readonly layout: Layout
  /** The element that scrolls. */
  readonly box: RefObject<HTMLDivElement | null>
  readonly zoom: number
  readonly onZoom: (zoom: number) => void
  readonly edges: readonly Drawn[]
  readonly edgeClass: (edge: Drawn) => string | undefined
  /** Keys other than those of the zoom. */
  readonly onKey: (event: KeyboardEvent) => void
  readonly class?: string
  /** The nodes, each at its place. */
  readonly children: ComponentChildren
  /** Above the canvas, where it does not scroll. */
  readonly overlay?: ComponentChildren
}

export function GraphCanvas<Drawn extends Edge>(props: GraphCanvasProps<Drawn>) {
  const { layout, box, zoom, onZoom, edges, edgeClass, onKey, class: style = '', children, overlay } = props
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    if (!isPlain || (key !== '+' && key !== '-' && key !== '0')) return onKey(event)
    event.preventDefault()
    onZoom(zoomed(zoom, key))
  }
  return (
    <div class="graph-frame">
      <div class="graph" ref={box}>
        <div style={{ width: rem(layout.width * zoom), height: rem(layout.height * zoom) }}>
          <div
            class={`graph-canvas ${style}`}
            role="group"
            aria-label={words.stages}
            style={{
              width: rem(layout.width),
              height: rem(layout.height),
              transform: zoom === 1 ? undefined : `scale(${zoom})`,
            }}
            onKeyDown={onKeyDown}
          >
            <Edges layout={layout} edges={edges} edgeClass={edgeClass} />
            {children}
          </div>
        </div>
      </div>
      {overlay}
      <Zoom zoom={zoom} onZoom={onZoom} />
    </div>
  )
}

function Edges<Drawn extends Edge>(props: Pick<GraphCanvasProps<Drawn>, 'layout' | 'edges' | 'edgeClass'>) {
  const { layout, edges, edgeClass } = props
  const { width, height } = layout
  const lines = useMemo(() => edges.map(({ from, to }) => toPath(layout, from, to)), [edges, layout])
  const alike = Map.groupBy(edges.keys(), (at) => edgeClass(edges[at] as Drawn) ?? '')
  return (
    <svg class="edges" width={rem(width)} height={rem(height)} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {[...alike].map(([style, places]) => (
        <path key={style} class={style} d={places.map((at) => lines[at]).join('')} />
      ))}
    </svg>
  )
}

function Zoom({ zoom, onZoom }: { zoom: number; onZoom: (zoom: number) => void }) {
  return (
    <div class="zoom row">
      <button type="button" class="icon-button small" aria-label={words.zoomOut} onClick={() => onZoom(zoomed(zoom, '-'))}>
        −
      </button>
      <button type="button" class="icon-button small wide" aria-label={words.zoomReset} onClick={() => onZoom(1)}>
        {`${Math.round(zoom * 100)} %`}
      </button>
      <button type="button" class="icon-button small" aria-label={words.zoomIn} onClick={() => onZoom(zoomed(zoom, '+'))}>
        +
      </button>
    </div>
  )
}

function zoomed(zoom: number, key: '+' | '-' | '0'): number {
  if (key === '0') return 1
  return Math.max(0.5, Math.min(1.5, zoom + (key === '+' ? 0.25 : -0.25)))
}

/** Right angles with round corners. */
function toPath({ places }: Layout, from: string, to: string): string {
  const [start, end] = [places[from], places[to]]
  if (start === undefined || end === undefined) return ''
  const [x1, y1] = [start.x + nodeSize.width, start.y + middle]
  const [x2, y2] = [end.x, end.y + middle]
  const bendAt = x2 - 24
  if (Math.abs(y1 - y2) < 1) return `M${x1} ${y1}H${x2}`
  const bend = Math.min(corner, Math.abs(y2 - y1) / 2)
  const down = y2 > y1 ? 1 : -1
  return `M${x1} ${y1}H${bendAt - bend}q${bend} 0 ${bend} ${bend * down}V${y2 - bend * down}q0 ${bend * down} ${bend} ${bend * down}H${x2}`
}

/** The node to which a key leads: along the edges, or up and down in a column. */
export function neighbour(
  key: string,
  current: string,
  nodes: readonly { readonly id: string }[],
  edges: readonly Edge[],
  { places }: Layout,
): string | undefined {
  if (key === 'ArrowRight') return edges.find(({ from }) => from === current)?.to
  if (key === 'ArrowLeft') return edges.find(({ to }) => to === current)?.from
  if (key === 'Home') return nodes[0]?.id
  if (key === 'End') return nodes.at(-1)?.id
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  const here = places[current]
  if (step === undefined || here === undefined) return undefined
  const column = nodes
    .map(({ id }) => ({ id, place: places[id] }))
    .filter(
      ({ id, place }) =>
        id !== current && place !== undefined && Math.abs(place.x - here.x) < 10 && (place.y - here.y) * step > 0,
    )
    .toSorted((a, b) => ((a.place?.y ?? 0) - (b.place?.y ?? 0)) * step)
  return column[0]?.id
}
