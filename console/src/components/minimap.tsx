/** A large graph as a whole, with the part that is in view. For the pointer; keys move in the graph itself. */
import type { RefObject } from 'preact'
import { useMemo } from 'preact/hooks'
import { type GraphPlaces, nodeHeight } from '../model/graph-layout.ts'
import { rem } from './rem.ts'

interface MinimapProps {
  readonly nodes: readonly { readonly id: string; readonly tone?: string }[]
  readonly graph: {
    readonly layout: GraphPlaces
    readonly box: RefObject<HTMLDivElement | null>
    readonly drawn: number
    readonly view: { readonly x: number; readonly y: number; readonly width: number; readonly height: number }
  }
}

const [maxWidth, maxHeight, minHeight] = [320, 72, 36]

export function Minimap({ nodes, graph: { layout, view, drawn: zoom, box } }: MinimapProps) {
  const boxes = useMemo(() => new Map([...layout.places.keys()].map((id) => [id, boxAt(layout, id)])), [layout])
  const scale = Math.min(maxWidth / layout.width, maxHeight / layout.height)
  // A long row would be a line without height.
  const [width, height] = [layout.width * scale, Math.max(minHeight, layout.height * scale)]
  const moveTo = (event: PointerEvent) => {
    const frame = (event.currentTarget as Element).getBoundingClientRect()
    const x = ((event.clientX - frame.left) / frame.width) * layout.width
    const y = ((event.clientY - frame.top) / frame.height) * layout.height
    box.current?.scrollTo(x * zoom - view.width / 2, y * zoom - view.height / 2)
  }
  return (
    <svg
      class="minimap"
      width={rem(width)}
      height={rem(height)}
      preserveAspectRatio="none"
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      aria-hidden="true"
      onPointerDown={moveTo}
      onPointerMove={(event) => event.buttons === 1 && moveTo(event)}
    >
      {[...Map.groupBy(nodes, ({ tone = 'unknown' }) => tone)].map(([kind, alike]) => (
        <path key={kind} class={`is-${kind}`} d={alike.map(({ id }) => boxes.get(id)).join('')} />
      ))}
      <rect class="minimap-view" x={view.x / zoom} y={view.y / zoom} width={view.width / zoom} height={view.height / zoom} />
    </svg>
  )
}

function boxAt({ places, nodeWidth }: GraphPlaces, id: string): string {
  const { x = 0, y = 0 } = places.get(id) ?? {}
  return `M${x} ${y}h${nodeWidth}v${nodeHeight}h${-nodeWidth}z`
}
