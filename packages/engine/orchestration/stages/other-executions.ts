/** Stages that wait for executions that another client has started. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { errorTexts, StageError } from '../machine/failure.ts'
import type { Execution } from '../model.ts'
import { isComplete, isHalt } from '../statuses.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

const hourMs = 3600 * 1000

export const dependsOnExecutionStage: StageType = {
  type: 'dependsOnExecution',
  steps: [
    {
      name: 'dependsOnExecution',
      execute: dependOn,
      pollMs: 10_000,
      timeoutMs: 2 * hourMs,
      timeoutFollowsStage: true,
    },
  ],
}

async function dependOn(context: TaskContext): Promise<TaskResult> {
  const id = String(context.stage.context['executionId'] ?? '')
  const other = context.findExecution(id)
  if (other === undefined) throw new StageError([`There is no execution with the id "${id}".`])
  await context.require('READ', other.application)
  if (!isComplete(other.status)) return { status: 'RUNNING' }
  if (other.status === 'SUCCEEDED') return { status: 'SUCCEEDED' }
  return {
    status: 'CANCELED',
    context: { reason: `The execution ${id}, on which this one depends, ended ${other.status}.` },
  }
}

/** Each of them is read at every look. */
const mostWatched = 100

/** Watches several executions, and fails with them. */
export const monitorPipelineStage: StageType = {
  type: 'monitorPipeline',
  steps: [
    {
      name: 'monitorPipelines',
      execute: monitor,
      pollMs: 15_000,
      timeoutMs: 12 * hourMs,
      timeoutFollowsStage: true,
    },
  ],
}

async function monitor(context: TaskContext): Promise<TaskResult> {
  const { executionIds, executionId, monitorBehavior } = context.stage.context
  const ids = Array.isArray(executionIds)
    ? executionIds.map(String)
    : typeof executionId === 'string'
      ? [executionId]
      : []
  if (ids.length === 0) throw new StageError(['executionIds names no execution.'])
  if (ids.length > mostWatched)
    throw new StageError([`A stage can watch ${mostWatched} executions, not ${ids.length}.`])
  const watched = ids.map((id) => {
    const execution = context.findExecution(id)
    if (execution === undefined) throw new StageError([`There is no execution with the id ${id}.`])
    return execution
  })
  for (const { application } of watched) await context.require('READ', application)
  const outputs = {
    executionStatuses: Object.fromEntries(watched.map((each) => [each.id, statusOf(each)])),
  }
  const hasFailed = watched.some((each) => isHalt(each.status))
  const isOver =
    watched.every((each) => isComplete(each.status)) ||
    (monitorBehavior === 'FailFast' && hasFailed)
  if (!isOver) return { status: 'RUNNING', outputs }
  if (!hasFailed) return { status: 'SUCCEEDED', outputs }
  const errors = watched.flatMap(failureTexts)
  const status = watched.some((each) => each.status === 'TERMINAL') ? 'TERMINAL' : 'CANCELED'
  return { status, outputs, context: { exception: { details: { errors } } } }
}

function statusOf(execution: Execution): JsonObject {
  const failure = execution.stages.find((stage) => isHalt(stage.status))
  return {
    status: execution.status,
    application: execution.application,
    exception: failure?.context['exception'],
  }
}

function failureTexts(execution: Execution): string[] {
  if (!isHalt(execution.status)) return []
  const texts = execution.stages.flatMap((stage) =>
    isHalt(stage.status) ? errorTexts(stage.context['exception']) : [],
  )
  return [
    `Execution ${execution.name ?? execution.id} ended ${execution.status}.`,
    ...new Set(texts),
  ]
}
