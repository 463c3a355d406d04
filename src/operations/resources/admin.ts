/** Last resorts of administrators against stuck executions, and who is one. */
import { z } from 'zod'
import { AnyObject, flagModel, nonEmpty, nothing } from '../../json/schemas.ts'
import { get, operationsWith } from '../declare.ts'
import { adminOfExecutions, ownAffair } from '../demands.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { usernameOf } from './caller.ts'

const refusals = { 403: 'The caller is not an administrator.' }

const Hydration = z
  .looseObject({
    dryRun: z.boolean().optional(),
    executions: z
      .record(z.string(), z.looseObject({ canApply: z.boolean().nullish(), actions: z.array(AnyObject).nullish() }))
      .optional()
      .describe('By id: what is or would be created.'),
  })
  .meta({ id: 'Hydration' })

const stuck = operationsWith({ demands: adminOfExecutions, errors: refusals })

export const adminOperations: Operation[] = [
  get('getAdminUsingGET', '/admin', {
    demands: ownAffair,
    summary: 'Check for administrator',
    description: 'The name of the caller, and whether the caller is an administrator.',
    handle: async (request, platform) => ({
      username: usernameOf(request),
      isAdmin: await platform.permissions.isAdmin(request.state.user),
    }),
    answer: z.object({ username: z.string(), isAdmin: z.boolean() }),
  }),
  stuck.put('forceCancelPipelineUsingPUT', '/admin/executions/forceCancel', {
    summary: 'Force-cancel an execution',
    description: 'Marks an execution and its stages as cancelled without running anything.',
    query: { executionId: nonEmpty, executionType: z.enum(['PIPELINE', 'ORCHESTRATION']).default('PIPELINE') },
    handle: forceCancel,
    answer: nothing,
  }),
  stuck.post('hydrateQueueUsingPOST', '/admin/executions/hydrate', {
    summary: 'Requeue an execution',
    description: 'Creates the work of a running execution again, or with `dryRun` reports what would be created.',
    query: { executionId: nonEmpty, dryRun: flagModel.default(true) },
    handle: hydrate,
    answer: Hydration,
  }),
]

async function forceCancel(request: OperationRequest): Promise<void> {
  const { executionId, executionType } = request.query
  const query = { executionId, executionType, canceledBy: usernameOf(request) }
  await request.json('orca', { method: 'PUT', path: '/admin/forceCancelExecution', query })
}

async function hydrate(request: OperationRequest): Promise<StreamedAnswer> {
  const { executionId, dryRun } = request.query
  return new StreamedAnswer('orca', { method: 'POST', path: '/admin/queue/hydrate', query: { executionId, dryRun } })
}
