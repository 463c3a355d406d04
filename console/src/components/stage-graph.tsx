/**
 * The stages of an execution as a graph: one Tab stop, arrows follow the edges. Of many nodes, those in view are in the page, and the list
 * has all of them.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Layout } from '../graph/layout.ts'
import { findFailure, reasonOf, type Stage, type StageTree, stageStatus, titleOf } from '../model/execution.ts'
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
import { words } from '../words.ts'
import { GraphCanvas, neighbour, nodeSize, useLayout } from './graph-parts.tsx'
import { kept, useSteady } from './kept.tsx'
import { type Box, Minimap } from './minimap.tsx'
import { Name } from './name.tsx'
import { rem, textScale } from './rem.ts'
import { StatusMark } from './status-mark.tsx'

const innerHeight = 28
/** From so many nodes on only those in view are drawn. */
const manyNodes = 60
const mapFrom = 40
/** Around the view, so that scrolling shows no gaps. */
const marginPx = 260
const maxReason = 60

interface StageGraphProps {
  readonly tree: StageTree
  readonly graph: GraphShape
  readonly selected: string | undefined
  readonly onSelect: (stage: string) => void
  /** Folds or unfolds a node. */
  readonly onFold: (id: string) => void
  /** Shown until a large graph is laid out, or where it cannot be. */
  readonly fallback: preact.ComponentChildren
}

export function StageGraph({ tree, graph, selected, onSelect, onFold, fallback }: StageGraphProps) {
  const { nodes, edges } = graph
  const { layout, isFailed } = useLayout(
    nodes.map((node) => ({ id: node.id, height: heightOf(node) })),
    edges,
  )
  const [zoom, setZoom] = useState(1)
  const scale = useMemo(textScale, [])
  const drawn = zoom * scale
  const box = useRef<HTMLDivElement>(null)
  const { focused, setFocused, moveTo } = useNodeFocus(box)
  const home = selected === undefined ? undefined : graph.nodeOf.get(selected)
  const view = useView(box, home === undefined ? undefined : layout?.places[home], layout !== undefined, scale)
  const inFocus = nodes.some(({ id }) => id === focused) ? focused : (home ?? nodes[0]?.id)
  const passed = useMemo(() => passedNodes(tree, graph), [tree, graph])
  const namesBefore = useNamesBefore(nodes, edges)
  const [select, fold] = [useSteady(onSelect), useSteady(onFold)]
  useKeptPlace(box, layout, home, drawn)

  if (layout === undefined) {
    return (
      <div class="graph-waits">
        {isFailed || nodes.length > manyNodes ? fallback : <div class="graph is-loading" aria-busy="true" />}
      </div>
    )
  }

  const longest = Math.max(1, ...nodes.map((node) => lengthOf(node, now.peek()) ?? 0))
  const isDrawn = ({ id }: GraphNode) =>
    layout.places[id] !== undefined && (nodes.length <= manyNodes || id === inFocus || isInView(boxOf(layout, id), view, drawn))
  const onKey = (event: KeyboardEvent) => {
    const next = nodeAfterKey(event, graph, layout)
    if (next !== undefined) moveTo(next)
  }
  return (
    <GraphCanvas
      layout={layout}
      box={box}
      zoom={zoom}
      onZoom={setZoom}
      edges={edges}
      edgeClass={(edge) => edgeClass(edge, passed)}
      onKey={onKey}
      class={zoom < 0.75 ? 'is-small' : ''}
      overlay={nodes.length >= mapFrom && <Minimap nodes={nodes} layout={layout} view={view} zoom={drawn} box={box} />}
    >
      {nodes.map((node, index) => {
        const place = layout.places[node.id]
        if (place === undefined || !isDrawn(node)) return null
        const shown = lookOf(node, selected, longest)
        const look = {
          ...shown,
          ...place,
          name: nameOf(node),
          after: namesBefore(node.id),
          position: words.ofStages(index + 1, nodes.length),
          tabIndex: node.id === inFocus ? 0 : -1,
        }
        return <Node key={node.id} look={look} onSelect={select} onFold={fold} onFocus={setFocused} />
      })}
    </GraphCanvas>
  )
}

/** Moves the focus within a node. @returns the node to which the key leads instead */
function nodeAfterKey(event: KeyboardEvent, { nodes, edges }: GraphShape, layout: Layout): string | undefined {
  const target = event.target as HTMLElement
  const current = target.closest<HTMLElement>('.node')?.dataset['place']
  if (event.ctrlKey || event.metaKey || event.altKey || current === undefined) return undefined
  const within = stepWithin(target, event.key)
  const next = within === undefined ? neighbour(event.key, current, nodes, edges, layout) : undefined
  if (within !== undefined || next !== undefined) event.preventDefault()
  within?.focus()
  return next
}

/** A node that was not drawn can be focused once it is. */
function useNodeFocus(box: { readonly current: HTMLElement | null }) {
  const [focused, setFocused] = useState<string | undefined>(undefined)
  const wanted = useRef<string | undefined>(undefined)
  useLayoutEffect(() => {
    if (wanted.current === undefined) return
    const node = box.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(wanted.current)}"]`)
    wanted.current = undefined
    node?.focus({ preventScroll: true })
    node?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  })
  const moveTo = (id: string) => {
    wanted.current = id
    setFocused(id)
  }
  return { focused, setFocused, moveTo }
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
        <InnerStage key={stage.id} stage={stage} onSelect={onSelect} />
      ))}
    </div>
  )
})

function FoldButton({ look: { id, name, inner, innerCount }, onFold }: Pick<NodeProps, 'look' | 'onFold'>) {
  return (
    <button
      type="button"
      class="node-fold"
      aria-label={`${words.inner(innerCount)} ${words.stagesOf(name)}`}
      tabIndex={-1}
      aria-expanded={inner.length === innerCount}
      onClick={() => onFold(id)}
    >
      {words.inner(innerCount)}
    </button>
  )
}

function NodeText({ look }: { look: Look }) {
  const length = look.since === undefined ? look.length : Math.max(0, now.value - look.since)
  const whereabouts = [look.after.length > 0 && words.after(look.after), look.position].filter(Boolean).join(', ')
  return (
    <span class="node-text">
      <span class="node-name cut">
        <Name text={look.name} max={40} />
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

function InnerStage({ stage, onSelect }: { stage: InnerLook; onSelect: (stage: string) => void }) {
  const { id, kind, title, word, isSelected } = stage
  return (
    <button type="button" class="node-inner" data-stage={id} tabIndex={-1} aria-pressed={isSelected} onClick={() => onSelect(id)}>
      <StatusMark kind={kind} size={12} />
      <span class="cut">
        <Name text={title} max={40} />
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
  if (node.kind === 'missing') return words.missingStage(node.ref)
  if (node.kind === 'stage') return titleOf(node.stage)
  const common = commonTitle(node.stages)
  return node.kind === 'stack' ? words.stackOf(node.stages.length, common) : words.chainOf(node.stages.length)
}

/** The reason of a failure, else the type. */
function underOf(node: GraphNode): string {
  if (node.kind === 'missing') return words.missingRequisite
  if (node.kind === 'stack') return countWords(node.stages)
  if (node.kind !== 'stage') return [node.stages[0], node.stages.at(-1)].map((stage) => stage && titleOf(stage)).join(' … ')
  const isFailed = stageStatus(node.stage).kind === 'failed'
  const reason = isFailed ? [node.stage, ...node.shown].map(reasonOf).find((text) => text !== undefined) : undefined
  return reason === undefined ? node.stage.type : reason.slice(0, maxReason)
}

function heightOf(node: GraphNode): number {
  return nodeSize.height + (node.kind === 'stage' && node.shown.length > 0 ? node.shown.length * innerHeight + 6 : 0)
}

/** What of the drawing is in view, in its own measure. At first that is what is around `home`. */
function useView(
  box: { readonly current: HTMLElement | null },
  home: { readonly x: number; readonly y: number } | undefined,
  isReady: boolean,
  scale: number,
): Box {
  const [view, setView] = useState<Box | undefined>(undefined)
  useLayoutEffect(() => {
    const element = box.current
    if (!isReady || element === null) return
    let frame = 0
    let isPlaced = false
    const read = () => {
      frame = 0
      setView({ x: element.scrollLeft, y: element.scrollTop, width: element.clientWidth, height: element.clientHeight })
    }
    const soon = () => {
      if (frame === 0) frame = requestAnimationFrame(read)
    }
    // Told after each layout, the first one included.
    const laidOut = new ResizeObserver(() => {
      const { clientWidth, clientHeight } = element
      if (!isPlaced && home !== undefined) {
        const [x, y] = [home.x + nodeSize.width / 2, home.y + nodeSize.height / 2]
        element.scrollTo(x * scale - clientWidth / 2, y * scale - clientHeight / 2)
      }
      isPlaced = true
      read()
    })
    element.addEventListener('scroll', soon, { passive: true })
    laidOut.observe(element)
    return () => {
      cancelAnimationFrame(frame)
      element.removeEventListener('scroll', soon)
      laidOut.disconnect()
    }
  }, [isReady])
  const [width, height] = [innerWidth, innerHeight / 2]
  const { x, y } = home ?? { x: 0, y: 0 }
  return view ?? { x: Math.max(0, x * scale - width / 2), y: Math.max(0, y * scale - height / 2), width, height }
}

/** A fold that opens or closes elsewhere does not move the selected node away from where it is on the screen. */
function useKeptPlace(
  box: { readonly current: HTMLElement | null },
  layout: Layout | undefined,
  home: string | undefined,
  zoom: number,
): void {
  const before = useRef<{ readonly home: string; readonly x: number; readonly y: number } | undefined>(undefined)
  useLayoutEffect(() => {
    const place = home === undefined || layout === undefined ? undefined : layout.places[home]
    const last = before.current
    before.current = place === undefined || home === undefined ? undefined : { home, x: place.x, y: place.y }
    if (place === undefined || last === undefined || last.home !== home || box.current === null) return
    if (place.x !== last.x || place.y !== last.y) box.current.scrollBy((place.x - last.x) * zoom, (place.y - last.y) * zoom)
  }, [layout, home])
}

function boxOf({ places }: Layout, id: string): Box {
  const { x = 0, y = 0 } = places[id] ?? {}
  return { x, y, ...nodeSize }
}

function isInView(node: Box, view: Box, zoom: number): boolean {
  const [left, top] = [view.x / zoom - marginPx, view.y / zoom - marginPx]
  const [right, bottom] = [(view.x + view.width) / zoom + marginPx, (view.y + view.height) / zoom + marginPx]
  return node.x + node.width > left && node.x < right && node.y + node.height > top && node.y < bottom
}

/** Edges between these are marked: nodes on the way to the failure; where nothing failed, those that have started. */
function passedNodes(tree: StageTree, { nodes, edges, nodeOf }: GraphShape): ReadonlySet<string> {
  const failure = findFailure(tree)
  const failed = failure === undefined ? undefined : nodeOf.get((failure.path[0] ?? failure.stage).id)
  if (failed !== undefined) return ancestorsOf(failed, edges)
  const hasStarted = ({ startTime }: Stage) => Boolean(startTime)
  return new Set(nodes.flatMap((node) => (stagesIn(node).some(hasStarted) ? node.id : [])))
}

function edgeClass({ from, to, isBroken }: GraphEdge, passed: ReadonlySet<string>): string {
  if (isBroken) return 'is-broken'
  return passed.has(from) && passed.has(to) ? 'is-passed' : ''
}

/** Up and down first pass through what a node contains. */
function stepWithin(target: HTMLElement, key: string): HTMLElement | undefined {
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  if (step === undefined) return undefined
  const buttons = [...(target.closest('.node')?.querySelectorAll<HTMLElement>('button') ?? [])]
  return buttons[buttons.indexOf(target) + step]
}
