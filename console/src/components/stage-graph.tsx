/** The stages of an execution as a graph. */
import { useMemo } from 'preact/hooks'
import { findFailure, reasonOf, type Stage, type StageTree, stageStatus, titleOf } from '../model/execution.ts'
import { nodeHeight } from '../model/graph-layout.ts'
import { stageWord } from '../model/names.ts'
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
import { formatDuration, now } from '../model/time.ts'
import { Graph, type GraphItem } from './graph.tsx'
import { Name } from './name.tsx'
import { StatusMark } from './status-mark.tsx'

const innerHeight = 28
/** A node shows the beginning of a reason, the tooltip more of it. */
const [maxReason, maxTipReason] = [60, 300]
const maxInnerTitle = 22

interface StageGraphProps {
  readonly tree: StageTree
  readonly graph: GraphShape
  readonly selected: string | undefined
  readonly onSelect: (stage: string) => void
  /** Folds or unfolds a node. */
  readonly onFold: (id: string) => void
}

export function StageGraph(props: StageGraphProps) {
  const { tree, graph, selected } = props
  const { nodes, edges, nodeOf } = graph
  const { failed, passed } = useMemo(() => wayOf(tree, graph), [tree, graph])
  const longest = Math.max(1, ...nodes.map((node) => lengthOf(node, now.peek()) ?? 0))
  return (
    <Graph
      items={nodes.map((node) => toItem(node, longest, props))}
      edges={edges}
      home={(selected === undefined ? undefined : nodeOf.get(selected)) ?? failed}
      edgeClass={(edge) => edgeClass(edge, passed, failed)}
    />
  )
}

function toItem(node: GraphNode, longest: number, props: StageGraphProps): GraphItem {
  const { id, kind: of } = node
  const kind = kindOf(node)
  const [name, type, reason] = [nameOf(node), typeOf(node), reasonIn(node)]
  const word = of === 'missing' ? '' : of === 'stage' ? stageStatus(node.stage).word : countWords(node.stages)
  const length = lengthOf(node, now.peek())
  const time = length === undefined ? undefined : formatDuration(length)
  const inner = of === 'stage' ? node.shown : []
  const isSelected = stagesIn(node).some((stage) => stage.id === props.selected)
  return {
    id,
    name,
    facts: [[word, type, time].filter(Boolean).join(' · '), reason?.slice(0, maxTipReason)],
    spoken: [word, reason?.slice(0, maxReason) ?? type, time],
    height: nodeHeight + (inner.length > 0 ? inner.length * innerHeight + 6 : 0),
    class: `is-${kind} kind-${of} ${isSelected ? 'is-chosen' : ''}`,
    button: {
      'aria-pressed': of === 'stage' ? isSelected : undefined,
      'aria-expanded': of === 'stack' || of === 'chain' ? false : undefined,
      'aria-disabled': of === 'missing' || undefined,
      onClick: () => {
        if (of === 'stage') props.onSelect(id)
        else if (of !== 'missing') props.onFold(id)
      },
    },
    mark: <StatusMark kind={kind} size={20} />,
    under: (
      <span class="node-under">
        <span class="node-type cut">{reason?.slice(0, maxReason) ?? type}</span>
        <span class="node-time number">
          <Length node={node} />
        </span>
      </span>
    ),
    after: Boolean(length) && <span class="node-bar" style={{ width: `${Math.max(2, ((length ?? 0) / longest) * 100)}%` }} />,
    children: of === 'stage' && node.innerCount > 0 && <Inner node={node} name={name} {...props} />,
  }
}

/** Goes on while it runs. */
function Length({ node }: { node: GraphNode }) {
  const kind = kindOf(node)
  const length = lengthOf(node, kind === 'running' || kind === 'waiting' ? now.value : now.peek())
  return <>{length !== undefined && formatDuration(length)}</>
}

type InnerProps = StageGraphProps & { readonly node: Extract<GraphNode, { kind: 'stage' }>; readonly name: string }

/** The button that folds inner stages, and those that are shown. */
function Inner({ node: { id, shown, innerCount }, name, selected, onSelect, onFold }: InnerProps) {
  return (
    <>
      <button
        type="button"
        class="node-fold"
        aria-label={`${innerCount} inner stages of ${name}`}
        tabIndex={-1}
        aria-expanded={shown.length === innerCount}
        onClick={() => onFold(id)}
      >
        {`${innerCount} inner`}
      </button>
      {shown.map((stage) => {
        const { kind, word } = stageStatus(stage)
        const press = { 'aria-pressed': stage.id === selected, onClick: () => onSelect(stage.id) }
        return (
          <button key={stage.id} type="button" class="node-inner" tabIndex={-1} {...press}>
            <StatusMark kind={kind} size={12} />
            <span class="visually-hidden">{`${titleOf(stage)}, ${word}`}</span>
            <span class="cut" aria-hidden="true">
              <Name text={titleOf(stage)} max={maxInnerTitle} />
            </span>
          </button>
        )
      })}
    </>
  )
}

function nameOf(node: GraphNode): string {
  if (node.kind === 'missing') return `Stage ${node.ref}`
  if (node.kind === 'stage') return titleOf(node.stage)
  return node.kind === 'stack'
    ? `${node.stages.length} × ${commonTitle(node.stages) ?? 'stages'}`
    : `${node.stages.length} succeeded`
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
