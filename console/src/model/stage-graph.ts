/**
 * The graph that the stages of an execution make: inner stages fold into their stage, equal neighbours into a stack, and a long row of
 * successes into one node. What is broken in the definition is drawn as such and never an exception.
 */
import {
  durationOf,
  isWaiting,
  type Kind,
  type Stage,
  type StageTree,
  stageStatus,
  titleOf,
} from './execution.ts'
import type { StageLinks } from './stage-links.ts'

export interface GraphNode {
  readonly id: string
  /** `stack`: siblings between the same stages; `chain`: successes in a row; `missing`: a requisite that no stage has. */
  readonly kind: 'stage' | 'stack' | 'chain' | 'missing'
  /** Stages of the definition that it stands for. */
  readonly stages: readonly Stage[]
  /** Stages within the one that it stands for, and those of them that are drawn. */
  readonly inner: readonly Stage[]
  readonly shown: readonly Stage[]
}

interface GraphEdge {
  readonly from: string
  readonly to: string
  /** It closes a circle, or begins at no stage. */
  readonly isBroken: boolean
}

export interface GraphShape {
  /** In topological order; those without a stage first. */
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  /** The node of each stage, inner ones included. */
  readonly nodeOf: ReadonlyMap<string, string>
}

/** More siblings than that become a stack. */
const maxSiblings = 6
/** More successes in a row than that become one node. */
const maxChain = 8
/** What is so near to anything unsuccessful stays. */
const nearSteps = 2
const maxDepth = 20

/**
 * @param opened Ids of nodes that the reader has opened.
 * @param foldsChains While the execution runs, or when it has failed.
 */
export function toStageGraph(
  { top, inner, links }: StageTree,
  opened: ReadonlySet<string>,
  foldsChains: boolean,
): GraphShape {
  const byId = new Map(top.map((stage) => [stage.id, stage]))
  const folds = new Map<string, GraphNode>()
  const fold = (found: readonly GraphNode[]) => {
    for (const node of found.filter(({ id }) => !opened.has(id)))
      for (const { id } of node.stages) folds.set(id, node)
  }
  fold(stacksOf(byId, links))
  if (foldsChains) fold(chainsOf(byId, links, folds))
  const toNode = (stage: Stage): GraphNode => {
    const within = innerOf(stage.id, inner)
    const shown = opened.has(stage.id) ? within : within.filter(needsAttention).slice(0, 3)
    return { id: stage.id, kind: 'stage', stages: [stage], inner: within, shown }
  }
  const missing = links.missing.map(({ id }) => toFold('missing', id, []))
  const drawn = [...missing, ...top.map((stage) => folds.get(stage.id) ?? toNode(stage))]
  const nodes = [...new Map(drawn.map((node) => [node.id, node])).values()]
  const withInner = (stage: Stage) => [stage, ...innerOf(stage.id, inner)]
  const nodeOf = new Map(
    nodes.flatMap(({ id, stages }) =>
      stages.flatMap(withInner).map((stage) => [stage.id, id] as const),
    ),
  )
  return { nodes, edges: toEdges(links.pairs, nodes, nodeOf), nodeOf }
}

function toFold(kind: GraphNode['kind'], id: string, stages: readonly Stage[]): GraphNode {
  return { id, kind, stages, inner: [], shown: [] }
}

/** What failed or waits for a person stays outside. */
function stacksOf(byId: ReadonlyMap<string, Stage>, { siblings }: StageLinks) {
  return siblings.flatMap((members) => {
    const calm = members
      .flatMap((id) => byId.get(id) ?? [])
      .filter((stage) => !needsAttention(stage))
    return members.length > maxSiblings && calm.length > 1
      ? [toFold('stack', `stack:${members[0]}`, calm)]
      : []
  })
}

function needsAttention(stage: Stage) {
  return (
    isWaiting(stage) ||
    ['TERMINAL', 'STOPPED', 'FAILED_CONTINUE', 'CANCELED'].includes(stage.status)
  )
}

function chainsOf(
  byId: ReadonlyMap<string, Stage>,
  links: StageLinks,
  folds: ReadonlyMap<string, unknown>,
) {
  const unsuccessful = [...byId.values()].flatMap(({ id, status }) =>
    status === 'SUCCEEDED' ? [] : id,
  )
  const near = nearOf(unsuccessful, links)
  const isFree = (id: string) => !near.has(id) && !folds.has(id)
  return links.rows
    .flatMap((row) => partsOf(row, isFree))
    .filter(({ length }) => length > maxChain)
    .map((part) =>
      toFold(
        'chain',
        `chain:${part[0]}`,
        part.flatMap((id) => byId.get(id) ?? []),
      ),
    )
}

/** What is left of a row without those that do not fit, which part it. */
function partsOf(row: readonly string[], fits: (id: string) => boolean) {
  const parts: string[][] = [[]]
  for (const id of row) {
    if (fits(id)) parts.at(-1)?.push(id)
    else parts.push([])
  }
  return parts
}

/** Everything within two steps of these, in both directions. */
function nearOf(ids: readonly string[], { before, after }: StageLinks) {
  const near = new Set(ids)
  let edge = ids
  for (let step = 0; step < nearSteps; step++) {
    edge = edge
      .flatMap((id) => [...(before.get(id) ?? []), ...(after.get(id) ?? [])])
      .filter((id) => !near.has(id))
    for (const id of edge) near.add(id)
  }
  return near
}

/** Before it, then after it; each followed by what belongs to it. */
function innerOf(id: string, inner: StageTree['inner'], depth = 0): readonly Stage[] {
  if (depth > maxDepth) return []
  return (inner.get(id) ?? []).flatMap((child) => [child, ...innerOf(child.id, inner, depth + 1)])
}

/** Edges between nodes, each once; one that leads back in the order closes a circle. */
function toEdges(
  pairs: StageLinks['pairs'],
  nodes: readonly GraphNode[],
  nodeOf: GraphShape['nodeOf'],
) {
  const places = new Map(nodes.map(({ id }, at) => [id, at]))
  const edges = new Map<string, GraphEdge>()
  for (const [start, end] of pairs) {
    const [from, to] = [nodeOf.get(start) ?? start, nodeOf.get(end) ?? end]
    const isBack = (places.get(from) ?? 0) >= (places.get(to) ?? 0)
    if (from !== to || start === end)
      edges.set(`${from}\n${to}`, { from, to, isBroken: isBack || !nodeOf.has(start) })
  }
  return [...edges.values()]
}

/** Nodes from a start to this one, over edges that are sound. */
export function ancestorsOf(id: string, edges: readonly GraphEdge[]): ReadonlySet<string> {
  const before = Map.groupBy(
    edges.filter(({ isBroken }) => !isBroken),
    ({ to }) => to,
  )
  const found = new Set([id])
  for (const one of found) for (const { from } of before.get(one) ?? []) found.add(from)
  return found
}

/** What most of all is going on in the stages of a node. */
export function kindOf({ stages }: Pick<GraphNode, 'stages'>): Kind {
  const kinds = stages.map((stage) => stageStatus(stage).kind)
  const order: readonly Kind[] = [
    'failed',
    'waiting',
    'warning',
    'running',
    'paused',
    'queued',
    'cancelled',
    'skipped',
  ]
  return order.find((kind) => kinds.includes(kind)) ?? kinds[0] ?? 'unknown'
}

/** "10 succeeded, 1 running". */
export function countWords(stages: readonly Stage[]): string {
  const counts = Map.groupBy(stages, (stage) => stageStatus(stage).word)
  return [...counts].map(([word, members]) => `${members.length} ${word}`).join(', ')
}

/** What the titles have in common, else the type of all, else nothing. */
export function commonTitle(stages: readonly Stage[]): string | undefined {
  const [first = '', ...others] = stages.map(titleOf)
  let end = first.length
  for (const other of others) while (!other.startsWith(first.slice(0, end))) end--
  const title = first.slice(0, end).replace(/[\s\d:/_#.,([{-]+$/, '')
  if (title.length > 2) return title
  const types = new Set(stages.map(({ type }) => type))
  return types.size === 1 ? stages[0]?.type : undefined
}

/** From the first start to the last end. */
export function lengthOf({ stages }: GraphNode, nowMs: number): number | undefined {
  const spans = stages.flatMap((stage) => {
    const [start, length] = [stage.startTime, durationOf(stage, nowMs)]
    return start && length !== undefined ? [[start, start + length] as const] : []
  })
  if (spans.length === 0) return undefined
  return Math.max(
    0,
    Math.max(...spans.map(([, end]) => end)) - Math.min(...spans.map(([start]) => start)),
  )
}
