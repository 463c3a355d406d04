/** Configuration as a tree with origins, and the rule by which sources override each other. */
import type { SourcePosition } from './problems.ts'

export type Node = ScalarNode | MapNode | ListNode

export interface ScalarNode {
  kind: 'scalar'
  /** Text as written, without quotes; empty for null. */
  text: string
  value: string | number | boolean | null
  origin: SourcePosition
}

export interface MapNode {
  kind: 'map'
  entries: Map<string, Node>
  origin: SourcePosition
}

interface ListNode {
  kind: 'list'
  items: Node[]
  origin: SourcePosition
}

export function createMap(origin: SourcePosition): MapNode {
  return { kind: 'map', entries: new Map(), origin }
}

export function createScalar(text: string, origin: SourcePosition): ScalarNode {
  return { kind: 'scalar', text, value: text, origin }
}

/**
 * Maps are merged key by key, and an empty value leaves a map as it is; everything else, lists included, is replaced as a
 * whole. Neither argument is changed.
 */
export function mergeNodes(lower: Node, upper: Node): Node {
  if (lower.kind === 'map' && upper.kind === 'scalar' && upper.text === '') return lower
  if (lower.kind !== 'map' || upper.kind !== 'map') return upper
  const entries = new Map(lower.entries)
  for (const [key, node] of upper.entries) {
    const covered = entries.get(key)
    entries.set(key, covered === undefined ? node : mergeNodes(covered, node))
  }
  return { kind: 'map', entries, origin: upper.origin }
}

export function findNode(root: Node, path: readonly string[]): Node | undefined {
  let node: Node | undefined = root
  for (const segment of path) node = childOf(node, segment)
  return node
}

/** The node at the path, or the nearest above it that exists: where a problem is best shown. */
export function findNearest(root: Node, path: readonly string[]): { node: Node; depth: number } {
  let node = root
  let depth = 0
  for (const segment of path) {
    const child = childOf(node, segment)
    if (child === undefined) break
    node = child
    depth++
  }
  return { node, depth }
}

function childOf(node: Node | undefined, segment: string): Node | undefined {
  if (node?.kind === 'map') return node.entries.get(segment)
  if (node?.kind === 'list' && /^\d{1,6}$/.test(segment)) return node.items[Number(segment)]
  return undefined
}
