/** `deletePipeline`: removes a stored pipeline by application and name (docs/contracts/orchestration.md#jobs). */
import { pathTo } from '../../../http/encode-path.ts'
import { StageError } from '../machine/failure.ts'
import { decodeObject } from './encoded-payload.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const deletePipelineStage: StageType = {
  type: 'deletePipeline',
  steps: [{ name: 'deletePipeline', execute: deletePipeline, timeoutMs: 30_000 }],
  unevaluatedKeys: () => ['pipeline'],
}

async function deletePipeline(context: TaskContext): Promise<TaskResult> {
  const { application, name, id } = decodeObject(context.stage.context['pipeline'], 'pipeline')
  if (typeof application !== 'string' || typeof name !== 'string') {
    throw new StageError(['The pipeline to delete needs an application and a name.'])
  }
  const path = pathTo`/pipelines/${application}/${name}`
  await context.call('front50', { method: 'DELETE', path })
  return {
    status: 'SUCCEEDED',
    context: { 'notification.type': 'deletepipeline', application, 'pipeline.name': name, 'pipeline.id': id },
  }
}
