/** Parts of every graph of stages: zoom, edges, and the way of the arrow keys. */
import type { Layout } from '../graph/layout.ts'
import { words } from '../words.ts'

export const nodeSize = { width: 200, height: 52 } as const
/** Where edges begin and end, from the top of a node. */
const middle = nodeSize.height / 2
const corner = 6

interface Edge {
  readonly from: string
  readonly to: string
}

export function Zoom({ zoom, onZoom }: { zoom: number; onZoom: (zoom: number) => void }) {
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

export function zoomed(zoom: number, key: '+' | '-' | '0'): number {
  if (key === '0') return 1
  return Math.max(0.5, Math.min(1.5, zoom + (key === '+' ? 0.25 : -0.25)))
}

/** Right angles with round corners. */
export function toPath({ places }: Layout, from: string, to: string): string {
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
