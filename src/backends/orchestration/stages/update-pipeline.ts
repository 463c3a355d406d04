/** `updatePipeline`: replaces a stored pipeline (docs/contracts/orchestration.md#jobs). */
import { pathTo } from '../../../http/encode-path.ts'
import { isTrue } from '../../../json/values.ts'
import { StageError } from '../machine/failure.ts'
import { decodeObject } from './encoded-payload.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

export const updatePipelineStage: StageType = {
  type: 'updatePipeline',
  steps: [{ name: 'updatePipeline', execute: updatePipeline, timeoutMs: 30_000 }],
  unevaluatedKeys: () => ['pipeline'],
}

async function updatePipeline(context: TaskContext): Promise<TaskResult> {
  const pipeline = decodeObject(context.stage.context['pipeline'], 'pipeline')
  const { id } = pipeline
  if (typeof id !== 'string' || id === '') throw new StageError(['The pipeline has no id; save it first.'])
  const staleCheck = isTrue(context.stage.context['staleCheck'])
  const path = `${pathTo`/pipelines/${id}`}?staleCheck=${staleCheck}`
  await context.call('front50', { method: 'PUT', path, body: pipeline })
  return {
    status: 'SUCCEEDED',
    context: {
      'notification.type': 'updatepipeline',
      application: pipeline['application'],
      'pipeline.name': pipeline['name'],
      'pipeline.id': id,
    },
  }
}
