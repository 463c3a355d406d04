/** The stages of an execution on an axis of time: waiting, former attempts, running, and the moment of a judgment. */
import { durationOf, type Execution, isWaiting, type Stage } from './execution.ts'
import { numberOf, objectsOf } from './read.ts'

export interface Segment {
  /** `waits` for other requisites, `window` for a time window; `judges` for a person. */
  readonly kind: 'waits' | 'window' | 'attempt' | 'judges' | 'runs'
  /** Percent of the axis. */
  readonly left: number
  readonly width: number
}

/** A span in milliseconds since the epoch. */
interface Span {
  readonly from: number
  readonly until: number
}

/** From the first thing that happened, which a restart may have been long after. */
export function axisOf({ stages, startTime, buildTime, endTime }: Execution, nowMs: number): Span {
  const begun = startTime ?? buildTime
  const starts = stages.flatMap((stage) => [...attemptsOf(stage).map(({ from }) => from), stage.startTime ?? []].flat())
  const until = endTime ?? nowMs
  const from = Math.min(...starts, begun ?? until)
  return { from, until: Math.max(until, from + 1) }
}

export function segmentsOf(stage: Stage, stages: readonly Stage[], axis: Span, nowMs: number): readonly Segment[] {
  const span = axis.until - axis.from
  const at = (time: number) => Math.max(0, Math.min(100, ((time - axis.from) / span) * 100))
  const segment = (kind: Segment['kind'], { from, until }: Span): Segment => ({
    kind,
    left: at(from),
    width: Math.max(0.4, at(until) - at(from)),
  })
  const attempts = attemptsOf(stage).map((attempt) => segment('attempt', attempt))
  const from = stage.startTime
  const length = durationOf(stage, nowMs)
  if (!from || length === undefined) return attempts
  const ready = readySince(stage, stages) ?? from
  const waited = from - ready > span / 200 ? [segment('waits', { from: ready, until: from })] : []
  const judges = stage.type === 'manualJudgment' || isWaiting(stage)
  const kind = stage.type === 'restrictExecutionDuringTimeWindow' ? 'window' : judges ? 'judges' : 'runs'
  return [...attempts, ...waited, segment(kind, { from, until: from + length })]
}

/** When the first of several requisites had ended, in the present attempt. */
function readySince({ requisiteStageRefIds, parentStageId }: Stage, stages: readonly Stage[]): number | undefined {
  if (parentStageId || (requisiteStageRefIds?.length ?? 0) < 2) return undefined
  const requisites = stages.filter(({ refId, endTime }) => refId && endTime && requisiteStageRefIds?.includes(refId))
  return requisites.length === 0 ? undefined : Math.min(...requisites.map(({ endTime }) => endTime ?? 0))
}

/** Runs before a restart. */
export function attemptsOf({ context }: Stage): readonly Span[] {
  return objectsOf(context['previousAttempts']).flatMap(({ startTime, endTime }) => {
    const [from, until] = [numberOf(startTime), numberOf(endTime)]
    return from === undefined || until === undefined ? [] : [{ from, until }]
  })
}
