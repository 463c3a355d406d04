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

interface Axis {
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly until: number
}

/** From the first thing that happened, which a restart may have been long after. */
export function axisOf(execution: Execution, nowMs: number): Axis {
  const starts = execution.stages.flatMap((stage) => [
    ...attemptsOf(stage).map(({ from }) => from),
    ...(stage.startTime ? [stage.startTime] : []),
  ])
  const begun = execution.startTime ?? execution.buildTime ?? undefined
  const from = Math.min(...starts, begun ?? Number.POSITIVE_INFINITY)
  const until = execution.endTime ?? nowMs
  return { from: Number.isFinite(from) ? from : until, until: Math.max(until, from + 1) }
}

export function segmentsOf(stage: Stage, stages: readonly Stage[], axis: Axis, nowMs: number): readonly Segment[] {
  const span = Math.max(1, axis.until - axis.from)
  const at = (time: number) => Math.max(0, Math.min(100, ((time - axis.from) / span) * 100))
  const segment = (kind: Segment['kind'], from: number, until: number): Segment => ({
    kind,
    left: at(from),
    width: Math.max(0.4, at(until) - at(from)),
  })
  const attempts = attemptsOf(stage).map(({ from, until }) => segment('attempt', from, until))
  const ready = readySince(stage, stages)
  const begun = stage.startTime ?? undefined
  const waited = ready !== undefined && begun !== undefined && begun - ready > span / 200 ? [segment('waits', ready, begun)] : []
  const length = durationOf(stage, nowMs)
  if (begun === undefined || length === undefined) return attempts
  const kind =
    stage.type === 'restrictExecutionDuringTimeWindow'
      ? 'window'
      : stage.type === 'manualJudgment' || isWaiting(stage)
        ? 'judges'
        : 'runs'
  return [...attempts, ...waited, segment(kind, begun, begun + length)]
}

/** When the first of several requisites had ended, in the present attempt. */
function readySince({ requisiteStageRefIds, parentStageId }: Stage, stages: readonly Stage[]): number | undefined {
  if (parentStageId || (requisiteStageRefIds?.length ?? 0) < 2) return undefined
  const ends = stages.flatMap(({ refId, endTime }) =>
    refId && endTime && requisiteStageRefIds?.includes(refId) === true ? [endTime] : [],
  )
  return ends.length === 0 ? undefined : Math.min(...ends)
}

/** Runs before a restart. */
export function attemptsOf({ context }: Stage): readonly { readonly from: number; readonly until: number }[] {
  return objectsOf(context['previousAttempts']).flatMap((attempt) => {
    const from = numberOf(attempt['startTime'])
    const until = numberOf(attempt['endTime'])
    return from === undefined || until === undefined ? [] : [{ from, until }]
  })
}
