/**
 * Operations of users on a running execution: cancel, pause, resume, change or skip a stage.
 * @see docs/contracts/orchestration.md#operations-on-a-run
 */
import { list, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject } from '@fairlead/base/json/values.ts'
import { steer } from '../identity.ts'
import type { Execution, Identity, Stage } from '../model.ts'
import { keepMasked } from '../secrets.ts'
import { stageTypeOf, typeNameOf } from '../stages/stage-type.ts'
import { isActive, isComplete } from '../statuses.ts'
import { advance } from './advance.ts'
import {
  announceCompletion,
  checkCompletion,
  completeExecution,
  endTask,
  undoLater,
} from './completion.ts'
import { graphOf } from './graph.ts'
import { pauseTask, wakeTasks } from './run-task.ts'
import type { StageRun, Turn } from './turn.ts'

/** A complete execution keeps its status, and who ended it is not overwritten. */
export function cancelExecution(
  execution: Execution,
  { canceledBy, cancelFor }: { canceledBy: string; cancelFor?: string | undefined },
  reason: string | undefined,
  turn: Turn,
): void {
  if (isComplete(execution.status)) return
  execution.canceled = true
  execution.engine.cancelFor = cancelFor
  execution.canceledBy = canceledBy
  if (reason !== undefined && reason !== '') execution.cancellationReason = reason
  if (isActive(execution.status)) completeExecution(execution, 'CANCELED', turn)
  else {
    execution.status = 'CANCELED'
    announceCompletion(execution, turn)
  }
}

/** Tasks in the middle of a call are paused when it has come back. */
export function pauseExecution(
  execution: Execution,
  pausedBy: string,
  turn: Turn,
  isInFlight: (run: string) => boolean,
): void {
  if (execution.type !== 'PIPELINE' || execution.status !== 'RUNNING') return
  execution.status = 'PAUSED'
  execution.paused = { pausedBy, pauseTime: turn.now, paused: true, pausedMs: 0 }
  for (const stage of execution.stages) {
    for (const task of stage.tasks) {
      if (task.status === 'RUNNING' && !isInFlight(task.engine.run ?? ''))
        pauseTask({ execution, stage, task, turn })
    }
  }
}

/** Who resumes a run decides when it acts. */
export function resumeExecution(execution: Execution, by: Identity, turn: Turn): void {
  const { paused } = execution
  if (execution.status !== 'PAUSED' || paused === undefined) return
  execution.status = 'RUNNING'
  steer(execution, by, 'resumed it', turn.now)
  execution.paused = {
    ...paused,
    resumedBy: by.user,
    resumeTime: turn.now,
    paused: false,
    pausedMs: turn.now - paused.pauseTime,
  }
  for (const stage of execution.stages) {
    if (stage.status === 'PAUSED') stage.status = 'RUNNING'
    for (const task of stage.tasks) {
      if (task.status !== 'PAUSED') continue
      task.status = 'RUNNING'
      task.engine.dueAt = turn.now
    }
  }
  advance(execution, turn)
}

/** Keys of users that a result of the stage does not replace (docs/contracts/orchestration.md#stage-operations). */
export const steeringKeys: ReadonlySet<string> = new Set([
  'judgmentStatus',
  'judgmentInput',
  'judgmentComment',
  'skipRemainingWait',
  'manualSkip',
  'reason',
  'status',
  'continuePipeline',
  'failPipeline',
])

/** Merges keys into the stage's context, and wakes every running task so that the change takes effect at once. */
export function patchStage(run: StageRun, changes: JsonObject, modifier: Identity): void {
  const { execution, stage, turn } = run
  const finalKeys = isComplete(stage.status)
    ? (stageTypeOf(turn.stageTypes, stage)?.finalKeys ?? [])
    : []
  const { lastModifiedBy: _claimed, ...given } = changes
  const allowed = Object.fromEntries(
    Object.entries(given).filter(([key]) => !finalKeys.includes(key)),
  )
  // The user who has judged stays the judge when others change something else afterwards.
  const isJudged =
    typeNameOf(stage) === 'manualJudgment' &&
    !!stage.context['judgmentStatus'] &&
    !('judgmentStatus' in allowed)
  stage.context = { ...stage.context, ...keepMasked(allowed, stage.context) }
  stage.engine.changes = (stage.engine.changes ?? 0) + 1
  if (!isJudged) {
    stage.context['lastModifiedBy'] = modifier.user
    stage.lastModified = { ...modifier, lastModifiedTime: turn.now }
  }
  const steering = Object.keys(allowed).filter(
    (key) => isJudged || !answers(stage, key, allowed[key]),
  )
  if (steering.length > 0) steer(execution, modifier, describeChange(stage, steering), turn.now)
  if (toChanges(changes).manualSkip && !isComplete(stage.status) && !isComplete(execution.status))
    skipManually(run)
  else wakeTasks(execution, turn.now)
}

const toChanges = shape({ manualSkip: isTrue, judgmentInputs: list(shape({ value: String })) })

/** Whether it is what the author of a judgment has asked for: a decision, and one of the inputs that the judgment offers. */
function answers(stage: Stage, key: string, value: unknown): boolean {
  if (typeNameOf(stage) !== 'manualJudgment' || isComplete(stage.status)) return false
  if (key === 'judgmentStatus' || key === 'judgmentComment') return true
  const { judgmentInputs } = toChanges(stage.context)
  const offered = judgmentInputs.map((each) => each.value)
  return (
    key === 'judgmentInput' && (value === null || value === '' || offered.includes(String(value)))
  )
}

const mostNamed = 5

function describeChange({ name }: Stage, keys: readonly string[]): string {
  if (keys.includes('manualSkip') || keys.includes('skipRemainingWait'))
    return `skipped the stage ${name}, or the rest of its wait`
  return `changed ${keys.slice(0, mostNamed).join(', ')}${keys.length > mostNamed ? ', …' : ''} of the stage ${name}`
}

function skipManually({ execution, stage, turn }: StageRun): void {
  const graph = graphOf(execution)
  const top = graph.topLevelOf(stage)
  for (const each of [top, ...graph.descendantsOf(top)]) {
    if (['SUCCEEDED', 'TERMINAL', 'FAILED_CONTINUE'].includes(each.status)) continue
    if (isActive(each.status) && stageTypeOf(turn.stageTypes, each)?.undoesSkip)
      undoLater(
        { execution, stage: each, turn },
        each.tasks.find(({ status }) => status === 'RUNNING'),
      )
    each.status = 'SKIPPED'
    each.endTime = turn.now
    for (const task of each.tasks) {
      if (isActive(task.status)) endTask({ execution, stage: each, task, turn }, 'SKIPPED')
    }
    turn.events.push({ phase: 'skipped', execution, stage: each })
  }
  checkCompletion({ execution, stage: top, turn })
  advance(execution, turn)
}

/** The administrator's last resort: rewrites the record and runs nothing. */
export function forceCancel(execution: Execution, canceledBy: string, turn: Turn): void {
  const wasComplete = isComplete(execution.status)
  for (const stage of execution.stages) {
    if (!isActive(stage.status)) continue
    stage.status = 'CANCELED'
    stage.endTime = turn.now
    for (const task of stage.tasks) {
      task.status = 'CANCELED'
      task.endTime ??= turn.now
      task.engine = {}
    }
  }
  if (wasComplete) return
  execution.canceled = true
  execution.canceledBy = canceledBy
  execution.cancellationReason = `Force canceled by the administrator ${canceledBy}.`
  execution.status = 'CANCELED'
  execution.endTime = turn.now
  announceCompletion(execution, turn)
}
