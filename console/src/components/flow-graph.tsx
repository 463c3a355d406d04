/** Stages as a graph from left to right: one Tab stop, arrows follow the edges. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Layout, layoutGraph } from '../graph/layout.ts'
import { words } from '../words.ts'
import { neighbour, nodeSize, toPath, Zoom, zoomed } from './graph-parts.tsx'

interface Edge {
  readonly from: string
  readonly to: string
}

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
  readonly edgeClass?: (from: string, to: string) => string
  /** Keys that the graph does not use itself, pressed on a node. */
  readonly onKey?: (event: KeyboardEvent, id: string) => void
  /** Drawn above the selected node, at its place. */
  readonly handles?: ComponentChildren
}

export function FlowGraph({ nodes, selected, onSelect, edgeClass, onKey, handles }: FlowGraphProps) {
  const shape = nodes.map(({ id, requires }) => `${id}\t${requires.join('\t')}`).join('\n')
  const edges = useMemo(() => toEdges(nodes), [shape])
  const layout = useLayout(nodes, edges)
  const [zoom, setZoom] = useState(1)
  const box = useRef<HTMLDivElement>(null)
  const inFocus = nodes.some(({ id }) => id === selected) ? selected : nodes[0]?.id
  const place = selected === undefined ? undefined : layout?.places[selected]

  useLayoutEffect(() => {
    if (layout === undefined || selected === undefined) return
    box.current?.querySelector(`[data-stage="${CSS.escape(selected)}"]`)?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [layout === undefined])

  if (layout === undefined) return <div class="graph is-loading" aria-busy="true" />
  const onKeyDown = (event: KeyboardEvent) => {
    const current = (event.target as HTMLElement).dataset['stage']
    if (current === undefined) return
    if (!event.ctrlKey && !event.metaKey && (event.key === '+' || event.key === '-' || event.key === '0')) {
      setZoom(zoomed(zoom, event.key))
      return
    }
    const next = neighbour(event.key, current, nodes, edges, layout)
    if (next === undefined) return onKey?.(event, current)
    event.preventDefault()
    box.current?.querySelector<HTMLElement>(`[data-stage="${CSS.escape(next)}"]`)?.focus()
  }
  return (
    <div class="graph-frame">
      <div class="graph" ref={box}>
        <div style={{ width: `${layout.width * zoom}px`, height: `${layout.height * zoom}px` }}>
          <div
            class="graph-canvas"
            role="group"
            aria-label={words.stages}
            style={{
              width: `${layout.width}px`,
              height: `${layout.height}px`,
              transform: zoom === 1 ? undefined : `scale(${zoom})`,
            }}
            onKeyDown={onKeyDown}
          >
            <svg class="edges" width={layout.width} height={layout.height} aria-hidden="true">
              {edges.map(({ from, to }) => (
                <path key={`${from} ${to}`} class={edgeClass?.(from, to)} d={toPath(layout, from, to)} />
              ))}
            </svg>
            {nodes.map(({ id, class: style = '', content }, index) => {
              // A node that has just come has no place yet.
              const at = layout.places[id]
              if (at === undefined) return null
              return (
                <div
                  key={id}
                  class={`node ${style}`}
                  style={{ left: `${at.x}px`, top: `${at.y}px`, height: `${nodeSize.height}px` }}
                >
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
              <div class="node-handles" style={{ left: `${place.x}px`, top: `${place.y}px` }}>
                {handles}
              </div>
            )}
          </div>
        </div>
      </div>
      <Zoom zoom={zoom} onZoom={setZoom} />
    </div>
  )
}

function toEdges(nodes: readonly FlowNode[]): readonly Edge[] {
  const known = new Set(nodes.map(({ id }) => id))
  return nodes.flatMap(({ id, requires }) =>
    [...new Set(requires)].flatMap((from): Edge[] => (known.has(from) && from !== id ? [{ from, to: id }] : [])),
  )
}

function useLayout(nodes: readonly FlowNode[], edges: readonly Edge[]): Layout | undefined {
  const [layout, setLayout] = useState<Layout | undefined>(undefined)
  useEffect(() => {
    let isCurrent = true
    const shape = nodes.map(({ id }) => ({ id, ...nodeSize }))
    void layoutGraph({ nodes: shape, edges: edges.map(({ from, to }) => [from, to] as const) }).then(
      (done) => isCurrent && setLayout(done),
    )
    return () => {
      isCurrent = false
    }
  }, [edges])
  return layout
}
