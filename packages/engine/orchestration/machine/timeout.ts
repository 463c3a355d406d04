/** Time that a task may still take (docs/contracts/orchestration.md#timeouts). */
import type { Execution, Stage, StagePlace } from '../model.ts'
import { typeNameOf } from '../stages/stage-type.ts'
import { graphOf } from './graph.ts'
import type { StepRun } from './turn.ts'

interface Timeout {
  limitMs: number | undefined
  /** The stage whose start counts; the task's own start when absent. */
  stage?: Stage
}

/** The tightest limit that holds for the step. */
export function timeoutOf(run: StepRun): Timeout {
  if (typeNameOf(run.stage) === 'restrictExecutionDuringTimeWindow') return { limitMs: undefined }
  const bounded = boundedStage(run)
  if (bounded === undefined) return { limitMs: ownLimit(run) }
  return { limitMs: stageLimit(bounded), stage: bounded }
}

/** Milliseconds until the task is out of time; negative when it is, `Infinity` when it has no limit. */
export function remainingMs(run: StepRun): number {
  const { execution, stage, task, step, turn } = run
  const ownMs = ownLimit(run)
  const own =
    ownMs === undefined ? Infinity : left({ execution, stage }, task.startTime, ownMs, turn.now)
  const { limitMs, stage: bounded } = timeoutOf(run)
  if (bounded === undefined || limitMs === undefined) return limitMs === undefined ? Infinity : own
  const whole = left({ execution, stage: bounded }, bounded.startTime, limitMs, turn.now)
  return step.timeoutFollowsStage ? whole : Math.min(own, whole)
}

function ownLimit({ step, stage }: StepRun): number | undefined {
  return step.timeoutOf?.(stage) ?? step.timeoutMs
}

function left(place: StagePlace, since: number | undefined, limitMs: number, now: number): number {
  if (since === undefined) return limitMs
  return (
    limitMs -
    passedMs(place.execution, since, now) +
    pausedMs(place.execution, since, now) +
    windowMs(place)
  )
}

/** Milliseconds from then until now; what the clock was set forward by meanwhile has not passed. */
export function passedMs({ engine }: Execution, since: number, now: number): number {
  const jumps = (engine.jumps ?? []).filter(({ at }) => at > since)
  return now - since - jumps.reduce((sum, { ms }) => sum + ms, 0)
}

/** Time spent paused counts only when the pause began after the measured start. */
export function pausedMs({ paused }: Execution, since: number, now: number): number {
  if (paused === undefined || paused.pauseTime < since) return 0
  return (paused.resumeTime ?? now) - paused.pauseTime
}

function windowMs({ execution, stage }: StagePlace): number {
  const before = graphOf(execution).childrenOf(stage, 'STAGE_BEFORE')
  const window = before.find((child) => child.type === 'restrictExecutionDuringTimeWindow')
  if (window?.startTime === undefined || window.endTime === undefined) return 0
  return window.endTime - window.startTime
}

/** The stage itself or the nearest one above it that has a limit. */
function boundedStage({ execution, stage }: StagePlace): Stage | undefined {
  if (stageLimit(stage) !== undefined) return stage
  const parent = graphOf(execution).parentOf(stage)
  // What follows a failure, such as a rollback, has time of its own.
  const isAftermath = parent?.engine.failureStages?.includes(stage.id) === true
  return parent === undefined || isAftermath
    ? undefined
    : boundedStage({ execution, stage: parent })
}

function stageLimit(stage: Stage): number | undefined {
  const limit = Number(stage.context['stageTimeoutMs'] ?? Number.NaN)
  return Number.isFinite(limit) ? limit : undefined
}
