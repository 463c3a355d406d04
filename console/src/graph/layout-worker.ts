/** Lays out the graph of an execution away from the thread that draws. */
import { Graph, layout } from '@dagrejs/dagre'

export interface LayoutRequest {
  readonly id: number
  readonly nodes: readonly { readonly id: string; readonly width: number; readonly height: number }[]
  readonly edges: readonly (readonly [from: string, to: string])[]
}

export interface LayoutAnswer {
  readonly id: number
  readonly width: number
  readonly height: number
  /** Upper left corners. */
  readonly places: Readonly<Record<string, { readonly x: number; readonly y: number }>>
}

self.onmessage = ({ data }: MessageEvent<LayoutRequest>) => {
  self.postMessage(toLayout(data))
}

function toLayout({ id, nodes, edges }: LayoutRequest): LayoutAnswer {
  const graph = new Graph()
  graph.setGraph({ rankdir: 'LR', nodesep: 16, ranksep: 48, marginx: 8, marginy: 8 })
  graph.setDefaultEdgeLabel(() => ({}))
  // dagre keeps nodes in plain objects, in which an id such as `__proto__` is lost.
  const keys = new Map(nodes.map(({ id: node }, index) => [node, `n${index}`]))
  const keyOf = (node: string) => keys.get(node) ?? node
  for (const { id: node, width, height } of nodes) graph.setNode(keyOf(node), { width, height })
  for (const [from, to] of edges) graph.setEdge(keyOf(from), keyOf(to))
  layout(graph)
  const places = nodes.map(({ id: node, width, height }) => {
    const { x = 0, y = 0 } = graph.node(keyOf(node)) as { x?: number; y?: number }
    return [node, { x: x - width / 2, y: y - height / 2 }]
  })
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return { id, width, height, places: Object.fromEntries(places) }
}
