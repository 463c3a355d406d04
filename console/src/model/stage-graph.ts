/**
 * The graph that the stages of an execution make: inner stages fold into their stage, equal neighbours into a stack, and a long row of
 * successes into one node. What is broken in the definition is drawn as such and never an exception.
 */
import { durationOf, isWaiting, type Stage, type StageTree, stageStatus, titleOf } from './execution.ts'
import type { StageLinks } from './stage-links.ts'
import { isComplete, type Kind } from './status.ts'

/** `shown`: inner stages that are drawn within it. */
interface DrawnStage {
  readonly kind: 'stage'
  readonly id: string
  readonly stage: Stage
  readonly shown: readonly Stage[]
  readonly innerCount: number
}

/** Siblings between the same stages, or successes in a row. */
interface FoldNode {
  readonly kind: 'stack' | 'chain'
  readonly id: string
  readonly stages: readonly Stage[]
}

/** `missing`: a requisite that no stage has. */
export type GraphNode = DrawnStage | FoldNode | { readonly kind: 'missing'; readonly id: string; readonly ref: string }

export interface GraphEdge {
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
export function toStageGraph(tree: StageTree, opened: ReadonlySet<string>, foldsChains: boolean): GraphShape {
  const { links } = tree
  const byId = new Map(tree.top.map((stage) => [stage.id, stage]))
  const unitOf = new Map<string, string>(tree.top.map(({ id }) => [id, id]))
  const folds = new Map<string, FoldNode>()
  const fold = (found: readonly FoldNode[]) => {
    for (const node of found.filter(({ id }) => !opened.has(id))) {
      folds.set(node.id, node)
      for (const stage of node.stages) unitOf.set(stage.id, node.id)
    }
  }
  fold(stacksOf(byId, links))
  if (foldsChains) fold(chainsOf(byId, links, unitOf))

  const nodes = new Map<string, GraphNode>()
  for (const { id, ref } of links.missing) nodes.set(id, { kind: 'missing', id, ref })
  for (const stage of tree.top) {
    const unit = unitOf.get(stage.id) ?? stage.id
    if (!nodes.has(unit)) nodes.set(unit, folds.get(unit) ?? toStageNode(stage, tree, opened))
  }
  const innerUnits = tree.top.flatMap(({ id }) =>
    innerOf(id, tree.inner).map((inner) => [inner.id, unitOf.get(id) ?? id] as const),
  )
  const nodeOf = new Map([...unitOf, ...innerUnits])
  return { nodes: [...nodes.values()], edges: toEdges(links.pairs, unitOf), nodeOf }
}

/** What failed or waits for a person stays outside. */
function stacksOf(byId: ReadonlyMap<string, Stage>, { siblings }: StageLinks): readonly FoldNode[] {
  return siblings.flatMap((members): readonly FoldNode[] => {
    const calm = members.flatMap((id) => byId.get(id) ?? []).filter((stage) => !needsAttention(stage))
    const isStack = members.length > maxSiblings && calm.length > 1
    return isStack ? [{ kind: 'stack', id: `stack:${members[0]}`, stages: calm }] : []
  })
}

function needsAttention(stage: Stage): boolean {
  return isWaiting(stage) || ['TERMINAL', 'STOPPED', 'FAILED_CONTINUE', 'CANCELED'].includes(stage.status)
}

function chainsOf(byId: ReadonlyMap<string, Stage>, links: StageLinks, unitOf: ReadonlyMap<string, string>): readonly FoldNode[] {
  const unsuccessful = [...byId.values()].flatMap(({ id, status }) => (status === 'SUCCEEDED' ? [] : id))
  const near = nearOf(unsuccessful, links)
  const isFree = (id: string) => !near.has(id) && unitOf.get(id) === id
  return links.rows
    .flatMap((row) => partsOf(row, isFree))
    .filter(({ length }) => length > maxChain)
    .map((part) => ({ kind: 'chain', id: `chain:${part[0]}`, stages: part.flatMap((id) => byId.get(id) ?? []) }))
}

/** What is left of a row without those that do not fit, which part it. */
function partsOf(row: readonly string[], fits: (id: string) => boolean): readonly (readonly string[])[] {
  const parts: string[][] = [[]]
  for (const id of row) {
    if (fits(id)) parts.at(-1)?.push(id)
    else parts.push([])
  }
  return parts
}

/** Everything within two steps of these, in both directions. */
function nearOf(ids: readonly string[], { before, after }: StageLinks): ReadonlySet<string> {
  const near = new Set(ids)
  let edge = ids
  for (let step = 0; step < nearSteps; step++) {
    edge = edge.flatMap((id) => [...(before.get(id) ?? []), ...(after.get(id) ?? [])]).filter((id) => !near.has(id))
    for (const id of edge) near.add(id)
  }
  return near
}

function toStageNode(stage: Stage, tree: StageTree, opened: ReadonlySet<string>): DrawnStage {
  const inner = innerOf(stage.id, tree.inner)
  const shown = opened.has(stage.id) ? inner : inner.filter(needsAttention).slice(0, 3)
  return { kind: 'stage', id: stage.id, stage, shown, innerCount: inner.length }
}

/** Before it, then after it; each followed by what belongs to it. */
function innerOf(id: string, inner: StageTree['inner'], depth = 0): readonly Stage[] {
  if (depth > maxDepth) return []
  return (inner.get(id) ?? []).flatMap((child) => [child, ...innerOf(child.id, inner, depth + 1)])
}

/** Edges between the units, each once; what closes a circle is broken. */
function toEdges(pairs: StageLinks['pairs'], unitOf: ReadonlyMap<string, string>): readonly GraphEdge[] {
  const after = new Map<string, Set<string>>()
  for (const [start, end] of pairs) {
    const [from, to] = [unitOf.get(start) ?? start, unitOf.get(end) ?? end]
    if (from === to && start !== end) continue
    after.set(from, (after.get(from) ?? new Set()).add(to))
  }
  const backward = backwardOf(after)
  return [...after].flatMap(([from, ends]) =>
    [...ends].map((to) => ({ from, to, isBroken: from.startsWith('missing:') || backward.has(`${from}\n${to}`) })),
  )
}

/** Edges to a node that the walk has not left yet; without recursion, because a row may be long. */
function backwardOf(after: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const found = new Set<string>()
  const state = new Map<string, 'open' | 'done'>()
  for (const root of after.keys()) {
    const walk: { id: string; rest: string[] }[] = []
    const enter = (id: string): void => {
      state.set(id, 'open')
      walk.push({ id, rest: [...(after.get(id) ?? [])] })
    }
    if (!state.has(root)) enter(root)
    for (let here = walk.at(-1); here !== undefined; here = walk.at(-1)) {
      const next = here.rest.pop()
      if (next === undefined) {
        state.set(here.id, 'done')
        walk.pop()
      } else if (state.get(next) === 'open') found.add(`${here.id}\n${next}`)
      else if (!state.has(next)) enter(next)
    }
  }
  return found
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

/** What most of all is going on in a stack or a chain. */
export function foldKind(stages: readonly Stage[]): Kind {
  const kinds = new Set(stages.map((stage) => stageStatus(stage).kind))
  const order: readonly Kind[] = ['failed', 'waiting', 'warning', 'running', 'paused', 'queued', 'cancelled', 'skipped']
  return order.find((kind) => kinds.has(kind)) ?? 'succeeded'
}

export function kindOf(node: GraphNode): Kind {
  if (node.kind === 'missing') return 'unknown'
  return node.kind === 'stage' ? stageStatus(node.stage).kind : foldKind(node.stages)
}

/** Stages of the definition that a node stands for. */
export function stagesIn(node: GraphNode): readonly Stage[] {
  if (node.kind === 'missing') return []
  return node.kind === 'stage' ? [node.stage] : node.stages
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

/** Of several: from the first start to the last end. */
export function lengthOf(node: GraphNode, nowMs: number): number | undefined {
  if (node.kind === 'stage') return durationOf(node.stage, nowMs)
  const started = stagesIn(node).filter(({ startTime }) => startTime)
  if (started.length === 0) return undefined
  const ends = started.map(({ endTime, status }) => endTime ?? (isComplete(status) ? 0 : nowMs))
  return Math.max(0, Math.max(...ends) - Math.min(...started.map(({ startTime }) => startTime ?? 0)))
}
