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
  reorders('reorderPipelinesUsingPOST', 'pipelines', 'pipelines'),
  reorders('reorderStrategiesUsingPOST', 'strategies', 'deployment strategies'),
]

function reorders(id: string, kind: 'pipelines' | 'strategies', what: string): Operation {
  return post(id, `/actions/${kind}/reorder`, {
    demands: writesDefinitions,
    summary: `Reorder ${kind}`,
    description: `Stores the order of the ${what} of an application, and returns when it is stored.`,
    body: { schema: Order, required: true },
    handle: (request, platform) => reorder(request, platform, kind),
    answer: TaskModel,
    errors: taskFailures,
  })
}

/** @see docs/contracts/orchestration.md#jobs: each field is base64 of its own JSON. */
function reorder(request: OperationRequest, platform: Platform, kind: 'pipelines' | 'strategies'): Promise<FinishedTask> {
  const { application, idsToIndices } = request.body as z.infer<typeof Order>
  return runTask(request, platform, {
    application,
    description: `Reorder ${kind}`,
    job: [
      {
        type: 'reorderPipelines',
        application: toBase64Json(application),
        idsToIndices: toBase64Json(idsToIndices),
        isStrategy: toBase64Json(kind === 'strategies'),
        user: usernameOf(request),
      },
    ],
  })
}
