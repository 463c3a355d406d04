/** What the console derives from an execution: order and nesting of stages, what waits, what failed and why. */

import { type Cause, toCause } from '@fairlead/base/causes/cause.ts'
import { objectList, shape } from '@fairlead/base/json/shape.ts'
import { scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Schemas } from '../api/schema.d.ts'
import { toReason } from './names.ts'
import { levelsOf, linksOf } from './stage-links.ts'

export type Execution = Schemas['Execution']
export type Stage = Schemas['Stage']

export type StageTree = ReturnType<typeof toStageTree>

/** Made once: `localeCompare` with options makes one for each comparison. */
const compareNumbered = new Intl.Collator('en', { numeric: true }).compare

/** Stages of the definition in their order, with their links; and synthetic ones by the stage that they belong to. */
export function toStageTree(stages: readonly Stage[]) {
  const { top = [], ...others } = Object.groupBy(
    stages,
    ({ parentStageId }) => parentStageId || 'top',
  )
  const isAfter = ({ syntheticStageOwner }: Stage) => Number(syntheticStageOwner === 'STAGE_AFTER')
  const inner = Object.entries(others).map(([id, children = []]) => {
    return [
      id,
      children.toSorted((one, other) => isAfter(one) - isAfter(other)) as readonly Stage[],
    ] as const
  })
  // The API sorts them by their references as text.
  const byReference = (a: Stage, b: Stage) => compareNumbered(a.refId ?? '', b.refId ?? '')
  const ordered = levelsOf(top.toSorted(byReference)).flat()
  return { top: ordered, inner: new Map(inner), links: linksOf(ordered) }
}

/** A running judgment that has no answer waits for a person. */
export function isWaiting(stage: Stage): boolean {
  return (
    stage.type === 'manualJudgment' &&
    stage.status === 'RUNNING' &&
    !scalarOf(stage.context['judgmentStatus'])
  )
}

export function stageStatus(stage: Stage): Status {
  return isWaiting(stage) ? waitingForJudgment : executionStatus(stage.status)
}

/** Waiting for a person counts more than running. */
export function statusOf(execution: Execution): Status {
  if (execution.status === 'RUNNING' && execution.canceled === true)
    return { kind: 'running', word: 'cancelling' }
  if (execution.status === 'RUNNING' && execution.stages.some(isWaiting)) return waitingForJudgment
  return executionStatus(execution.status)
}

export function durationOf(
  { startTime, endTime, status }: Pick<Stage, 'startTime' | 'endTime' | 'status'>,
  nowMs: number,
) {
  if (!startTime) return undefined
  if (endTime) return endTime - startTime
  return isComplete(status) ? undefined : Math.max(0, nowMs - startTime)
}

/** The last characters of the id, as people call a run. */
export function shortId(id: string): string {
  return id.slice(-4)
}

export function newestFirst<Run extends Pick<Execution, 'buildTime'>>(
  runs: readonly Run[],
): readonly Run[] {
  return runs.toSorted((a, b) => (b.buildTime ?? 0) - (a.buildTime ?? 0))
}

export function hasActive(runs: readonly { readonly status: string }[]): boolean {
  return runs.some(({ status }) => !isComplete(status))
}

export function startedBy({ authentication, trigger }: Execution): string | undefined {
  return scalarOf(authentication?.user) ?? scalarOf(trigger.user)
}

/** Other users whose rights it needs, as they have decided what it does. */
export function steerersOf({ authentication }: Execution) {
  return authentication?.steeredBy ?? []
}

export type Failure = NonNullable<ReturnType<typeof findFailure>>

/** Lists ask for those of all rows, several times. */
const failures = new WeakMap<readonly Stage[], Failure | undefined>()
const failing = new Set<Stage['status']>(['TERMINAL', 'STOPPED', 'FAILED_CONTINUE'])

export function failureOf({ stages }: Pick<Execution, 'stages'>): Failure | undefined {
  if (!failures.has(stages)) {
    const failed = stages.filter(({ status }) => failing.has(status))
    // Only the order of several needs the others.
    const isOne = failed.filter(({ parentStageId }) => !parentStageId).length < 2
    failures.set(stages, findFailure(toStageTree(isOne ? failed : stages)))
  }
  return failures.get(stages)
}

/** The first failed stage, followed to the inner stage that has the reason; and the execution that it has started. */
export function findFailure({ top, inner }: StageTree) {
  const failed =
    top.find(({ status }) => status === 'TERMINAL') ??
    top.find(({ status }) => status === 'STOPPED' || status === 'FAILED_CONTINUE')
  if (failed === undefined) return undefined
  const path = [failed]
  const isNext = (stage: Stage) =>
    ['TERMINAL', 'STOPPED'].includes(stage.status) && !path.includes(stage)
  for (
    let next = inner.get(failed.id)?.find(isNext);
    next !== undefined;
    next = inner.get(next.id)?.find(isNext)
  )
    path.push(next)
  const stage = path.at(-1) ?? failed
  const reason = path.map(reasonOf).findLast((text) => text !== undefined)
  const cause = path.map(causeOf).findLast((one) => one !== undefined)
  return { stage, path, reason, cause, child: scalarOf(stage.context['executionId']) }
}

const toException = shape({
  message: scalarOf,
  details: shape({ errors: textsOf, error: scalarOf, cause: toCause }),
})
const toOperations = objectList(shape({ exception: toException }))

/** Why something failed, as the engine says, or the cloud operations behind it. */
export function reasonIn(exception: unknown, operations?: unknown): string | undefined {
  const { errors, error } = toException(exception).details
  const cloud = toOperations(operations).map((task) => task.exception.message)
  const said = errors.length > 0 ? errors : [error ?? cloud.find(Boolean) ?? '']
  return [...new Set(said.map(toReason))].join(' ') || undefined
}

/** The line of its output that says why. */
export function causeOf({ context }: Pick<Stage, 'context'>): Cause | undefined {
  return toException(context['exception']).details.cause
}

export function reasonOf(stage: Stage): string | undefined {
  const { exception, 'kato.tasks': operations, judgmentStatus } = stage.context
  const steps = stage.tasks.map(({ taskExceptionDetails }) =>
    reasonIn(taskExceptionDetails?.['exception']),
  )
  const { message } = toException(exception)
  const said =
    reasonIn(exception, operations) ?? steps.find(Boolean) ?? (message && toReason(message))
  if (said !== undefined || stage.type !== 'manualJudgment' || judgmentStatus !== 'stop')
    return said
  const by = scalarOf(stage.lastModified?.['user'])
  return by === undefined ? 'It was judged with “stop”.' : `${by} judged it with “stop”.`
}

export function progressOf(stages: readonly Stage[]): { done: number; total: number } {
  const top = stages.filter(({ parentStageId }) => !parentStageId)
  return { done: top.filter(({ status }) => isComplete(status)).length, total: top.length }
}

export function titleOf(stage: Stage): string {
  return stage.name || stage.type
}

export type Kind =
  | 'succeeded'
  | 'running'
  | 'failed'
  | 'warning'
  | 'waiting'
  | 'paused'
  | 'queued'
  | 'skipped'
  | 'cancelled'
  | 'disabled'
  | 'unknown'

export interface Status {
  readonly kind: Kind
  readonly word: string
}

type Statuses = Readonly<Record<string, readonly [kind: Kind, word: string]>>

const ofExecutions: Statuses = {
  SUCCEEDED: ['succeeded', 'succeeded'],
  RUNNING: ['running', 'running'],
  TERMINAL: ['failed', 'failed'],
  FAILED_CONTINUE: ['warning', 'failed, went on'],
  STOPPED: ['warning', 'stopped'],
  PAUSED: ['paused', 'paused'],
  SUSPENDED: ['paused', 'suspended'],
  NOT_STARTED: ['queued', 'not started'],
  BUFFERED: ['queued', 'queued'],
  REDIRECT: ['running', 'running'],
  SKIPPED: ['skipped', 'skipped'],
  CANCELED: ['cancelled', 'cancelled'],
}

const ofInstances: Statuses = {
  Up: ['succeeded', 'up'],
  Down: ['failed', 'down'],
  Failed: ['failed', 'failed'],
  Starting: ['running', 'starting'],
  Running: ['running', 'running'],
  OutOfService: ['disabled', 'out of service'],
  Draining: ['disabled', 'draining'],
  Succeeded: ['succeeded', 'succeeded'],
  Unknown: ['unknown', 'unknown'],
}

/** States by which lists are filtered, with their words. */
export const mainStates = [
  ['RUNNING', 'Running'],
  ['SUCCEEDED', 'Succeeded'],
  ['TERMINAL', 'Failed'],
  ['CANCELED', 'Cancelled'],
] as const

export const waitingForJudgment: Status = { kind: 'waiting', word: 'waiting for judgment' }

export function executionStatus(status: string | undefined): Status {
  return statusIn(ofExecutions, status)
}

export function instanceStatus(health: string | null | undefined): Status {
  return statusIn(ofInstances, health)
}

function statusIn(statuses: Statuses, name: string | null | undefined): Status {
  const [kind, word] = statuses[name ?? ''] ?? ['unknown', name ?? 'unknown']
  return { kind, word }
}

const ended = new Set([
  'SUCCEEDED',
  'TERMINAL',
  'FAILED_CONTINUE',
  'STOPPED',
  'SKIPPED',
  'CANCELED',
])

/** Whether nothing will change by itself any more. */
export function isComplete(status: string | undefined): boolean {
  return ended.has(status ?? '')
}

export function isFailed(status: string | undefined): boolean {
  return status === 'TERMINAL'
}
