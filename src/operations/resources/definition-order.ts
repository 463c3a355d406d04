/** The order of an application's definitions in the web UI. */

import { z } from 'zod'
import { post } from '../declare.ts'
import { writesDefinitions } from '../demands.ts'
import { TaskModel } from '../models/executions.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { usernameOf } from './caller.ts'
import { type FinishedTask, runTask, toBase64Json } from './task-polling.ts'

const Order = z
  .looseObject({
    application: z.string().min(1),
    idsToIndices: z.record(z.string(), z.int()).describe('Place of each definition, counted from 0.'),
  })
  .meta({ id: 'DefinitionOrder' })

const taskFailures = { 400: 'The task that makes the change failed or did not finish in time.' }

export const orderOperations: Operation[] = [
  post('reorderPipelinesUsingPOST', '/actions/pipelines/reorder', {
    demands: writesDefinitions,
    summary: 'Reorder pipelines',
    description: 'Stores the order of the pipelines of an application, and returns when it is stored.',
    body: { schema: Order, required: true },
    handle: (request, platform) => reorder(request, platform, false),
    answer: TaskModel,
    errors: taskFailures,
  }),
  post('reorderStrategiesUsingPOST', '/actions/strategies/reorder', {
    demands: writesDefinitions,
    summary: 'Reorder strategies',
    description: 'Stores the order of the deployment strategies of an application, and returns when it is stored.',
    body: { schema: Order, required: true },
    handle: (request, platform) => reorder(request, platform, true),
    answer: TaskModel,
    errors: taskFailures,
  }),
]

/** @see docs/contracts/orchestration.md#jobs: each field is base64 of its own JSON. */
function reorder(request: OperationRequest, platform: Platform, isStrategy: boolean): Promise<FinishedTask> {
  const { application, idsToIndices } = request.body as z.infer<typeof Order>
  return runTask(request, platform, {
    application,
    description: `Reorder ${isStrategy ? 'strategies' : 'pipelines'}`,
    job: [
      {
        type: 'reorderPipelines',
        application: toBase64Json(application),
        idsToIndices: toBase64Json(idsToIndices),
        isStrategy: toBase64Json(isStrategy),
        user: usernameOf(request),
      },
    ],
  })
}
