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

  useSelectedInView(box, layout !== undefined, selected)
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
      {nodes.map((node, index) => (
        <Node
          key={node.id}
          node={node}
          at={layout.places[node.id]}
          isSelected={node.id === selected}
          tabIndex={node.id === inFocus ? 0 : -1}
          position={words.ofStages(index + 1, nodes.length)}
          onSelect={onSelect}
        />
      ))}
      {place !== undefined && handles !== undefined && (
        <div class="node-handles" style={{ left: rem(place.x), top: rem(place.y) }}>
          {handles}
        </div>
      )}
    </GraphCanvas>
  )
}

/** When the graph appears. */
function useSelectedInView(box: { readonly current: HTMLElement | null }, isShown: boolean, selected: string | undefined): void {
  useLayoutEffect(() => {
    if (!isShown || selected === undefined) return
    const node = box.current?.querySelector(`[data-stage="${CSS.escape(selected)}"]`)
    node?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [isShown])
}

interface NodeProps {
  readonly node: FlowNode
  /** A node that has just come has no place yet. */
  readonly at: { readonly x: number; readonly y: number } | undefined
  readonly isSelected: boolean
  readonly tabIndex: number
  readonly position: string
  readonly onSelect: (id: string) => void
}

function Node({ node: { id, class: style = '', content }, at, isSelected, tabIndex, position, onSelect }: NodeProps) {
  if (at === undefined) return null
  return (
    <div class={`node ${style}`} style={{ left: rem(at.x), top: rem(at.y), height: rem(nodeSize.height) }}>
      <button
        type="button"
        class="node-main"
        data-stage={id}
        aria-pressed={isSelected}
        tabIndex={tabIndex}
        onClick={() => onSelect(id)}
      >
        {content}
        <span class="visually-hidden">{position}</span>
      </button>
    </div>
  )
}

function toEdges(nodes: readonly FlowNode[]): readonly Edge[] {
  const known = new Set(nodes.map(({ id }) => id))
  return nodes.flatMap(({ id, requires }) =>
    [...new Set(requires)].flatMap((from): Edge[] => (known.has(from) && from !== id ? [{ from, to: id }] : [])),
  )
}
