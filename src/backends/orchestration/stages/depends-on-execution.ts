/** `dependsOnExecution`: waits for the end of another execution. */
import { StageError } from '../machine/failure.ts'
import { isComplete } from '../statuses.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

const pollMs = 10_000
const twoHoursMs = 2 * 3600 * 1000

export const dependsOnExecutionStage: StageType = {
  type: 'dependsOnExecution',
  steps: [{ name: 'dependsOnExecution', execute: watch, pollMs, timeoutMs: twoHoursMs, timeoutFollowsStage: true }],
}

async function watch(context: TaskContext): Promise<TaskResult> {
  const id = String(context.stage.context['executionId'] ?? '')
  const other = context.findExecution(id)
  if (other === undefined) throw new StageError([`There is no execution with the id "${id}".`])
  await context.require('READ', other.application)
  if (!isComplete(other.status)) return { status: 'RUNNING' }
  if (other.status === 'SUCCEEDED') return { status: 'SUCCEEDED' }
  return { status: 'CANCELED', context: { reason: `The execution ${id}, on which this one depends, ended ${other.status}.` } }
}
