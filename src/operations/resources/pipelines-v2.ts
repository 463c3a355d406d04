/** Starting a stored pipeline by way of the event service, which is how the web UI starts one. */

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { createUlid } from '../../storage/ulid.ts'
import { startsByEvent } from '../demands.ts'
import { StartRequest } from '../models/executions.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import { AnyObject } from '../schemas.ts'
import { callerOf } from './task-polling.ts'

export const pipelineV2Operations: Operation[] = [
  {
    id: 'invokePipelineConfigViaEchoUsingPOST',
    section: 'beyond',
    method: 'POST',
    path: '/pipelines/v2/{application}/{pipelineNameOrId}',
    demands: startsByEvent,
    summary: 'Start a pipeline in the background',
    description: 'Starts a stored pipeline in the background. The execution appears under the id in `ref` shortly after.',
    body: { schema: AnyObject, shown: StartRequest, required: false },
    handle: (request) => startPipeline(request),
    success: 202,
    answer: z.object({ eventId: z.uuid(), ref: z.string().describe('/pipelines/{execution id}') }),
    errors: { 403: 'The caller lacks EXECUTE on the application.' },
  },
]

/**
 * Whether the pipeline exists is not asked: the event service finds it, and reports nothing if it does not.
 *
 * @see Events contract, section 4.1
 */
async function startPipeline(request: OperationRequest): Promise<{ eventId: string; ref: string }> {
  const { application, pipelineNameOrId } = request.path as { application: string; pipelineNameOrId: string }
  const eventId = randomUUID()
  const executionId = createUlid(Date.now())
  request.state.application = application
  const trigger = { ...(request.body as object | undefined), eventId, executionId }
  const content = { application, pipelineNameOrId, user: callerOf(request), trigger }
  await request.json('echo', { method: 'POST', path: '/', body: { details: { type: 'manual' }, eventId, content } })
  return { eventId, ref: `/pipelines/${executionId}` }
}
