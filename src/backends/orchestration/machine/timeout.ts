/** How long a task may still take (orchestration contract, 4.6, "timeouts"). */
import type { Execution, Stage, Task } from '../model.ts'
import { type Step, typeNameOf } from '../stages/stage-type.ts'
import { childrenOf, parentOf } from './graph.ts'

interface Timeout {
  limitMs: number | undefined
  /** The stage whose start counts; the task's own start when absent. */
  stage?: Stage
}

/** The tightest limit that holds for the step. */
export function timeoutOf(execution: Execution, stage: Stage, step: Step): Timeout {
  if (typeNameOf(stage) === 'restrictExecutionDuringTimeWindow') return { limitMs: undefined }
  const bounded = boundedStage(execution, stage)
  if (bounded === undefined) return { limitMs: step.timeoutMs }
  return { limitMs: stageLimit(bounded), stage: bounded }
}

/** Milliseconds until the task is out of time; negative when it is, `Infinity` when it has no limit. */
export function remainingMs(execution: Execution, stage: Stage, task: Task, step: Step, now: number): number {
  const own = step.timeoutMs === undefined ? Infinity : left(execution, stage, task.startTime, step.timeoutMs, now)
  const { limitMs, stage: bounded } = timeoutOf(execution, stage, step)
  if (bounded === undefined || limitMs === undefined) return limitMs === undefined ? Infinity : own
  const whole = left(execution, bounded, bounded.startTime, limitMs, now)
  return step.timeoutFollowsStage ? whole : Math.min(own, whole)
}

function left(execution: Execution, stage: Stage, since: number | undefined, limitMs: number, now: number): number {
  if (since === undefined) return limitMs
  return since + limitMs + pausedMs(execution, since, now) + windowMs(execution, stage) - now
}

/** Time spent paused counts only when the pause began after the measured start. */
function pausedMs(execution: Execution, since: number, now: number): number {
  const { paused } = execution
  if (paused === undefined || paused.pauseTime < since) return 0
  return (paused.resumeTime ?? now) - paused.pauseTime
}

function windowMs(execution: Execution, stage: Stage): number {
  const window = childrenOf(execution, stage, 'STAGE_BEFORE').find((child) => child.type === 'restrictExecutionDuringTimeWindow')
  if (window?.startTime === undefined || window.endTime === undefined) return 0
  return window.endTime - window.startTime
}

/** The stage itself or the nearest one above it that has a limit. */
function boundedStage(execution: Execution, stage: Stage): Stage | undefined {
  if (stageLimit(stage) !== undefined) return stage
  const parent = parentOf(execution, stage)
  return parent === undefined ? undefined : boundedStage(execution, parent)
}

function stageLimit(stage: Stage): number | undefined {
  const limit = Number(stage.context['stageTimeoutMs'] ?? Number.NaN)
  return Number.isFinite(limit) ? limit : undefined
}
