/**
 * `reorderPipelines`: gives pipelines or strategies of an application their places in the list.
 * @see docs/contracts/orchestration.md#jobs
 */
import { isTrue } from '../../../json/values.ts'
import { StageError } from '../machine/failure.ts'
import { decodeObject, decodePayload } from './encoded-payload.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const reorderPipelinesStage: StageType = {
  type: 'reorderPipelines',
  steps: [{ name: 'reorderPipelines', execute: reorderPipelines, timeoutMs: 30_000 }],
}

async function reorderPipelines(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const idsToIndices = decodeObject(settings['idsToIndices'], 'idsToIndices')
  const application = decodePayload(settings['application'], 'application')
  if (typeof application !== 'string' || application === '') throw new StageError(['The job does not name an application.'])
  const kind = isTrue(decodePayload(settings['isStrategy'], 'isStrategy')) ? 'strategies' : 'pipelines'
  const body = { application, idsToIndices }
  await context.call('front50', { method: 'POST', path: `/actions/${kind}/reorder`, body })
  return { status: 'SUCCEEDED', context: { 'notification.type': 'reorderpipelines', application } }
}
