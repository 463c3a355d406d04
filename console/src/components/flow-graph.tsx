/** Stages as a graph from left to right: one Tab stop, arrows follow the edges. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words.ts'
import { type Edge, GraphCanvas, neighbour, nodeSize, useLayout } from './graph-parts.tsx'
import { rem } from './rem.ts'

interface FlowNode {
  readonly id: string
  /** Ids of the nodes before it; those that do not exist are left out, as is itself. */
  readonly requires: readonly string[]
  readonly class?: string
  readonly content: ComponentChildren
}

interface FlowGraphProps {
  /** Each after those that it requires, which is also their order for screen readers. */
  readonly nodes: readonly FlowNode[]
  readonly selected: string | undefined
  readonly onSelect: (id: string) => void
  readonly edgeClass: (edge: Edge) => string
  /** Keys that the graph does not use itself, pressed on a node. */
  readonly onKey: (event: KeyboardEvent, id: string) => void
  /** Drawn above the selected node, at its place. */
  readonly handles?: ComponentChildren
}

export function FlowGraph({ nodes, selected, onSelect, edgeClass, onKey, handles }: FlowGraphProps) {
  const edges = toEdges(nodes)
  const { layout } = useLayout(
    nodes.map(({ id }) => ({ id, height: nodeSize.height })),
    edges,
  )
  const [zoom, setZoom] = useState(1)
  const box = useRef<HTMLDivElement>(null)
  const inFocus = nodes.some(({ id }) => id === selected) ? selected : nodes[0]?.id
  const place = selected === undefined ? undefined : layout?.places[selected]

  useLayoutEffect(() => {
    if (layout === undefined || selected === undefined) return
    box.current?.querySelector(`[data-stage="${CSS.escape(selected)}"]`)?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [layout === undefined])

  if (layout === undefined) return <div class="graph is-loading" aria-busy="true" />
  const onNodeKey = (event: KeyboardEvent) => {
    const current = (event.target as HTMLElement).dataset['stage']
    if (current === undefined) return
    const next = neighbour(event.key, current, nodes, edges, layout)
    if (next === undefined) return onKey(event, current)
    event.preventDefault()
    box.current?.querySelector<HTMLElement>(`[data-stage="${CSS.escape(next)}"]`)?.focus()
  }
  return (
    <GraphCanvas layout={layout} box={box} zoom={zoom} onZoom={setZoom} edges={edges} edgeClass={edgeClass} onKey={onNodeKey}>
      {nodes.map(({ id, class: style = '', content }, index) => {
        // A node that has just come has no place yet.
        const at = layout.places[id]
        if (at === undefined) return null
        return (
          <div key={id} class={`node ${style}`} style={{ left: rem(at.x), top: rem(at.y), height: rem(nodeSize.height) }}>
            <button
              type="button"
              class="node-main"
              data-stage={id}
              aria-pressed={id === selected}
              tabIndex={id === inFocus ? 0 : -1}
              onClick={() => onSelect(id)}
            >
              {content}
              <span class="visually-hidden">{words.ofStages(index + 1, nodes.length)}</span>
            </button>
          </div>
        )
      })}
      {place !== undefined && handles !== undefined && (
        <div class="node-handles" style={{ left: rem(place.x), top: rem(place.y) }}>
          {handles}
        </div>
      )}
    </GraphCanvas>
  )
}

function toEdges(nodes: readonly FlowNode[]): readonly Edge[] {
  const known = new Set(nodes.map(({ id }) => id))
  return nodes.flatMap(({ id, requires }) =>
    [...new Set(requires)].flatMap((from): Edge[] => (known.has(from) && from !== id ? [{ from, to: id }] : [])),
  )
}
