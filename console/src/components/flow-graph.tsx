/** Stages as a graph from left to right: one Tab stop, arrows follow the edges. */
import type { ComponentChildren } from 'preact'
import { nodeHeight } from '../model/graph-layout.ts'
import { showHidden } from '../model/names.ts'

import { CutName, type Edge, GraphCanvas, neighbour, useGraph, useNodeFocus } from './graph-parts.tsx'
import { rem } from './rem.ts'

interface FlowNode {
  readonly id: string
  /** Ids of the nodes before it; those that do not exist are left out, as is itself. */
  readonly requires: readonly string[]
  readonly class?: string
  readonly name: string
  readonly type: string
  /** After name and type. */
  readonly mark: ComponentChildren
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
  const sized = nodes.map(({ id }) => ({ id, height: nodeHeight }))
  const inFocus = nodes.some(({ id }) => id === selected) ? selected : nodes[0]?.id
  const graph = useGraph(sized, edges, selected)
  const { layout, box } = graph
  const { moveTo } = useNodeFocus(box)
  const place = selected === undefined ? undefined : layout.places.get(selected)
  const onNodeKey = (event: KeyboardEvent) => {
    const current = (event.target as HTMLElement).dataset['node']
    if (current === undefined) return
    const next = neighbour(event.key, current, nodes, edges, layout)
    if (next === undefined) return onKey(event, current)
    event.preventDefault()
    moveTo(next)
  }
  return (
    <GraphCanvas
      graph={graph}
      nodes={sized}
      edges={edges}
      edgeClass={edgeClass}
      onKey={onNodeKey}
      tipOf={(wanted) => <Tip node={nodes.find(({ id }) => id === wanted)} />}
    >
      {nodes.map((node, index) => (
        <Node
          key={node.id}
          node={node}
          at={layout.places.get(node.id)}
          isSelected={node.id === selected}
          tabIndex={node.id === inFocus ? 0 : -1}
          // There is no mark of a state beside the name.
          width={layout.nodeWidth + 28}
          position={`${index + 1} of ${nodes.length}`}
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

function Tip({ node }: { node: FlowNode | undefined }) {
  if (node === undefined) return null
  return (
    <>
      <strong>{showHidden(node.name)}</strong>
      <span>{node.type}</span>
    </>
  )
}

interface NodeProps {
  readonly node: FlowNode
  /** A node that has just come has no place yet. */
  readonly at: { readonly x: number; readonly y: number } | undefined
  readonly isSelected: boolean
  readonly width: number
  readonly tabIndex: number
  readonly position: string
  readonly onSelect: (id: string) => void
}

function Node({ node, at, isSelected, width, tabIndex, position, onSelect }: NodeProps) {
  const { id, class: style = '', name, type, mark } = node
  if (at === undefined) return null
  return (
    <div class={`node ${style}`} style={{ left: rem(at.x), top: rem(at.y), height: rem(nodeHeight) }}>
      <button
        type="button"
        class="node-main"
        data-node={id}
        data-stage={id}
        aria-pressed={isSelected}
        tabIndex={tabIndex}
        onClick={() => onSelect(id)}
      >
        <span class="node-text">
          <span class="node-name">
            <CutName text={name} width={width} lines={2} />
          </span>
          <span class="node-type cut">{type}</span>
        </span>
        {mark}
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
