/**
 * The stages of an execution as a graph: one Tab stop, arrows follow the edges. Of many nodes, those in view are in the page, and the list
 * has all of them.
 */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { findFailure, reasonOf, type Stage, type StageTree, stageStatus, titleOf } from '../model/execution.ts'
import { type GraphPlaces, nodeHeight } from '../model/graph-layout.ts'
import { showHidden, stageWord } from '../model/names.ts'
import {
  ancestorsOf,
  commonTitle,
  countWords,
  type GraphEdge,
  type GraphNode,
  type GraphShape,
  kindOf,
  lengthOf,
  stagesIn,
} from '../model/stage-graph.ts'
import type { Kind } from '../model/status.ts'
import { formatDuration, now } from '../model/time.ts'

import { CutName, type Graph, GraphCanvas, neighbour, useGraph, useNodeFocus } from './graph-parts.tsx'
import { kept, useSteady } from './kept.tsx'
import { rem } from './rem.ts'
import { StatusMark } from './status-mark.tsx'

const innerHeight = 28
/** From so many nodes on only those in view are drawn. */
const manyNodes = 60
/** Around the view, so that scrolling shows no gaps. */
const marginPx = 260
/** A node shows the beginning of a reason, the tooltip more of it. */
const [maxReason, maxTipReason] = [60, 300]

interface StageGraphProps {
  readonly tree: StageTree
  readonly graph: GraphShape
  readonly selected: string | undefined
  readonly onSelect: (stage: string) => void
  /** Folds or unfolds a node. */
  readonly onFold: (id: string) => void
}

export function StageGraph({ tree, graph: shape, selected, onSelect, onFold }: StageGraphProps) {
  const { nodes, edges } = shape
  const { failed, passed } = useMemo(() => wayOf(tree, shape), [tree, shape])
  const home = (selected === undefined ? undefined : shape.nodeOf.get(selected)) ?? failed
  const sized = nodes.map((node) => ({ id: node.id, height: heightOf(node), tone: kindOf(node) }))
  const graph = useGraph(sized, edges, home)
  const { layout } = graph
  const { focused, setFocused, moveTo } = useNodeFocus(graph.box)
  const inFocus = nodes.some(({ id }) => id === focused) ? focused : (home ?? nodes[0]?.id)
  const namesBefore = useNamesBefore(nodes, edges)
  const [select, fold, focus] = [useSteady(onSelect), useSteady(onFold), useSteady(setFocused)]
  const longest = Math.max(1, ...nodes.map((node) => lengthOf(node, now.peek()) ?? 0))
  return (
    <GraphCanvas
      graph={graph}
      nodes={sized}
      edges={edges}
      edgeClass={(edge) => edgeClass(edge, passed, failed)}
      onKey={(event) => {
        const next = nodeAfterKey(event, shape, layout)
        if (next !== undefined) moveTo(next)
      }}
      tipOf={(id) => <Tip node={nodes.find((node) => node.id === id)} />}
    >
      {nodes.map((node, index) => {
        const place = layout.places.get(node.id)
        if (place === undefined || (nodes.length > manyNodes && node.id !== inFocus && !isInView(place, graph))) return null
        const look = {
          ...lookOf(node, selected, longest),
          ...place,
          width: layout.nodeWidth,
          name: nameOf(node),
          after: namesBefore(node.id),
          position: `${index + 1} of ${nodes.length}`,
          tabIndex: node.id === inFocus ? 0 : -1,
        }
        return <Node key={node.id} look={look} onSelect={select} onFold={fold} onFocus={focus} />
      })}
    </GraphCanvas>
  )
}

/** All that a node stands for, in full. */
function Tip({ node }: { node: GraphNode | undefined }): ComponentChildren {
  if (node === undefined) return null
  const length = lengthOf(node, now.value)
  const facts = [wordOf(node), typeOf(node), length === undefined ? '' : formatDuration(length)].filter(Boolean)
  return (
    <>
      <strong>{showHidden(nameOf(node))}</strong>
      <span>{facts.join(' · ')}</span>
      {reasonIn(node) !== undefined && <span>{reasonIn(node)?.slice(0, maxTipReason)}</span>}
    </>
  )
}

/** Moves the focus within a node. @returns the node to which the key leads instead */
function nodeAfterKey(event: KeyboardEvent, { nodes, edges }: GraphShape, layout: GraphPlaces): string | undefined {
  const target = event.target as HTMLElement
  const current = target.closest<HTMLElement>('.node')?.dataset['place']
  if (event.ctrlKey || event.metaKey || event.altKey || current === undefined) return undefined
  const within = stepWithin(target, event.key)
  const next = within === undefined ? neighbour(event.key, current, nodes, edges, layout) : undefined
  if (within !== undefined || next !== undefined) event.preventDefault()
  within?.focus()
  return next
}

/** How many of them are named. */
const maxNamed = 3

/** Names of the nodes before one. */
function useNamesBefore(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): (id: string) => readonly string[] {
  const before = useMemo(() => Map.groupBy(edges, ({ to }) => to), [edges])
  const byId = useMemo(() => new Map(nodes.map((node) => [node.id, node])), [nodes])
  return (id) =>
    (before.get(id) ?? []).slice(0, maxNamed).flatMap(({ from }) => {
      const node = byId.get(from)
      return node === undefined ? [] : [nameOf(node)]
    })
}

/** What a node shows, with its place among the others. */
interface Look extends Shown {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly name: string
  /** Names of the nodes before it. */
  readonly after: readonly string[]
  readonly position: string
  readonly tabIndex: number
}

interface Shown {
  readonly id: string
  readonly of: GraphNode['kind']
  readonly kind: Kind
  readonly height: number
  readonly word: string
  readonly under: string
  /** Milliseconds; undefined before the start. */
  readonly length: number | undefined
  /** Since when, in milliseconds since the epoch, while the length grows. */
  readonly since: number | undefined
  /** Percent of the longest. */
  readonly share: number
  readonly isSelected: boolean
  readonly innerCount: number
  readonly inner: readonly InnerLook[]
}

interface InnerLook {
  readonly id: string
  readonly kind: Kind
  readonly word: string
  readonly title: string
  readonly isSelected: boolean
}

function lookOf(node: GraphNode, selected: string | undefined, longest: number): Shown {
  const kind = kindOf(node)
  const length = lengthOf(node, now.peek())
  const isGrowing = length !== undefined && (kind === 'running' || kind === 'waiting')
  const inner = node.kind === 'stage' ? node.shown : []
  return {
    id: node.id,
    of: node.kind,
    kind,
    height: heightOf(node),
    word: wordOf(node),
    under: underOf(node),
    length: isGrowing ? undefined : length,
    since: isGrowing ? now.peek() - length : undefined,
    share: !length ? 0 : Math.round(Math.max(2, Math.min(100, (length / longest) * 100))),
    isSelected: stagesIn(node).some(({ id }) => id === selected),
    innerCount: node.kind === 'stage' ? node.innerCount : 0,
    inner: inner.map((stage) => {
      const { kind: innerKind, word } = stageStatus(stage)
      return { id: stage.id, kind: innerKind, word, title: titleOf(stage), isSelected: stage.id === selected }
    }),
  }
}

interface NodeProps {
  readonly look: Look
  readonly onSelect: (stage: string) => void
  readonly onFold: (id: string) => void
  readonly onFocus: (id: string) => void
}

const Node = kept(({ look, onSelect, onFold, onFocus }: NodeProps) => {
  const { id, of, kind, inner, isSelected } = look
  return (
    <div
      class={`node is-${kind} kind-${of}`}
      data-place={id}
      style={{ left: rem(look.x), top: rem(look.y), height: rem(look.height) }}
      onFocusIn={() => onFocus(id)}
    >
      <button
        type="button"
        class="node-main"
        data-node={id}
        data-stage={of === 'stage' ? id : undefined}
        aria-pressed={of === 'stage' ? isSelected : undefined}
        aria-expanded={of === 'stack' || of === 'chain' ? false : undefined}
        aria-disabled={of === 'missing' || undefined}
        data-selected={isSelected || undefined}
        tabIndex={look.tabIndex}
        onClick={() => {
          if (of === 'stage') onSelect(id)
          else if (of !== 'missing') onFold(id)
        }}
      >
        <StatusMark kind={kind} size={20} />
        <NodeText look={look} />
        <span class="node-bar" style={{ width: `${look.share}%` }} />
      </button>
      {look.innerCount > 0 && <FoldButton look={look} onFold={onFold} />}
      {inner.map((stage) => (
        <InnerStage key={stage.id} stage={stage} width={look.width} onSelect={onSelect} />
      ))}
    </div>
  )
})

function FoldButton({ look: { id, name, inner, innerCount }, onFold }: Pick<NodeProps, 'look' | 'onFold'>) {
  return (
    <button
      type="button"
      class="node-fold"
      aria-label={`${innerCount} inner stages of ${name}`}
      tabIndex={-1}
      aria-expanded={inner.length === innerCount}
      onClick={() => onFold(id)}
    >
      {`${innerCount} inner`}
    </button>
  )
}

function NodeText({ look }: { look: Look }) {
  const length = look.since === undefined ? look.length : Math.max(0, now.value - look.since)
  const whereabouts = [look.after.length > 0 && `after ${look.after.join(', ')}`, look.position].filter(Boolean).join(', ')
  return (
    <span class="node-text">
      <span class="node-name">
        <CutName text={look.name} width={look.width} lines={2} />
      </span>
      <span class="visually-hidden">{`, ${look.word}, `}</span>
      <span class="node-under">
        <span class="node-type cut">{look.under}</span>
        <span class="visually-hidden">, </span>
        <span class="node-time number">{length === undefined ? '' : formatDuration(length)}</span>
      </span>
      <span class="visually-hidden">{`, ${whereabouts}`}</span>
    </span>
  )
}

interface InnerStageProps extends Pick<NodeProps, 'onSelect'> {
  readonly stage: InnerLook
  readonly width: number
}

function InnerStage({ stage, width, onSelect }: InnerStageProps) {
  const { id, kind, title, word, isSelected } = stage
  return (
    <button type="button" class="node-inner" data-stage={id} tabIndex={-1} aria-pressed={isSelected} onClick={() => onSelect(id)}>
      <StatusMark kind={kind} size={12} />
      <span class="cut">
        <CutName text={title} width={width} lines={1} />
      </span>
      <span class="visually-hidden">{`, ${word}`}</span>
    </button>
  )
}

function wordOf(node: GraphNode): string {
  if (node.kind === 'missing') return ''
  return node.kind === 'stage' ? stageStatus(node.stage).word : countWords(node.stages)
}

function nameOf(node: GraphNode): string {
  if (node.kind === 'missing') return `Stage ${node.ref}`
  if (node.kind === 'stage') return titleOf(node.stage)
  const common = commonTitle(node.stages)
  return node.kind === 'stack' ? `${node.stages.length} × ${common ?? 'stages'}` : `${node.stages.length} succeeded`
}

/** The reason of a failure, else the type. */
function underOf(node: GraphNode): string {
  return reasonIn(node)?.slice(0, maxReason) ?? typeOf(node)
}

function typeOf(node: GraphNode): string {
  if (node.kind === 'missing') return 'required, but it does not exist'
  if (node.kind === 'stack') return countWords(node.stages)
  if (node.kind === 'stage') return stageWord(node.stage.type)
  return [node.stages[0], node.stages.at(-1)].map((stage) => stage && titleOf(stage)).join(' … ')
}

function reasonIn(node: GraphNode): string | undefined {
  if (node.kind !== 'stage' || stageStatus(node.stage).kind !== 'failed') return undefined
  return [node.stage, ...node.shown].map(reasonOf).find((text) => text !== undefined)
}

function heightOf(node: GraphNode): number {
  return nodeHeight + (node.kind === 'stage' && node.shown.length > 0 ? node.shown.length * innerHeight + 6 : 0)
}

function isInView({ x, y }: { readonly x: number; readonly y: number }, { view, drawn, layout }: Graph): boolean {
  const isNear = (from: number, size: number, start: number, length: number) =>
    (from + size) * drawn > start - marginPx && from * drawn < start + length + marginPx
  return isNear(x, layout.nodeWidth, view.x, view.width) && isNear(y, nodeHeight, view.y, view.height)
}

/** Nodes on the way to the failure; where nothing failed, those that have started. */
function wayOf(tree: StageTree, { nodes, edges, nodeOf }: GraphShape) {
  const failure = findFailure(tree)
  const failed = failure === undefined ? undefined : nodeOf.get((failure.path[0] ?? failure.stage).id)
  const hasStarted = ({ startTime }: Stage) => Boolean(startTime)
  const started = nodes.flatMap((node) => (stagesIn(node).some(hasStarted) ? node.id : []))
  return { failed, passed: failed === undefined ? new Set(started) : ancestorsOf(failed, edges) }
}

function edgeClass({ from, to, isBroken }: GraphEdge, passed: ReadonlySet<string>, failed: string | undefined): string {
  if (isBroken) return 'is-broken'
  if (!passed.has(from) || !passed.has(to)) return ''
  return failed === undefined ? 'is-passed' : 'is-to-failure'
}

/** Up and down first pass through what a node contains. */
function stepWithin(target: HTMLElement, key: string): HTMLElement | undefined {
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  if (step === undefined) return undefined
  const buttons = [...(target.closest('.node')?.querySelectorAll<HTMLElement>('button') ?? [])]
  return buttons[buttons.indexOf(target) + step]
}
