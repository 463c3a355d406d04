/** The stages of an execution as a graph. */
import { useMemo } from 'preact/hooks'
import {
  findFailure,
  reasonOf,
  type Stage,
  type StageTree,
  stageStatus,
  titleOf,
} from '../model/execution.ts'
import { nodeHeight } from '../model/graph-layout.ts'
import { stageWord } from '../model/names.ts'
import {
  ancestorsOf,
  commonTitle,
  countWords,
  type GraphNode,
  type GraphShape,
  kindOf,
  lengthOf,
} from '../model/stage-graph.ts'
import { formatDuration, now } from '../model/time.ts'
import { plural } from '../words.ts'
import { Graph, type GraphItem } from './graph.tsx'
import { Name, StatusMark } from './text.tsx'

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
  const edgeClass = ({ from, to, isBroken }: GraphShape['edges'][number]) => {
    if (isBroken) return 'is-broken'
    if (!passed.has(from) || !passed.has(to)) return ''
    return failed === undefined ? 'is-passed' : 'is-to-failure'
  }
  return (
    <Graph
      items={nodes.map((node) => toItem(node, longest, props))}
      edges={edges}
      home={(selected === undefined ? undefined : nodeOf.get(selected)) ?? failed}
      edgeClass={edgeClass}
    />
  )
}

function toItem(node: GraphNode, longest: number, props: StageGraphProps): GraphItem {
  const { id, kind: of, stages, shown, inner } = node
  const kind = kindOf(node)
  const { name, type, word } = wordsOf(node)
  const reason =
    of === 'stage' && kind === 'failed'
      ? [...stages, ...shown].map(reasonOf).find(Boolean)
      : undefined
  const length = lengthOf(node, now.peek())
  const time = length === undefined ? undefined : formatDuration(length)
  const isSelected = stages.some((stage) => stage.id === props.selected)
  return {
    id,
    name,
    facts: [[word, type, time].filter(Boolean).join(' · '), reason?.slice(0, maxTipReason)],
    spoken: [word, reason?.slice(0, maxReason) ?? type, time],
    height: nodeHeight + (shown.length > 0 ? shown.length * innerHeight + 6 : 0),
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
    after: Boolean(length) && (
      <span
        class="node-bar"
        style={{ width: `${Math.max(2, ((length ?? 0) / longest) * 100)}%` }}
      />
    ),
    children: inner.length > 0 && <Inner node={node} name={name} {...props} />,
  }
}

function wordsOf({ id, kind, stages }: GraphNode): { name: string; type: string; word: string } {
  const [first, last] = [stages[0], stages.at(-1)]
  if (first === undefined || last === undefined) {
    return {
      name: `Stage ${id.slice('missing:'.length)}`,
      type: 'required, but it does not exist',
      word: '',
    }
  }
  if (kind === 'stage')
    return { name: titleOf(first), type: stageWord(first.type), word: stageStatus(first).word }
  const word = countWords(stages)
  if (kind === 'stack')
    return { name: `${stages.length} × ${commonTitle(stages) ?? 'stages'}`, type: word, word }
  return { name: `${stages.length} succeeded`, type: `${titleOf(first)} … ${titleOf(last)}`, word }
}

/** Goes on while it runs. */
function Length({ node }: { node: GraphNode }) {
  const kind = kindOf(node)
  const length = lengthOf(node, kind === 'running' || kind === 'waiting' ? now.value : now.peek())
  return <>{length !== undefined && formatDuration(length)}</>
}

/** The button that folds inner stages, and those that are shown. */
function Inner({
  node,
  name,
  selected,
  onSelect,
  onFold,
}: StageGraphProps & { node: GraphNode; name: string }) {
  const { id, shown, inner } = node
  return (
    <>
      <button
        type="button"
        class="node-fold"
        aria-label={`${plural(inner.length, 'inner stage')} of ${name}`}
        tabIndex={-1}
        aria-expanded={shown.length === inner.length}
        onClick={() => onFold(id)}
      >
        {plural(inner.length, 'inner stage')}
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

/** Nodes on the way to the failure; where nothing failed, those that have started. */
function wayOf(tree: StageTree, { nodes, edges, nodeOf }: GraphShape) {
  const failure = findFailure(tree)
  const failed =
    failure === undefined ? undefined : nodeOf.get((failure.path[0] ?? failure.stage).id)
  const hasStarted = ({ startTime }: Stage) => Boolean(startTime)
  const started = nodes.flatMap(({ id, stages }) => (stages.some(hasStarted) ? id : []))
  return { failed, passed: failed === undefined ? new Set(started) : ancestorsOf(failed, edges) }
}
