/** What the console derives from an execution: order and nesting of stages, what waits, what failed and why. */
import type { components } from '../api/schema.d.ts'
import { toReason } from './names.ts'
import { numberOf, objectOf, objectsOf, textOf, textsOf } from './read.ts'
import { linksOf, type StageLinks } from './stage-links.ts'
import { executionStatus, isComplete, type Status, waitingForJudgment } from './status.ts'

type Schemas = components['schemas']

export type Execution = Schemas['Execution']
export type Stage = Schemas['Stage']

export interface StageTree {
  /** Stages of the definition, each after those that it requires; equals in the order of the definition. */
  readonly top: readonly Stage[]
  /** Synthetic stages by the stage that they belong to: before it, then after it. */
  readonly inner: ReadonlyMap<string, readonly Stage[]>
  /** Links between the stages of the definition. */
  readonly links: StageLinks
}

export function toStageTree(stages: readonly Stage[]): StageTree {
  const top = stages.filter(({ parentStageId }) => !parentStageId)
  const inner = new Map<string, Stage[]>()
  for (const stage of stages) {
    if (!stage.parentStageId) continue
    const children = inner.get(stage.parentStageId)
    if (children === undefined) inner.set(stage.parentStageId, [stage])
    else children.push(stage)
  }
  for (const children of inner.values()) children.sort(byOwner)
  const links = linksOf(top)
  return { top: links.order.flatMap((at) => top[at] ?? []), inner, links }
}

function byOwner(left: Stage, right: Stage): number {
  return Number(left.syntheticStageOwner === 'STAGE_AFTER') - Number(right.syntheticStageOwner === 'STAGE_AFTER')
}

/** A running judgment that has no answer waits for a person. */
export function isWaiting(stage: Stage): boolean {
  return stage.type === 'manualJudgment' && stage.status === 'RUNNING' && !textOf(stage.context['judgmentStatus'])
}

export function stageStatus(stage: Stage): Status {
  return isWaiting(stage) ? waitingForJudgment : executionStatus(stage.status)
}

/** Waiting for a person counts more than running. */
export function statusOf(execution: Execution): Status {
  if (execution.status === 'RUNNING' && execution.canceled === true) return { kind: 'running', word: 'cancelling' }
  if (execution.status === 'RUNNING' && execution.stages.some(isWaiting)) return waitingForJudgment
  return executionStatus(execution.status)
}

export function durationOf(
  { startTime, endTime, status }: Pick<Stage, 'startTime' | 'endTime' | 'status'>,
  nowMs: number,
): number | undefined {
  if (!startTime) return undefined
  if (endTime) return endTime - startTime
  return isComplete(status) ? undefined : Math.max(0, nowMs - startTime)
}

/** The last characters of the id, as people call a run. */
export function shortId(id: string): string {
  return id.slice(-4)
}

export function newestFirst<Run extends Pick<Execution, 'buildTime'>>(runs: readonly Run[]): readonly Run[] {
  return runs.toSorted((a, b) => (b.buildTime ?? 0) - (a.buildTime ?? 0))
}

export function hasActive(runs: readonly { readonly status: string }[]): boolean {
  return runs.some(({ status }) => !isComplete(status))
}

export function startedBy({ authentication, trigger }: Execution): string | undefined {
  return textOf(objectOf(authentication)['user']) ?? textOf(trigger.user)
}

export interface Failure {
  readonly stage: Stage
  /** From the failed stage of the definition to the one with the reason. */
  readonly path: readonly Stage[]
  readonly reason: string | undefined
  /** The execution that a stage has started and that failed. */
  readonly child: string | undefined
}

export function failureOf({ stages }: Pick<Execution, 'stages'>): Failure | undefined {
  return findFailure(toStageTree(stages))
}

/** The first failed stage, followed to the inner stage that has the reason. */
export function findFailure({ top, inner }: StageTree): Failure | undefined {
  const failed =
    top.find(({ status }) => status === 'TERMINAL') ??
    top.find(({ status }) => status === 'STOPPED' || status === 'FAILED_CONTINUE')
  if (failed === undefined) return undefined
  const path = [failed]
  for (;;) {
    const last = path[path.length - 1] as Stage
    const next = (inner.get(last.id) ?? []).find(({ status }) => status === 'TERMINAL' || status === 'STOPPED')
    if (next === undefined || path.includes(next)) break
    path.push(next)
  }
  const stage = path[path.length - 1] as Stage
  const reason = path.map(reasonOf).findLast((text) => text !== undefined)
  return { stage, path, reason, child: textOf(stage.context['executionId']) }
}

/** Why a stage failed, as the engine or the service behind it says. */
export function reasonOf(stage: Stage): string | undefined {
  const { exception } = stage.context
  const details = objectOf(objectOf(exception)['details'])
  const errors = textsOf(details['errors'])
  if (errors.length > 0) return [...new Set(errors.map(toReason))].join(' ')
  const cloud = objectsOf(stage.context['kato.tasks']).map((task) => textOf(objectOf(task['exception'])['message']))
  const steps = stage.tasks.map(({ taskExceptionDetails }) =>
    textOf(objectOf(objectOf(objectOf(taskExceptionDetails)['exception'])['details'])['error']),
  )
  const said =
    textOf(details['error']) ??
    cloud.find((text) => text !== undefined) ??
    steps.find((text) => text !== undefined) ??
    textOf(objectOf(exception)['message'])
  if (said !== undefined) return toReason(said)
  return stage.type === 'manualJudgment' && textOf(stage.context['judgmentStatus']) === 'stop' ? judgmentReason(stage) : undefined
}

function judgmentReason({ lastModified }: Stage): string {
  const by = textOf(objectOf(lastModified)['user'])
  return by === undefined ? 'It was judged with “stop”.' : `${by} judged it with “stop”.`
}

/** Stages of the definition that have ended, of how many. */
export function progressOf(stages: readonly Stage[]): { done: number; total: number } {
  const top = stages.filter(({ parentStageId }) => !parentStageId)
  return { done: top.filter(({ status }) => isComplete(status)).length, total: top.length }
}

/** Milliseconds that a wait has left. */
export function remainingWait(stage: Stage, nowMs: number): number | undefined {
  const seconds = numberOf(stage.context['waitTime'])
  if (stage.type !== 'wait' || stage.status !== 'RUNNING' || seconds === undefined || !stage.startTime) return undefined
  return Math.max(0, stage.startTime + seconds * 1000 - nowMs)
}

export function titleOf(stage: Stage): string {
  return stage.name || stage.type
}
