/** The stages of an execution as a graph: one Tab stop, arrows follow the edges. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Layout, layoutGraph } from '../graph/layout.ts'
import { durationOf, type Stage, type StageTree, stageStatus, titleOf } from '../model/execution.ts'
import { formatDuration, now } from '../model/time.ts'
import { words } from '../words.ts'
import { Name } from './name.tsx'
import { StatusMark } from './status-mark.tsx'

export const nodeSize = { width: 200, height: 52 } as const
const corner = 6

type Edge = readonly [from: string, to: string]

interface StageGraphProps {
  readonly tree: StageTree
  readonly selected: string | undefined
  readonly onSelect: (stage: Stage) => void
}

export function StageGraph({ tree, selected, onSelect }: StageGraphProps) {
  const edges = useMemo(() => toEdges(tree.top), [shapeOf(tree.top)])
  const layout = useLayout(tree.top, edges)
  const [zoom, setZoom] = useState(1)
  const box = useRef<HTMLDivElement>(null)
  const longest = Math.max(1, ...tree.top.map((stage) => durationOf(stage, now.peek()) ?? 0))
  const inFocus = selected !== undefined && tree.top.some(({ id }) => id === selected) ? selected : tree.top[0]?.id

  useLayoutEffect(() => {
    if (layout === undefined || selected === undefined) return
    box.current?.querySelector(`[data-stage="${CSS.escape(selected)}"]`)?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [layout === undefined])

  if (layout === undefined) return <div class="graph is-loading" aria-busy="true" />
  const onKey = (event: KeyboardEvent) => {
    const current = (event.target as HTMLElement).dataset['stage']
    if (current === undefined) return
    const next = neighbour(event.key, current, tree.top, edges, layout)
    if (next === undefined) return
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
            onKeyDown={onKey}
          >
            <svg class="edges" width={layout.width} height={layout.height} aria-hidden="true">
              {edges.map(([from, to]) => (
                <path
                  key={`${from} ${to}`}
                  class={isOnPath(from, to, tree.top) ? 'is-passed' : ''}
                  d={toPath(layout, from, to)}
                />
              ))}
            </svg>
            {tree.top.map((stage, index) => (
              <Node
                key={stage.id}
                stage={stage}
                place={layout.places[stage.id] ?? { x: 0, y: 0 }}
                inner={tree.inner.get(stage.id)?.length ?? 0}
                position={words.ofStages(index + 1, tree.top.length)}
                selected={stage.id === selected}
                tabIndex={stage.id === inFocus ? 0 : -1}
                longest={longest}
                onSelect={onSelect}
              />
            ))}
          </div>
        </div>
      </div>
      <div class="zoom row">
        <button
          type="button"
          class="icon-button small"
          aria-label={words.zoomOut}
          onClick={() => setZoom(Math.max(0.5, zoom - 0.25))}
        >
          −
        </button>
        <button type="button" class="icon-button small wide" aria-label={words.zoomReset} onClick={() => setZoom(1)}>
          {`${Math.round(zoom * 100)} %`}
        </button>
        <button
          type="button"
          class="icon-button small"
          aria-label={words.zoomIn}
          onClick={() => setZoom(Math.min(1.5, zoom + 0.25))}
        >
          +
        </button>
      </div>
    </div>
  )
}

interface NodeProps {
  readonly stage: Stage
  readonly place: { readonly x: number; readonly y: number }
  readonly inner: number
  readonly position: string
  readonly selected: boolean
  readonly tabIndex: number
  readonly longest: number
  readonly onSelect: (stage: Stage) => void
}

function Node({ stage, place, inner, position, selected, tabIndex, longest, onSelect }: NodeProps) {
  const { kind, word } = stageStatus(stage)
  const length = durationOf(stage, stage.endTime ? 0 : now.value)
  const time = length === undefined ? '' : formatDuration(length)
  const share = length === undefined ? 0 : Math.max(2, Math.min(100, (length / longest) * 100))
  return (
    <button
      type="button"
      class={`node is-${kind}`}
      data-stage={stage.id}
      aria-pressed={selected}
      tabIndex={tabIndex}
      style={{ left: `${place.x}px`, top: `${place.y}px` }}
      onClick={() => onSelect(stage)}
    >
      <StatusMark kind={kind} label={word} size={20} />
      <span class="node-text">
        <span class="node-name cut">
          <Name text={titleOf(stage)} max={40} />
        </span>
        <span class="node-under">
          <span class="node-type cut">
            {stage.type}
            {inner > 0 && `, ${words.innerStages(inner)}`}
          </span>
          <span class="node-time number">{time}</span>
        </span>
      </span>
      <span class="visually-hidden">{position}</span>
      <span class="node-bar" style={{ width: `${share}%` }} />
    </button>
  )
}

/** What decides the layout: a change of a status is none. */
function shapeOf(stages: readonly Stage[]): string {
  return stages.map(({ id, refId, requisiteStageRefIds }) => `${id} ${refId} ${requisiteStageRefIds ?? ''}`).join('\n')
}

/** Requisites that do not exist are left out; so is a stage that requires itself. */
function toEdges(stages: readonly Stage[]): readonly Edge[] {
  const byRef = new Map(stages.flatMap(({ refId, id }) => (refId ? [[refId, id] as const] : [])))
  return stages.flatMap(({ id, requisiteStageRefIds }) =>
    [...new Set(requisiteStageRefIds ?? [])].flatMap((ref): Edge[] => {
      const from = byRef.get(ref)
      return from === undefined || from === id ? [] : [[from, id]]
    }),
  )
}

function useLayout(stages: readonly Stage[], edges: readonly Edge[]): Layout | undefined {
  const [layout, setLayout] = useState<Layout | undefined>(undefined)
  useEffect(() => {
    let isCurrent = true
    const nodes = stages.map(({ id }) => ({ id, ...nodeSize }))
    void layoutGraph({ nodes, edges }).then((done) => isCurrent && setLayout(done))
    return () => {
      isCurrent = false
    }
  }, [edges])
  return layout
}

function isOnPath(from: string, to: string, stages: readonly Stage[]): boolean {
  const started = (id: string) => stages.find((stage) => stage.id === id)?.startTime
  return Boolean(started(from)) && Boolean(started(to))
}

/** Right angles with round corners. */
function toPath({ places }: Layout, from: string, to: string): string {
  const [start, end] = [places[from], places[to]]
  if (start === undefined || end === undefined) return ''
  const [x1, y1] = [start.x + nodeSize.width, start.y + nodeSize.height / 2]
  const [x2, y2] = [end.x, end.y + nodeSize.height / 2]
  const middle = x2 - 24
  if (Math.abs(y1 - y2) < 1) return `M${x1} ${y1}H${x2}`
  const bend = Math.min(corner, Math.abs(y2 - y1) / 2)
  const down = y2 > y1 ? 1 : -1
  return `M${x1} ${y1}H${middle - bend}q${bend} 0 ${bend} ${bend * down}V${y2 - bend * down}q0 ${bend * down} ${bend} ${bend * down}H${x2}`
}

function neighbour(
  key: string,
  current: string,
  stages: readonly Stage[],
  edges: readonly Edge[],
  { places }: Layout,
): string | undefined {
  if (key === 'ArrowRight') return edges.find(([from]) => from === current)?.[1]
  if (key === 'ArrowLeft') return edges.find(([, to]) => to === current)?.[0]
  if (key === 'Home') return stages[0]?.id
  if (key === 'End') return stages.at(-1)?.id
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  const here = places[current]
  if (step === undefined || here === undefined) return undefined
  const column = stages
    .map(({ id }) => ({ id, place: places[id] }))
    .filter(
      ({ id, place }) =>
        id !== current && place !== undefined && Math.abs(place.x - here.x) < 10 && (place.y - here.y) * step > 0,
    )
    .toSorted((a, b) => ((a.place?.y ?? 0) - (b.place?.y ?? 0)) * step)
  return column[0]?.id
}
